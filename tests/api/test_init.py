#!/usr/bin/env python3
"""What `strata init` writes, submitted as its user would: train, array and jupyter run, everything else is taken by the service that would run it."""
import os
import re
import shutil
import subprocess
import time

from service import PATIENCE_S, STRATA, Service, Skip, equal, run_with

NODES = "n:count=2:cpus=32:memory=64G:gpus=4:gpu_type=a100"


class Templates(Service):
    def __init__(self):
        super().__init__(nodes=NODES)

    def strata(self, *words, cwd=None, **env):
        done = subprocess.run([STRATA, *words], cwd=cwd or self.dir, env={**os.environ, "STRATA_SOCKET": self.socket, **env}, capture_output=True,
                              text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, f"strata {words}: {done.returncode} {done.stderr}"
        return done.stdout

    def made(self, name):
        self.strata("init", name)
        return os.path.join(self.dir, name)

    def read(self, *path):
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read()


def a_training_continues_where_it_was(service):
    place = service.made("train")
    job = int(service.strata("submit", "--quiet", "train.sh", cwd=place))
    log = os.path.join(place, f"train-{job}.out")
    service.wait(job, "running")
    deadline = time.time() + PATIENCE_S
    while not os.path.exists(log) or "saved" not in service.read(log):
        assert time.time() < deadline, "it saves nothing"
        time.sleep(0.05)
    service.strata("requeue", str(job))
    service.wait(job, "completed")
    text = service.read(log)
    begun = [int(step) for step in re.findall(r"begins at step (\d+)", text)]
    assert len(begun) == 2 and begun[0] == 0 and begun[1] >= 500, text
    assert text.rstrip().endswith("done after 2000 steps"), text


def an_array_takes_a_line_each(service):
    place = service.made("array")
    array = service.strata("submit", "--quiet", "--wait", "sweep.sh", cwd=place).split()[0]
    said = {service.read(place, f"sweep-{array}_{i}.out") for i in range(1, 5)}
    equal(said, {f"element {i}: rate {rate}, depth {depth}\n" for i, (rate, depth) in enumerate([("0.1", 2), ("0.1", 4), ("0.01", 2), ("0.01", 4)], 1)})


def a_notebook_server_answers_whoever_has_its_token(service):
    place = service.made("jupyter")
    jupyter = shutil.which("jupyter", path=os.path.join(os.environ.get("STRATA_SOURCE", "."), "build", "python-tools", "bin") + ":" + os.environ["PATH"])
    lab = jupyter and subprocess.run([jupyter, "lab", "--version"], capture_output=True).returncode == 0
    if not lab:
        job = int(service.strata("submit", "--quiet", "jupyter.sh", cwd=place, PATH="/usr/bin:/bin"))
        service.wait(job, "failed")
        assert "pip install jupyterlab" in service.read(place, f"jupyter-{job}.out")
        raise Skip("there is no jupyter lab; that it is missing is said")
    path = os.path.dirname(jupyter) + ":" + os.environ["PATH"]
    job = int(service.strata("submit", "--quiet", "jupyter.sh", cwd=place, PATH=path))
    service.wait(job, "running")
    log, address = (os.path.join(place, f"jupyter-{job}.{end}") for end in ("out", "address"))
    deadline = time.time() + PATIENCE_S
    while not os.path.exists(log) or address not in service.read(log):
        assert time.time() < deadline, "no address"
        time.sleep(0.1)
    equal(os.stat(address).st_mode & 0o077, 0)
    port, token = re.search(r"127\.0\.0\.1:(\d+)/lab\?token=(\S+)", service.read(address)).groups()
    assert token not in service.read(log)

    def asks(*headers):
        return subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *headers, f"http://127.0.0.1:{port}/api/contents"],
                              capture_output=True, text=True).stdout
    while asks() == "000":
        assert time.time() < deadline, service.read(log)
        time.sleep(0.2)
    equal((asks(), asks("-H", f"Authorization: token {token}")), ("403", "200"))
    everybody = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert token not in everybody, "its token can be seen"
    service.api("DELETE", f"/jobs/{job}", status=202)
    service.wait(job, "cancelled")
    assert not os.path.exists(address), "its token stays behind"


def the_others_would_be_taken(service):
    sbatch = os.path.join(service.dir, "sbatch")
    os.symlink(os.path.abspath(STRATA), sbatch)
    for name, script in (("ddp", "ddp.sh"), ("lightning", "lightning.sh"), ("ray", "ray.sh"), ("llm-serving", "serve.sh"), ("train", "train.sh"),
                         ("array", "sweep.sh"), ("jupyter", "jupyter.sh")):
        place = service.made(name)
        done = subprocess.run([sbatch, "--test-only", script], cwd=place, env={**os.environ, "STRATA_SOCKET": service.socket}, capture_output=True,
                              text=True, timeout=PATIENCE_S)
        assert done.returncode == 0 and "to start at" in done.stderr, (name, done)
        assert "no effect" not in done.stderr, (name, done.stderr)  # a line that does nothing here is no line of a template
        when = service.strata("submit", "--when", script, cwd=place)
        assert when.strip(), name


def settings_of_the_image_service_are_served(service):
    place = service.made("image-service")
    checked = service.strata("config", "--check", os.path.join(place, "strata.ini"))
    assert "error" not in checked, checked
    other = os.path.join(service.dir, "other")
    process = subprocess.Popen([STRATA, "serve", "--config", os.path.join(place, "strata.ini"), "--state", other], stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.time() + PATIENCE_S
        while not os.path.exists(os.path.join(other, "strata.sock")):
            assert process.poll() is None and time.time() < deadline, process.stderr.read()
            time.sleep(0.05)
        conf = subprocess.run([STRATA, "config", "--socket", os.path.join(other, "strata.sock"), "--config", os.path.join(place, "strata.ini")],
                              capture_output=True, text=True).stdout
        assert "task_queue_max" in conf and "200" in conf, conf
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        process.stderr.close()


run_with(lambda test: Templates(), a_training_continues_where_it_was, an_array_takes_a_line_each, a_notebook_server_answers_whoever_has_its_token,
         the_others_would_be_taken, settings_of_the_image_service_are_served)
