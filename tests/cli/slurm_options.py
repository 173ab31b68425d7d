#!/usr/bin/env python3
"""Options of Slurm's commands on a service of three emulated nodes: each that is said to act does what Slurm 22.05 does, as a user would notice it. What has
no effect warns (slurm_ls.sh), what is refused says why (here)."""
import contextlib
import os
import pwd
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
import service  # noqa: E402
from service import equal  # noqa: E402

COMMANDS = ("sacct", "sacctmgr", "salloc", "sattach", "sbatch", "scancel", "scontrol", "sdiag", "seff", "sinfo", "sprio", "squeue", "sreport", "srun", "sshare",
            "sstat")
NODES = "n:count=3:cpus=8:memory=32G:gpus=4:gpu_type=a100"


class Cluster(service.Service):
    def __init__(self):
        super().__init__("--cluster-name", "base", nodes=NODES)
        self.bin, self.work = os.path.join(self.dir, "bin"), os.path.join(self.dir, "work")
        os.mkdir(self.bin)
        os.mkdir(self.work)
        os.chmod(self.work, 0o777)
        for name in COMMANDS:
            os.symlink(os.path.abspath(service.STRATA), os.path.join(self.bin, name))

    def run(self, text, **env):
        """Exit status, output, errors."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH", "SQUEUE"))}
        variables.update(STRATA_SOCKET=self.socket, PATH=f"{self.bin}:{os.environ['PATH']}", **env)
        done = subprocess.run(["bash", "-c", text], env=variables, cwd=self.work, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        return done.returncode, done.stdout.rstrip("\n"), done.stderr.rstrip("\n")

    def out(self, text, **env):
        code, out, err = self.run(text, **env)
        assert code == 0, f"{text} gave {code}: {out}\n{err}"
        return out

    def sbatch(self, words, wrap="true", **env):
        return int(self.out(f"sbatch --parsable -o /dev/null {words} --wrap {shlex.quote(wrap)}", **env).split("\n")[-1])

    def what(self, words, show, **env):
        """What the job printed that was submitted with these words."""
        job = int(self.out(f"sbatch --parsable -o out-%j {words} --wrap {shlex.quote(show)}", **env))
        self.wait(job, "completed")
        with open(os.path.join(self.work, f"out-{job}")) as file:
            return file.read().rstrip("\n")

    def file(self, name, text, mode=0o644):
        with open(os.path.join(self.work, name), "w") as file:
            file.write(text)
        os.chmod(os.path.join(self.work, name), mode)


def shown(cluster, job, *names):
    text = cluster.out(f"scontrol -o show job {job}")
    return [text.split(f"{name}=")[1].split(" ")[0] for name in names]


def sizes_of_nodes_count(cluster):
    equal(shown(cluster, cluster.sbatch("-H --mincpus=4 -n2"), "NumCPUs", "NumTasks", "CPUs/Task"), ["4", "2", "1"])
    equal(shown(cluster, cluster.sbatch("-H --mincpus=4 -n2 -N2"), "NumCPUs"), ["8"])
    equal(shown(cluster, cluster.sbatch("-H -O -n8 -N2"), "NumCPUs", "NumTasks"), ["2", "8"])
    equal(shown(cluster, cluster.sbatch("-H --spread-job -n3"), "NumNodes", "NumTasks"), ["3-3", "3"])
    equal(shown(cluster, cluster.sbatch("-H -n16 --ntasks-per-core=1"), "NumNodes"), ["2-2"])
    equal(shown(cluster, cluster.sbatch("-H -n2 --ntasks-per-socket=1"), "NumNodes"), ["2-2"])
    equal(shown(cluster, cluster.sbatch("-H --gpus-per-socket=2 --sockets-per-node=1"), "TRES"), ["cpu=1,node=1,billing=1,gres/gpu=2"])
    for words in ("--sockets-per-node=9", "--cores-per-socket=99", "--threads-per-core=9", "-B 1:99:1", "--mincpus=99"):
        code, _, err = cluster.run(f"sbatch {words} --wrap true")
        equal((code, err), (1, "sbatch: error: Socket, core and/or thread specification can not be satisfied\n"
                               "sbatch: error: Batch job submission failed: Requested node configuration is not available"))
    equal(shown(cluster, cluster.sbatch("-H -B 1:1:1 --sockets-per-node=1 --cores-per-socket=1 --threads-per-core=1"), "NumNodes"), ["1"])
    code, _, err = cluster.run("sbatch --tmp=900T --wrap true")
    equal((code, err.split("\n")[0]), (1, "sbatch: error: Temporary disk specification can not be satisfied"))
    equal(cluster.out(f"squeue -h -j {cluster.sbatch('-H --tmp=1M')} -O mintmpdisk:4"), "1M  ")


def files_and_variables_come_from_here(cluster):
    cluster.file("nodes", "n2\nn3\n")
    cluster.file("variables", "A=1\0B=x y\0")
    show = 'echo "$A|$B|$FOO"'
    equal(shown(cluster, cluster.sbatch("-H -F nodes"), "ReqNodeList", "NumTasks"), ["n2,n3", "2"])
    code, _, err = cluster.run("sbatch -F nosuch --wrap true")
    equal((code, err), (255, "sbatch: error: slurm_allocate_resources error opening file nosuch, No such file or directory\n"
                             "sbatch: error: Invalid --nodefile node file"))
    equal(cluster.what("--export-file=variables", show, FOO="bar"), "1|x y|")
    equal(cluster.what("", show, FOO="bar"), "||bar")
    cluster.file(".profile", "export A=login\n")
    equal(cluster.what("--get-user-env", "echo $LOGNAME"), pwd.getpwuid(os.geteuid()).pw_name)
    equal(cluster.run("ulimit -Sn 333; sbatch --parsable --wait -o limit --propagate=NOFILE --wrap 'ulimit -Sn'; cat limit")[1].split("\n")[-1], "333")
    code, _, err = cluster.run("sbatch --propagate=foo --wrap true")
    equal((code, err), (1, "sbatch: error: Bad rlimit name: foo\nsbatch: error: --propagate=foo is not valid."))
    equal(cluster.what("-m cyclic --hint=nomultithread --gpu-bind=none --ntasks-per-core=1",
                       "echo $SLURM_DISTRIBUTION $SLURM_HINT $SLURM_GPU_BIND $SLURM_NTASKS_PER_CORE"), "cyclic nomultithread none 1")


def verbose_tells_what_was_understood(cluster):
    rule = "-------------------- --------------------"
    equal(cluster.run("sbatch -v -H -n2 --mem=1G -J x -t 10 --wrap true")[2].split("\n"),
          ["sbatch: defined options", f"sbatch: {rule}", "sbatch: hold                : set", "sbatch: job-name            : x", "sbatch: mem                 : 1G",
           "sbatch: ntasks              : 2", "sbatch: time                : 00:10:00", "sbatch: verbose             : 1", "sbatch: wrap                : true",
           f"sbatch: {rule}", "sbatch: end of defined options"])
    assert cluster.run("srun -v -n1 true")[2].startswith("srun: defined options\n")
    assert cluster.run("salloc -v -n1 true")[2].startswith("salloc: defined options\n")


def somebody_else_may_be_meant(cluster):
    if os.geteuid():
        return
    equal(cluster.what("--gid=nogroup", "id -gn"), "nogroup")
    equal(cluster.job(cluster.sbatch("-H --uid=nobody -D /"))["user"], "nobody")
    code, _, err = cluster.run("sbatch --uid=nosuchuser --wrap true")
    equal((code, err.split("\n")[0]), (255, "sbatch: error: Invalid --uid specification"))


def what_is_not_there_is_refused_as_slurm_does(cluster):
    refused = "sbatch: error: Batch job submission failed: "
    for words, said in (("-L foo", refused + "Invalid license specification"), ("-q foo", refused + "Invalid qos specification"),
                        ("-p foo", "sbatch: error: invalid partition specified: foo\n" + refused + "Invalid partition name specified"),
                        ("--reservation=foo", refused + "Requested reservation is invalid")):
        code, _, err = cluster.run(f"sbatch {words} --wrap true")
        equal((code, err.split("\nstrata: ")[0]), (1, said))
    for command in ("sbatch -M foo --wrap true", "squeue -M foo", "sinfo -M foo", "scancel -M foo 1", "scancel --sibling=foo 1", "scontrol -M foo ping", "sprio -M foo",
                    "sshare -M foo", "srun -M foo true", "sdiag -M foo", "sreport -M foo cluster utilization"):
        code, _, err = cluster.run(command)
        name = command.split(" ")[0]
        equal((code, err.split("\n")[0]), (1, f"{name}: error: No cluster 'foo' known by database."))
    equal(cluster.out("squeue -M base -o %i"), "CLUSTER: base\nJOBID")
    equal(cluster.out("sinfo -M all -o %D"), "CLUSTER: base\nNODES\n3")
    equal(cluster.run("sacct -M foo -n"), (0, "", ""))


def what_was_asked_for_is_shown(cluster):
    job = cluster.sbatch("-H --cpus-per-gpu=2 --gpus=1 --mem-per-gpu=1G --gpu-bind=single:1 --time-min=10 -t 60 --profile=task --network=foo --wckey=kk "
                         "--deadline=now+2hours --contiguous --prefer=x")
    equal(cluster.out(f"squeue -h -j {job} -O cpus-per-tres:.12,mem-per-tres:.15,tres-bind:.14,tres-per-job:.12,mintime:.6,profile:.6,network:.5,wckey:.4,contiguous:.3")
          .split(), ["gres:gpu:2", "gres:gpu:1024", "gpu:single:1", "gres:gpu:1", "10:00", "Task", "foo", "kk", "1"])
    assert cluster.out(f"squeue -h -j {job} -O deadline").startswith("20")
    sized = cluster.sbatch("-H --mem=1G")
    equal(cluster.out(f"squeue -h -j {sized} -o %m; squeue -h -j {sized} --noconvert -o %m"), "1G\n1024M")
    equal(cluster.out(f"sacct -j {sized} -X -n -P -o reqmem; sacct -j {sized} -X -n -P --units=M -o reqmem; sacct -j {sized} -X -n -P --noconvert -o reqmem"),
          "1G\n1024M\n1024M")
    equal(cluster.out("squeue -h -L foo; squeue -h -R foo"), "")
    equal(cluster.out(f"sacct -W kk -X -n -P -o jobid; sacct -W other -X -n; sacct --reason JobHeldUser -j {job} -X -n -P -o jobid"), f"{job}\n{job}")
    assert cluster.out("sacct --yaml -X").startswith("%YAML 1.1\n--- !!map\n!!str meta: !!map\n")
    assert "Jobs Eligible in the time window" in cluster.run("sacct -v")[2]
    for command in ("squeue", "sinfo", "sprio"):
        assert cluster.out(f"{command} -v").startswith("-----------------------------\n"), command
    cluster.out("scancel --wckey other")
    equal(cluster.job(job)["state"], "queued")
    cluster.out("scancel --wckey kk")
    equal(cluster.job(job)["state"], "cancelled")


def shares_and_priorities_have_all_columns(cluster):
    equal(cluster.out("sshare -l | head -1").split(), "Account User RawShares NormShares RawUsage NormUsage EffectvUsage FairShare LevelFS GrpTRESMins TRESRunMins".split())
    equal(cluster.out("sshare -m | head -1").split()[2], "Partition")
    assert "root" not in cluster.out("sshare -U -n -P -o account")
    assert cluster.out("sshare -v").startswith("Users requested:")
    block(cluster)
    first, second = cluster.sbatch("-N3 --exclusive --nice=5"), cluster.sbatch("-N3 --exclusive")
    equal(cluster.out("sprio -h -o %i -S -i").split(), [str(second), str(first)])
    equal(cluster.out("sprio -h -o %i -S Y").split(), [str(first), str(second)])


def block(cluster):
    job = cluster.sbatch("-N3 --exclusive", "sleep 600")
    cluster.wait(job, "running")
    return job


def scripts_come_back(cluster):
    cluster.file("mine.sh", "#!/bin/sh\necho mine\n")
    job = int(cluster.out("sbatch --parsable -H mine.sh", A="1"))
    equal(cluster.out(f"scontrol write batch_script {job} -"), "#!/bin/sh\necho mine")
    equal(cluster.out(f"scontrol write batch_script {job}; cat slurm-{job}.sh"), f"batch script for job {job} written to slurm-{job}.sh\n#!/bin/sh\necho mine")
    equal(cluster.run("scontrol write batch_script 999 -"), (0, "", "job script retrieval failed: Invalid job id specified"))
    assert cluster.out(f"sacct -B -j {job}").startswith(f"Batch Script for {job}\n{'-' * 80}\n#!/bin/sh\necho mine")
    assert "\nA=1\n" in cluster.out(f"sacct --env-vars -j {job}")


def jobs_go_to_the_top(cluster):
    running = block(cluster)
    first, second, third = (cluster.sbatch("-N3 --exclusive") for _ in range(3))
    cluster.out(f"scontrol top {third}")
    equal(cluster.out("squeue -h -t PD -S -p -o %i").split(), [str(third), str(first), str(second)])
    equal(cluster.run(f"scontrol top {running}"), (1, "", f"Job is no longer pending execution for job {running}"))
    equal(cluster.run("scontrol top 999"), (1, "", "Invalid job id specified for job 999"))
    equal(cluster.run(f"scontrol wait_job {running}"), (0, "", f"scontrol: Nodes are ready for job {running}"))
    equal(cluster.run("scontrol wait_job 999"), (1, "", "scontrol: Problem running job 999"))
    assert cluster.out(f"scontrol show step {running}").startswith(f"StepId={running}.batch UserId={os.geteuid()} ")
    equal(cluster.run("scontrol show step 999")[2], "slurm_get_job_steps error: Invalid job id specified")
    equal(cluster.out("scontrol show reservation; scontrol show licenses; scontrol errnumstr 2017"),
          "No reservations in the system\nNo licenses configured in Slurm.\nInvalid job id specified")
    equal(cluster.run("scontrol reconfigure"), (0, "", ""))
    equal(cluster.out("scontrol create reservation reservationname=disks starttime=now+1hour duration=60 nodes=ALL"), "Reservation created: disks")
    assert cluster.out("scontrol show reservation disks").startswith("ReservationName=disks StartTime="), cluster.out("scontrol show reservation")
    equal(cluster.out("scontrol update reservationname=disks users=root; scontrol delete reservationname=disks; scontrol show reservation"),
          "Reservation updated.\nNo reservations in the system")
    code, _, err = cluster.run("scontrol create reservation reservationname=disks nodes=nosuch duration=60")
    assert code == 1 and "there is no node 'nosuch'" in err, err


def steps_run_what_the_file_says(cluster):
    cluster.file("programs", "# who does what\n0 echo zero %t %o\n1-2 echo 'more \\\n' %t %o\n")
    equal(sorted(cluster.out("srun -n3 -l --multi-prog programs").split("\n")), ["0: zero 0 0", "1: more 1 0", "2: more 2 1"][:1] +
          ["1: more    1 0", "2: more    2 1"])
    cluster.file("half", "0 echo zero\n")
    equal(cluster.run("srun -n2 --multi-prog half"), (1, "", "srun: error: Configuration file half invalid, no record for task id 1"))


def tasks_are_laid_out(cluster):
    show = "sh -c 'echo $SLURMD_NODENAME $SLURM_LOCALID'"
    equal(sorted(cluster.out(f"srun -n4 -N2 -m cyclic -l {show}").split("\n")), ["0: n1 0", "1: n2 0", "2: n1 1", "3: n2 1"])
    equal(sorted(cluster.out(f"srun -n4 -N2 -m block -l {show}").split("\n")), ["0: n1 0", "1: n1 1", "2: n2 0", "3: n2 1"])
    equal(sorted(cluster.out(f"srun -n8 -N2 -m plane=2 -l {show}").split("\n")),
          ["0: n1 0", "1: n1 1", "2: n2 0", "3: n2 1", "4: n1 2", "5: n1 3", "6: n2 2", "7: n2 3"])
    equal(cluster.what("-n4 -N2 -m cyclic", f"srun -l {show} | sort | tail -1"), "3: n2 1")
    equal(cluster.what("-N3", "srun -r 1 -N1 -n1 sh -c 'echo $SLURMD_NODENAME'"), "n2")
    equal(cluster.what("-n4", "srun -n2 --preserve-env sh -c 'echo $SLURM_NTASKS' | sort -u"), "4")
    equal(sorted(cluster.out("srun -n2 --gpus=2 --gpu-bind=single:1 -l sh -c 'echo $CUDA_VISIBLE_DEVICES'").split("\n")), ["0: 0", "1: 1"])
    equal(sorted(cluster.out("srun -n2 --gpus=2 --gpu-bind=map_gpu:1,0 -l sh -c 'echo $CUDA_VISIBLE_DEVICES'").split("\n")), ["0: 1", "1: 0"])
    cpu = str(min(os.sched_getaffinity(0)))
    equal(cluster.out(f"srun --cpu-bind=map_cpu:{cpu} python3 -c 'import os; print(*os.sched_getaffinity(0))'"), cpu)


def programs_run_around_steps(cluster):
    cluster.file("around", "#!/bin/sh\necho $1around $SLURM_JOB_ID\n", 0o755)
    cluster.file("before", "#!/bin/sh\necho export FOO=bar\necho print hello\necho unset BAR\n", 0o755)
    out = cluster.out("srun --prolog=$PWD/around --epilog=$PWD/around --task-epilog=$PWD/around echo task").split("\n")
    equal((out[0][:6], out[1], len(out)), ("around", "task", 4))
    equal(cluster.out("BAR=1 srun --task-prolog=$PWD/before sh -c 'echo $FOO:$BAR'"), "hello\nbar:")
    equal(cluster.out("srun --bcast=$PWD/copy /bin/echo hi; cmp /bin/echo copy"), "hi")


def nobody_waits_who_does_not_want_to(cluster):
    running = block(cluster)
    equal(cluster.run("srun -I -N3 true")[::2], (1, "srun: error: Unable to allocate resources: Requested nodes are busy"))
    equal(cluster.run("salloc -I1 -N3 true")[::2], (1, "salloc: error: Job submit/allocate failed: Requested nodes are busy"))
    equal(cluster.out("squeue -h -o %i"), str(running))
    begin = time.time()
    equal(cluster.run("scancel $(squeue -h -o %i); srun -n2 --wait=1 sh -c 'sleep $((SLURM_PROCID * 60))'")[0], 143)
    assert time.time() - begin < 50


@contextlib.contextmanager
def a_job_of_another_service(number, attempt=1):
    """A process as a job of that number has it, whose service has another socket."""
    names = dict(SLURM_JOB_ID=number, STRATA_JOB_ID=number, STRATA_ATTEMPT=attempt, STRATA_SOCKET="/dev/null", SLURM_OF_ANOTHER="yes")
    other = subprocess.Popen(["sleep", "60"], env={**os.environ, **{name: str(value) for name, value in names.items()}})
    try:
        yield
    finally:
        other.kill()
        other.wait()


def steps_join_a_job(cluster):
    job = cluster.sbatch("-n2", "sleep 600")
    cluster.wait(job, "running")
    equal(cluster.out(f"srun --jobid={job} -n1 --overlap sh -c 'echo $SLURM_JOB_ID $SLURM_STEP_ID'"), f"{job} 0")
    equal(cluster.run("srun --jobid=999 true")[2].split("\n")[0], "srun: error: Unable to confirm allocation for job 999: Invalid job id specified")
    waiting = cluster.sbatch("-H")
    equal(cluster.run(f"srun --jobid={waiting} true")[0], 1)
    with a_job_of_another_service(waiting):  # with the same number, on the same machine
        code, _, err = cluster.run(f"srun --jobid={waiting} true")
        equal((code, err.split("\n")[0]), (1, f"srun: error: Unable to confirm allocation for job {waiting}: Job is pending execution"))
    with a_job_of_another_service(job, attempt=1):
        equal(cluster.out(f"srun --jobid={job} --overlap sh -c 'echo $SLURM_OF_ANOTHER'"), "")
    line = cluster.out(f"sstat -a -n -P -j {job} -o jobid,ntasks,pids,maxrss").split("|")
    assert line[:2] == [f"{job}.batch", "1"] and line[2] and line[3].endswith("K"), line
    equal(cluster.run("sstat")[::2], (1, "sstat: error: You didn't give me any jobs to stat."))
    equal(cluster.run("sstat -n -o jobid 999")[2], "sstat: error: couldn't get steps for job 999")
    equal(cluster.out(f"sattach --layout {job}.batch"), "Job step layout:\n\t1 tasks, 1 nodes (n1)\n\n\tNode 0 (n1), 1 task(s): 0 ")
    equal(cluster.run("sattach 999.0")[::2], (1, "sattach: error: Could not get job step info: Invalid job id specified"))
    assert f"Job ID: {job}\n" in cluster.out(f"seff {job}")
    assert "Jobs running:   1\n" in cluster.out("sdiag")


def accounts_are_ours(cluster):
    equal(cluster.out("sacctmgr -i add account phys description=physics"), " Adding Account(s)\n  phys")
    equal(cluster.run("sacctmgr -i add account phys"), (1, " Nothing new added.", ""))
    equal(cluster.out("sacctmgr -i add user nobody account=phys fairshare=5"), " Adding User(s)\n  nobody")
    equal(cluster.out("sacctmgr -i add qos fast priority=10; sacctmgr -i modify qos fast set priority=20"), " Adding QOS(s)\n  fast\n Modified qos...\n  fast")
    equal(cluster.out("sacctmgr -n -P show qos fast format=name,priority"), "fast|20")
    cluster.out("sacctmgr -i modify account phys set fairshare=7 grptres=gres/gpu=2")
    equal(cluster.out("sacctmgr -n -P show assoc format=account,user,fairshare,grptres where name=phys,nobody"), "phys||7|gres/gpu=2\nphys|nobody|5|")
    equal([row["limits"]["gpus"] for row in cluster.api("GET", "/accounts")["accounts"] if row["name"] == "phys"], [2])
    equal(cluster.out("sacctmgr show user nobody"), "      User   Def Acct     Admin \n---------- ---------- --------- \n    nobody       phys      None ")
    equal(cluster.run("sacctmgr -i modify user nosuch set fairshare=5"), (1, " Nothing modified", ""))
    equal(cluster.out("echo n | sacctmgr delete qos fast").split("\n")[-1], "(N/y):  Changes Discarded")
    equal(cluster.out("sacctmgr -i delete user nobody; sacctmgr -i delete account phys; sacctmgr -i delete qos fast"),
          " Deleting users...\n  nobody\n Deleting accounts...\n  phys\n Deleting QOS(s)...\n  fast")
    equal(cluster.run("sacctmgr -i delete qos fast"), (1, " Nothing deleted", ""))
    equal(cluster.run("sacctmgr -r -i add account x")[0], 1)


def reports_add_up(cluster):
    job = cluster.sbatch("-n2", "sleep 2")
    cluster.wait(job, "completed")
    out = cluster.out("sreport -n -P -t seconds cluster utilization start=today end=now").split("|")
    assert out[0] == "strata" and 2 <= int(out[1]) <= 60 and int(out[6]) > int(out[1]), out
    line = cluster.out("sreport -n -P -t seconds user topusage start=today end=now").split("|")
    equal(line[1], pwd.getpwuid(os.geteuid()).pw_name)
    assert 2 <= int(line[4]) <= 60, line
    assert cluster.out("sreport job sizesbyaccount").startswith("-" * 80 + "\nJob Sizes ")
    equal(cluster.run("sreport cluster nosuch")[2].split("\n")[0], "Not valid report nosuch")


service.run_with(lambda test: Cluster(), sizes_of_nodes_count, files_and_variables_come_from_here, verbose_tells_what_was_understood, somebody_else_may_be_meant,
                 what_is_not_there_is_refused_as_slurm_does, what_was_asked_for_is_shown, shares_and_priorities_have_all_columns, scripts_come_back,
                 jobs_go_to_the_top, steps_run_what_the_file_says, tasks_are_laid_out, programs_run_around_steps, nobody_waits_who_does_not_want_to,
                 steps_join_a_job, accounts_are_ours, reports_add_up)
