#!/usr/bin/env python3
"""Where the service keeps things: what others could have prepared, or could exchange, is refused before anything is read."""
import os
import pwd
import socket
import stat
import subprocess
import tempfile

from service import NOBODY, STRATA, Service, Skip, as_nobody, equal, run_with


class Place:
    """A directory to serve in, and a service that is expected not to start."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="strata-test-")
        os.chmod(self.dir, 0o755)
        self.state = self.path("state")

    def path(self, name):
        return os.path.join(self.dir, name)

    def make(self, name, mode=0o755, owner=None):
        os.mkdir(self.path(name))
        os.chmod(self.path(name), mode)
        if owner is not None:
            os.chown(self.path(name), owner, -1)
        return self.path(name)

    def refused(self, *words, state=None):
        """What it says when it does not start."""
        done = subprocess.run([STRATA, "serve", "--state", state or self.state, "--node", "n:cpus=1", *words],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode not in (0, -9), (done.returncode, done.stderr)
        return done.stderr

    def said(self):
        return ""

    def close(self):
        subprocess.run(["rm", "-rf", self.dir], check=True)


def other():
    if os.geteuid() != 0:
        raise Skip("needs root, to make files of another user's")
    return pwd.getpwnam(NOBODY).pw_uid


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def a_state_directory_of_another_user_is_refused(place):
    place.make("state", owner=other())
    said = place.refused()
    assert "the state directory" in said and "belongs to user" in said and "chown" in said, said
    equal(os.listdir(place.state), [])


def one_that_others_may_write_to_is_refused(place):
    place.make("state", 0o777)
    assert "`chmod go-w" in place.refused()
    os.chmod(place.state, 0o1777)
    assert "name a directory of its own below it" in place.refused()
    if os.geteuid() == 0:  # others' own group may be theirs alone
        os.chmod(place.state, 0o775)
        assert "`chmod go-w" in place.refused()
    equal(os.listdir(place.state), [])


def so_is_one_below_such_a_directory(place):
    place.make("open", 0o777)
    said = place.refused(state=place.path("open/state"))
    assert "/open may be written to by others" in said, said
    equal(os.listdir(place.path("open")), [])
    place.make("theirs", owner=other())
    said = place.refused(state=place.path("theirs/state"))
    assert "/theirs belongs to user" in said, said


def a_link_of_another_user_leads_nowhere(place):
    place.make("mine", 0o700)
    place.make("tmp", 0o1777)
    os.symlink(place.path("mine"), place.path("tmp/state"))
    os.chown(place.path("tmp/state"), other(), -1, follow_symlinks=False)
    said = place.refused(state=place.path("tmp/state"))
    assert "/tmp/state belongs to user" in said, said


def a_prepared_store_is_refused(place):
    place.make("state")
    store = place.path("state/strata.db")
    open(store, "w").close()
    os.chown(store, other(), -1)
    said = place.refused()
    assert "the store" in said and "strata.db belongs to user" in said, said
    place.make("open", 0o1777)
    assert "the directory of the store" in place.refused("--store", "sqlite:" + place.path("open/x.db"), state=place.path("second"))


def a_prepared_key_is_refused(place):
    place.make("state")
    key = place.path("state/job.key")
    with open(key, "w") as file:
        file.write("x" * 32)
    os.chmod(key, 0o666)
    said = place.refused()
    assert "job.key" in said and "chmod go-w" in said, said


def checkpoints_go_where_nobody_else_writes(place):
    place.make("open", 0o1777)
    said = place.refused("--checkpoint-dir", place.path("open"))
    assert "the checkpoint directory" in said and "name a directory of its own" in said, said
    place.make("theirs", owner=other())
    assert "the checkpoint directory" in place.refused("--checkpoint-dir", place.path("theirs"), state=place.path("second"))


def the_socket_is_where_nobody_else_can_put_one(place):
    place.make("open", 0o1777)
    said = place.refused("--socket", place.path("open/sock"))
    assert "the directory of the socket" in said, said


def what_settings_name_is_believed_only_where_others_cannot_write(place):
    """The record, the token of an inventory, the settings themselves."""
    place.make("open", 0o1777)
    place.make("mine")
    os.symlink(place.path("mine/target"), place.path("open/record"))
    os.chown(place.path("open/record"), other(), -1, follow_symlinks=False)
    said = place.refused("--record", place.path("open/record"))
    assert "the record" in said and "belongs to user" in said, said
    assert not os.path.exists(place.path("mine/target"))
    token = place.path("mine/token")
    with open(token, "w") as file:
        file.write("secret")
    os.chmod(token, 0o644)
    said = place.refused("--inventory-url", "http://127.0.0.1:1", "--inventory-token-file", token)
    assert "chmod 600" in said, said
    os.chmod(token, 0o600)
    os.chown(token, other(), -1)
    said = place.refused("--inventory-url", "http://127.0.0.1:1", "--inventory-token-file", token)
    assert "belongs to user" in said, said
    for url in ("file:///etc/passwd", "ftp://127.0.0.1/", "127.0.0.1:80"):
        said = place.refused("--inventory-url", url)
        assert "expected http://" in said, said
    said = place.refused("--inventory-url", "unix:" + place.path("open/sock"))
    assert "the directory of the inventory's socket" in said, said
    settings = place.path("strata.ini")
    with open(settings, "w") as file:
        file.write("[serve]\ncluster_name = x\n")
    os.chmod(settings, 0o666)
    said = place.refused("--config", settings)
    assert "the settings" in said and "chmod go-w" in said, said


def what_is_no_socket_is_not_deleted(place):
    file = place.path("file")
    with open(file, "w") as to:
        to.write("mine")
    said = place.refused("--socket", file)
    assert "is not a socket" in said and "it is left as it is" in said, said
    with open(file) as kept:
        equal(kept.read(), "mine")
    os.symlink(file, place.path("link"))
    assert "is not a socket" in place.refused("--socket", place.path("link"))
    assert os.path.islink(place.path("link"))


def a_socket_that_was_left_is_replaced(place):
    left = socket.socket(socket.AF_UNIX)
    left.bind(place.path("sock"))
    left.close()
    service = Service(state=place.state)
    service.kill()
    service.start()
    service.close()


def directories_are_made_as_narrow_as_they_may_be(place):
    old = os.umask(0o077)  # which must not shut out jobs of others
    try:
        service = Service(state=place.state)
    finally:
        os.umask(old)
    try:
        want = 0o711 if os.geteuid() == 0 else 0o700
        equal((mode_of(place.state), mode_of(place.path("state/checkpoints"))), (want, want))
        for name in os.listdir(place.state):
            if os.path.isfile(place.path("state/" + name)):
                equal((name, mode_of(place.path("state/" + name)) & 0o077), (name, 0))
        if os.geteuid() == 0:
            job = as_nobody(service, "POST", "/api/v1/jobs", {
                "script": "#!/bin/sh\ncat $STRATA_TOKEN_FILE && echo x > $STRATA_CHECKPOINT_DIR/one\n",
                "working_dir": "/", "output": "/dev/null"})[1]["id"]
            service.wait(job, "completed")
            equal(os.stat(place.path(f"state/checkpoints/{job}/one")).st_uid, other())
    finally:
        service.close()


run_with(lambda test: Place(), a_state_directory_of_another_user_is_refused, one_that_others_may_write_to_is_refused, so_is_one_below_such_a_directory,
         a_link_of_another_user_leads_nowhere, a_prepared_store_is_refused, a_prepared_key_is_refused, checkpoints_go_where_nobody_else_writes,
         the_socket_is_where_nobody_else_can_put_one,
         what_settings_name_is_believed_only_where_others_cannot_write, what_is_no_socket_is_not_deleted, a_socket_that_was_left_is_replaced,
         directories_are_made_as_narrow_as_they_may_be)
