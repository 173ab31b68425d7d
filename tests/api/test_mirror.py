#!/usr/bin/env python3
"""Copies of checkpoints in S3: stored, fetched before a restart elsewhere, forgotten when those on the disk are; with a
small S3 of our own, or with moto (`test_mirror.py moto`, suite s3-moto), which checks signatures by code of others."""
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time

from mirror_world import MISSING, World, checkpoints, copied, events, until
from service import PATIENCE_S, STRATA, equal, kill_all, run_with

# A checkpoint that is a directory of files: small ones, an empty one, one in several parts; then it waits to be told.
SAVES = """set -e; echo run $SLURM_RESTART_COUNT ${STRATA_CHECKPOINT:-none}
[ -z "$STRATA_CHECKPOINT" ] || { cat "$STRATA_CHECKPOINT/deep/er/note"; sha256sum <"$STRATA_CHECKPOINT/weights"; echo again; sleep 300; }
d=$STRATA_CHECKPOINT_DIR/.new; mkdir -p $d/deep/er $d/none; head -c 12000000 /dev/urandom >$d/weights; : >$d/empty; echo hello >$d/deep/er/note
chmod 640 $d/deep/er/note; sha256sum <$d/weights; mv $d $STRATA_CHECKPOINT_DIR/step-1; echo saved; sleep 300"""


def saving(world, **fields):
    job = world.service.submit("sh", "-c", SAVES, preemptible=True, **fields)["id"]
    until(lambda: checkpoints(world.service, job), "the checkpoint", world)
    return job


def a_checkpoint_is_copied_fetched_elsewhere_and_forgotten(world):
    service = world.service
    job = saving(world)
    found = copied(world, job)[0]
    equal((found["not_copied"], found["size_bytes"]), (None, 12000006))
    assert any(key.endswith("/manifest") and key.startswith("lab/checks/") for key in world.s3.keys()), world.s3.keys()
    service.kill()  # the machine is gone, and what was on it; its store is there
    kill_all(service.state)
    shutil.rmtree(os.path.join(service.state, "checkpoints", str(job)))
    service.start()
    if service.job(job)["state"] == "running" and "again" not in service.output(f"strata-{job}.out"):
        service.api("PATCH", f"/jobs/{job}", {"requeue": True})
    text = until(lambda: "again" in (said := service.output(f"strata-{job}.out")) and said, "the second run", world)
    hashes = re.findall(r"[0-9a-f]{64}", text)
    equal((len(hashes), len(set(hashes)), "hello" in text), (2, 1, True))
    place = os.path.join(service.state, "checkpoints", str(job), "step-1")
    equal((os.path.getsize(os.path.join(place, "empty")), os.path.isdir(os.path.join(place, "none"))), (0, True))
    equal(stat.S_IMODE(os.stat(os.path.join(place, "deep/er/note")).st_mode), 0o640)
    service.api("DELETE", f"/jobs/{job}/checkpoints")
    until(lambda: not world.s3.keys(), "the copy forgotten", world)


def what_is_kept_on_the_disk_is_kept_there(world):
    service = world.service
    job = service.submit("sleep", "300")["id"]
    service.wait(job, "running")
    place = os.path.join(service.state, "checkpoints", str(job))
    for step, name in enumerate("abc"):
        with open(os.path.join(place, name), "w") as file:
            file.write(name * 100)
        service.api("POST", f"/jobs/{job}/checkpoints", {"path": os.path.join(place, name), "step": step}, 201)
        until(lambda: checkpoints(service, job)[0]["copied"], "the copy", world)
    names = lambda: sorted(key.split("/")[-2] for key in world.s3.keys() if key.endswith("/manifest"))
    until(lambda: names() == ["b", "c"], "two kept", world)
    with open(os.path.join(place, ".c"), "w") as file:  # written anew under the same name
        file.write("new")
    os.rename(os.path.join(place, ".c"), os.path.join(place, "c"))
    service.api("POST", f"/jobs/{job}/checkpoints", {"path": os.path.join(place, "c"), "step": 9}, 201)
    until(lambda: checkpoints(service, job)[0]["copied"], "the new copy", world)
    until(lambda: len(world.s3.keys()) == 4, "the old version gone", world)
    elsewhere = os.path.join(service.dir, "own")
    with open(elsewhere, "w") as file:
        file.write("x")
    service.api("POST", f"/jobs/{job}/checkpoints", {"path": elsewhere, "step": 10}, 201)
    equal(checkpoints(service, job)[0]["copied"], False)  # not in the job's directory
    service.api("DELETE", f"/jobs/{job}/checkpoints")
    until(lambda: not world.s3.keys(), "all forgotten", world)


def names_of_any_kind_are_copied(world):
    service = world.service
    job = service.submit("sleep", "300")["id"]
    service.wait(job, "running")
    place = os.path.join(service.state, "checkpoints", str(job))
    for name in ("x" * 200, "ä" * 120, "a b", "..x", "%2e"):
        path = os.path.join(place, name)
        with open(path, "w") as file:
            file.write(name)
        service.api("POST", f"/jobs/{job}/checkpoints", {"path": path, "step": 1}, 201)
        if name[0] != ".":  # names that begin with a dot are no checkpoints
            until(lambda: checkpoints(service, job)[0]["copied"], "the copy", world)
    assert all(len(key) < 1024 and re.fullmatch(r"[-A-Za-z0-9._/]+", key) for key in world.s3.keys()), world.s3.keys()


def secrets_stay_secret(world):
    job = saving(world)
    copied(world, job)
    settings = json.dumps(world.service.api("GET", "/settings"))
    text = world.said() + settings + json.dumps(world.service.api("GET", "/events?format=json&limit=1000"))
    assert world.s3.secret not in text and world.s3.access not in text
    assert "checkpoint_copies_total 1\n" in world.service.ask("GET", "/metrics")[1].replace("strata_", "")


def what_it_cannot_do_now_is_done_later(world):
    """Credentials that are refused: said once, with the reason, and the copy is made when they are good again."""
    world.write(secret="wrong")
    job = saving(world)
    why = until(lambda: checkpoints(world.service, job)[0]["not_copied"], "the reason", world)
    assert "403 SignatureDoesNotMatch" in why, why
    assert "job.checkpoint_not_copied" in events(world.service, job)
    os.chmod(world.credentials, 0o644)
    done = subprocess.run([STRATA, "doctor", "--socket", world.service.socket, "--json"], stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    row = next(one for one in json.loads(done.stdout)["checks"] if one["check"] == "copies")
    assert row["result"] == "bad" and "others can read the credentials" in row["message"], row
    until(lambda: "others can read the credentials" in (checkpoints(world.service, job)[0]["not_copied"] or ""), "the other reason", world)
    world.write()
    copied(world, job)
    equal(events(world.service, job).count("job.checkpoint_not_copied"), 1)


def a_start_waits_for_its_checkpoint(world):
    service, s3 = world.service, world.s3
    job = saving(world)
    copied(world, job)
    s3.fault = lambda *what: (503, "<Error><Code>SlowDown</Code></Error>")
    service.api("PATCH", f"/jobs/{job}", {"requeue": True, "hold": True})
    service.wait(job, "queued", "held")
    shutil.rmtree(os.path.join(service.state, "checkpoints", str(job)))
    service.api("PATCH", f"/jobs/{job}", {"hold": False})
    until(lambda: "job.put_off" in events(service, job), "the start put off", world)
    assert "again" not in service.output(f"strata-{job}.out")
    s3.fault = None
    until(lambda: "again" in service.output(f"strata-{job}.out"), "the second run", world)
    service.api("PATCH", f"/jobs/{job}", {"requeue": True, "hold": True})
    service.wait(job, "queued", "held")
    shutil.rmtree(os.path.join(service.state, "checkpoints", str(job)))
    s3.fault = lambda *what: time.sleep(3)
    service.api("PATCH", f"/jobs/{job}", {"hold": False})
    until(lambda: any(one[0] == "GET" for one in s3.asked[-3:]), "the fetch", world)
    service.api("DELETE", f"/jobs/{job}", status=202)  # while it waits
    equal(service.wait(job, "cancelled")["state"], "cancelled")


def a_start_that_is_decided_again_waits_for_its_own_fetch(world):
    service, s3 = world.service, world.s3
    job = saving(world)
    copied(world, job)
    service.api("PATCH", f"/jobs/{job}", {"requeue": True, "hold": True})
    service.wait(job, "queued", "held")
    shutil.rmtree(os.path.join(service.state, "checkpoints", str(job)))
    s3.fault = lambda *what: time.sleep(1)
    service.api("PATCH", f"/jobs/{job}", {"hold": False})
    for _ in range(6):
        time.sleep(0.3)
        service.ask("PATCH", f"/api/v1/jobs/{job}", {"requeue": True})
    s3.fault = None
    until(lambda: "again" in service.output(f"strata-{job}.out"), "the next run", world)


def settings_are_checked(world):
    for words, why in ((("--checkpoint-path", "bucket/x"), "expected s3://BUCKET/PREFIX"), (("--checkpoint-path", "s3://B!/x"), "expected s3://"),
                       (("--checkpoint-path", "s3://bucket/a b"), "has the prefix"),
                       (("--checkpoint-path", "s3://bucket", "--s3-endpoint", "ftp://x"), "s3_endpoint is 'ftp://x'")):
        done = subprocess.run([STRATA, "serve", "--state", os.path.join(world.place, "s"), *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        assert done.returncode and why in done.stdout, (words, done.stdout)


BOTH = [a_checkpoint_is_copied_fetched_elsewhere_and_forgotten, what_is_kept_on_the_disk_is_kept_there, names_of_any_kind_are_copied, secrets_stay_secret,
        what_it_cannot_do_now_is_done_later]
OURS = [a_start_waits_for_its_checkpoint, a_start_that_is_decided_again_waits_for_its_own_fetch, settings_are_checked]
run_with(World, *(BOTH if "moto" in sys.argv else BOTH + OURS), skip=MISSING)
