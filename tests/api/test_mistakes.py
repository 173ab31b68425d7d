#!/usr/bin/env python3
"""What a newcomer types wrongly, and what is answered: what is wrong, the value, what is allowed, what to type next.

Each row is a command line and the sentence on stderr, whole. Exit statuses: 2 what was typed, 3 what is not there,
4 what is refused, 5 no server, 6 what is in no state for it.
"""
import os
import shlex
import subprocess

from service import equal, run

LONG = "a" * 200
# job 1 runs, job 2 is held, job 3 has ended, 4 is an array of two
TYPOS = [
    ("submt -- true", 2, "there is no command 'submt'; did you mean `strata submit`?"),
    ("ls", 2, "there is no command 'ls'; you may want `strata jobs`"),
    ("ps", 2, "there is no command 'ps'; you may want `strata queue`"),
    ("squeue --me", 2, "there is no command 'squeue'; you may want `strata slurm squeue`"),
    ("qstat", 2, "there is no command 'qstat'; you may want `strata queue`"),
    ("nodes dran n1", 2, "there is no command 'nodes dran'; did you mean `strata nodes drain`?"),
    ("submit", 2, "`strata submit` needs an argument; usage: strata submit [--] COMMAND [ARG…] | SCRIPT [ARG…] [options]"),
    ("submit --gpu 1 -- true", 2, "unknown option '--gpu'; did you mean '--gpus'?"),
    ("config show --nonsense", 2, "unknown option '--nonsense'; `strata help config` lists them"),
    ("submit --depend afterok:1 -- true", 2, "unknown option '--depend'; did you mean '--dependencies'?"),
    ("gpus --x", 2, "unknown option '--x'; `strata help gpus` lists them"),
    ("cancel --all", 2, "unknown option '--all'; `strata help cancel` lists them"),
    ("token create --role god", 2, "role is 'god'; expected one of read-only, user, operator or admin"),
    ("jobs --state runing", 2, "state is 'runing'; expected one of queued, scheduled, running, preempted, completed, failed or cancelled; did you mean 'running'?"),
    ("solver show eulr", 3, "there is no solver 'eulr'; did you mean 'euler'?"),
]
VALUES = [
    ("submit --gpus one -- true", 2, "--gpus is 'one'; expected a whole number"),
    ("submit --gpus -1 -- true", 2, "--gpus is -1; expected 0 to 100000"),
    ("submit --memory 64 -- true", 2, "memory is 64 bytes, with which nothing runs; say 64M or 64G"),
    ("submit --memory 64GiBs -- true", 2, "--memory is '64GiBs'; expected a size such as 2GiB or 512M"),
    ("submit --time 2 -- true", 2, "--time is 2 of what? Say 2s, 2m (minutes) or 2h"),
    ("submit --time 31d -- true", 2, "time_limit 31d is too long: at most 30d"),
    ("submit --time forever -- true", 2, "--time is 'forever'; expected a duration such as 2h30m or 1-02:03:04"),
    ("submit --time 99999999999999999999d -- true", 2, "--time is '99999999999999999999d'; expected a duration such as 2h30m or 1-02:03:04"),
    ("submit --array 5-1 -- true", 2, '"5-1" is not an array; expected numbers and ranges such as 0-9, 1,3,5-7, 0-20:4 or 1-100%8'),
    ("submit --array 0-10000000 -- true", 2, "10000000 is too much: an array has tasks 0 to 100000 and runs at most that many at once"),
    ("submit --dependency after=1 -- true", 2, '"after=1" is not a dependency; expected a form such as afterok:12:13, after:12+5?afterany:14 or singleton'),
    ("submit --begin yesterday -- true", 2, '"yesterday" is not a time; expected a form such as now+1hour, 16:00, tomorrow, noon, 01/31/27 or 2027-01-31T16:00'),
    ("submit --nice 99999999999 -- true", 2, "--nice is 99999999999; expected -2147483645 to 2147483645"),
    (f"submit --name {LONG} -- true", 2, "--name is 200 bytes long; expected at most 128"),
    (b"submit --name caf\xc3 -- true", 2, "--name has \\xc3 at byte 4, which is not UTF-8"),
    ("jobs --since tomorow", 2, "--since is 'tomorow'; expected a duration such as 7d or a time such as 2026-03-01"),
    ("users set bob --weight heavy", 2, "--weight is 'heavy'; expected a number"),
    ("accounting --by month", 2, "--by is 'month'; expected one of user, account, partition or day"),
    ("submit --gpus 1.5 -- true", 2, "--gpus is '1.5'; expected a whole number"),
    ("submit --gpus", 2, "--gpus needs a value: a whole number"),
    ("submit --time 1h30 -- true", 2, "--time is '1h30'; expected a duration such as 2h30m or 1-02:03:04"),
    ("submit --gpus 2 --gpus-per-node 1 -- true", 2, "how many GPUs is said in 2 ways; expected one of gpus, gpus_per_node, gpus_per_task and gpu_share"),
    ("submit --nodes 2 --gpus 3 -- true", 2, "gpus is 3; expected a multiple of nodes (2)"),
    ("submit --priority urgent -- true", 2, "--priority is 'urgent'; expected one of low, normal or high"),
    ("submit --dependency 5 -- true", 2, '"5" is not a dependency; expected a form such as afterok:12:13, after:12+5?afterany:14 or singleton'),
    ("submit --notify always -- true", 2, "notify is 'always'; expected some of begin, end, fail and requeue, or all or none"),
    ("submit --env A -- true", 2, "'A' has no '='; expected KEY=VALUE"),
    ("submit t.py", 2, "'t.py' does not begin with #!, so nothing says what runs it; say `strata submit -- python3 t.py`"),
    ("wait 1 --timeout 1", 2, "--timeout is 1 of what? Say 1s, 1m (minutes) or 1h"),
    ("jobs --format foo", 2, "--format has 'foo', which is no column; `strata help jobs` names them"),
    ("jobs --limit -1", 2, "--limit is -1; expected 0 to 1000000"),
    ("users set 'bad name' --weight 2", 2, "the name 'bad name' has a blank, a comma or a control character"),
    ("reservations set r --nodes n1 --to tomorrow --for 2h", 2, "there is both an end (to) and a duration (for); expected one of them"),
    ("reservations set r --nodes n1", 2, "nothing says how long it lasts; expected either an end (to) or a duration (for)"),
    ("reservations set r --nodes n1 --from 25:00 --for 1h", 2,
     "--from '25:00' is not a time; expected 22:00, tomorrow, now+2hours or 2026-12-24T08:00"),
    ("update 2", 2, "nothing is to change; expected flags of `strata submit`, as in --gpus 2"),
    ("cancel", 2, "expected ids of jobs, or else one of --me, --user, --state and --name"),
    ("nodes resume", 2, "`strata nodes resume` needs an argument; usage: strata nodes resume NAME…"),
]
MISSING = [
    ("submit --partition gpux -- true", 3, "there is no partition 'gpux'; `strata partitions` lists what there is"),
    ("submit -A nobodys -- true", 3, "there is no account 'nobodys'; `strata accounts` lists what there is"),
    ("submit --qos fast -- true", 3, "there is no qos 'fast'; `strata qos` lists what there is"),
    ("submit --dependency afterok:9999 -- true", 3, "dependencies name job 9999, which does not exist"),
    ("submit nosuch.py", 3, "there is no script 'nosuch.py' here"),
    ("generate seven --model nope", 2, "there is no model nope; `strata models` lists them"),
    ("reservations delete nope", 3, "there is no reservation nope"),
    ("accounts set lab --parent nolab", 3, "there is no account 'nolab'; `strata accounts` lists what there is"),
    ("tasks show 99", 3, "there is no task 99"),
    ("submit nosuch.sh", 3, "there is no script 'nosuch.sh' here"),
    ("submit /tmp", 2, "'/tmp' is a directory; expected a script or a program"),
    ("show 9999", 3, "there is no job 9999"),
    ("show abc", 3, "there is no job abc"),
    ("show 4_7", 3, "array 4 has no element 7"),
    ("cancel 0", 3, "no job 0 waits or runs; `strata jobs` shows those that have ended"),
    ("why T99", 3, "there is no task 99"),
    ("wait 777", 3, "there is no job 777"),
    ("nodes drain n7", 3, "there is no node 'n7'; `strata nodes` lists them"),
    ("reservations set x --nodes n9 --for 1h", 3, "there is no node 'n9'; `strata nodes` lists them"),
    ("place nosuch.onnx", 3, "nosuch.onnx: No such file or directory"),
]
REFUSED = [
    ("submit --gpus 99 -- true", 4, "no node could take this job, however empty. It asks for 99 GPUs; all nodes together have 12. "
                                    "`--queue-anyway` lets it wait for such a node"),
    ("submit --gpus 1 --gpu-type A100 -- true", 4, "no node could take this job, however empty. No node has GPUs of the type A100; did you mean a100? "
                                                   "`--queue-anyway` lets it wait for such a node"),
    ("submit --memory 10T -- true", 4, "no node could take this job, however empty. It asks for 10 TiB of memory for one task; at most 32 GiB would be possible. "
                                       "`--queue-anyway` lets it wait for such a node"),
    ("submit --nodes 5 --tasks 5 -- true", 4, "no node could take this job, however empty. It asks for 5 nodes; at most 3 would be possible. "
                                              "`--queue-anyway` lets it wait for such a node"),
    ("submit --node-list n9 -- true", 4, "no node could take this job, however empty. There is no such node: n9; there are: n1, n2, n3. "
                                         "`--queue-anyway` lets it wait for such a node"),
    ("hold 3", 6, "job 3 has ended (completed)"),
    ("cancel 3", 6, "job 3 has ended (completed)"),
    ("update 3 --gpus 2", 6, "job 3 has ended (completed)"),
    ("attach 3", 6, "job 3 has ended; `strata show 3` tells how, `strata logs 3` shows what it wrote"),
]


def world(service):
    equal(service.submit("sleep", "600")["id"], 1)
    equal(service.submit("true", hold=True)["id"], 2)
    equal(service.submit("true")["id"], 3)
    equal(service.submit("sleep", "600", array="0-1")["id"], 4)
    service.wait(3, "completed")
    with open(os.path.join(service.dir, "t.py"), "w") as file:
        file.write("print(1)\n")


def answer(service, line, *before):
    words = [word for word in line.split()] if isinstance(line, bytes) else shlex.split(line)
    env = dict(os.environ, STRATA_SOCKET=service.socket, LC_ALL="C.UTF-8")
    done = subprocess.run([os.path.join(os.environ["STRATA_BUILD"], "strata"), *before, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=60, cwd=service.dir)
    return done.returncode, done.stderr.decode().rstrip("\n")


def check(service, rows):
    wrong = []
    for line, status, sentence in rows:
        got = answer(service, line)
        pattern = "strata: " + sentence
        if got != (status, pattern):
            wrong.append(f"strata {line!r}: exit status {got[0]}, «{got[1]}»; expected {status}, «{pattern}»")
    assert not wrong, "\n" + "\n".join(wrong)


def names_that_are_mistyped(service):
    world(service)
    check(service, TYPOS)


def values_that_cannot_be(service):
    world(service)
    check(service, VALUES)


def what_is_not_there(service):
    world(service)
    check(service, MISSING)


def what_is_refused(service):
    world(service)
    check(service, REFUSED)


def what_is_taken_in_with_a_word_about_it(service):
    world(service)
    code, text = answer(service, "submit -w n1,n7 --hold -- true")
    equal((code, text.splitlines()[0]), (0, "strata: there is no node n7; the job may run on the others"))
    service.wait(service.submit("false")["id"], "failed")
    equal(answer(service, "logs 7"), (0, "strata: job 7 wrote nothing; `strata show 7` tells how it ended"))


def no_server(service):
    equal(answer(service, "queue", "--socket", "/nosuch.sock"), (5, "strata: no server at /nosuch.sock; start one with `strata serve`"))
    code, text = answer(service, "queue", "--server", "http://127.0.0.1:1")
    assert code == 5 and text.startswith("strata: no server at http://127.0.0.1:1: "), text


run(names_that_are_mistyped, values_that_cannot_be, what_is_not_there, what_is_refused, what_is_taken_in_with_a_word_about_it, no_server)
