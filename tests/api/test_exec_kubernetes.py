"""Jobs as pods: the service on an API server that keeps to the rules and kubelets that run processes (fake_kubelet.py)."""

import base64
import json
import os
import pwd
import random
import ssl
import subprocess
import tempfile
import time

from fake_kube import Refused
from fake_kubelet import KubeWithKubelets, node
from service import NOBODY, PATIENCE_S, Service, Skip, arguments, as_nobody, equal, run_with

TOKEN = "a-token-that-must-not-leak"


def until(done, what):
    deadline = time.time() + PATIENCE_S
    while not done():
        assert time.time() < deadline, what() if callable(what) else what
        time.sleep(0.02)


class OnKubernetes(Service):
    def __init__(self, options="", *args, nodes=3, kube=None):
        self.kube = kube or KubeWithKubelets(token=TOKEN)
        for index in range(nodes):
            self.kube.create("nodes", None, node(f"n{index}", cpu="8", memory="32Gi", gpus=4, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
                                                                                                     "feature.strata.io/fast": "true"}))
        path = self.kube.kubeconfig(f"/tmp/strata-kubeconfig-{os.getpid()}-{id(self)}")
        self.config = path
        super().__init__("--executor", f"kubernetes:kubeconfig={path}:image=usual/image\\:1{options}", *args, nodes=None)

    def pods(self, job=None):
        return [pod for pod in self.kube.all("pods") if job is None or pod["metadata"].get("labels", {}).get("strata.io/job") == str(job)]

    def left(self):
        return [(kind, thing["metadata"]["name"]) for kind in ("pods", "secrets", "services") for thing in self.kube.all(kind)]

    def close(self):
        try:
            super().close()
        finally:
            self.kube.close()
            os.unlink(self.config)


def only_pod(service, job):
    until(lambda: service.pods(job), "pod")
    return service.pods(job)[0]


def a_job_becomes_a_pod_and_leaves_nothing(service):
    job = service.submit("sh", "-c", 'echo "from $STRATA_NODE as $SLURM_JOB_ID with $ODD"; pwd; exit 3', cpus_per_task=2, memory="1GiB", gpus=2,
                         environment={"ODD": "it's a\nvalue $HOME"}, working_dir=service.dir, output="out")["id"]
    pod = only_pod(service, job)
    spec, container = pod["spec"], pod["spec"]["containers"][0]
    equal(container["resources"], {"requests": (room := {"cpu": "2000m", "memory": str(1 << 30), "nvidia.com/gpu": "2"}), "limits": room})
    equal((container["image"], spec["restartPolicy"], spec["automountServiceAccountToken"]), ("usual/image:1", "Never", False))
    equal(pod["metadata"]["annotations"]["strata.io/user"], service.job(job)["user"])
    service.wait(job, "failed")
    equal(service.job(job)["exit_code"], 3)
    equal(service.output("out"), f"from {spec.get('nodeName') or service.kube.started and 'n0'} as {job} with it's a\nvalue $HOME\n{service.dir}\n")
    until(lambda: not service.left(), lambda: service.left())
    equal(len(service.kube.started), 1)


def nodes_come_from_the_cluster(service):
    nodes = {one["name"]: one for one in service.api("GET", "/nodes")["nodes"]}
    equal(sorted(nodes), ["n0", "n1", "n2"])
    equal((nodes["n0"]["cpus"], nodes["n0"]["gpus"]), (8, 4))
    service.submit("true", gpu_type="a100-sxm4-80gb", gpus=1, features="fast")
    service.kube.change("nodes", None, "n1", {"spec": {"unschedulable": True}})
    service.kube.lose_node("n2")
    until(lambda: [one["state"] for one in service.api("GET", "/nodes")["nodes"]] == ["up", "drained", "down"], lambda: service.api("GET", "/nodes"))


def what_others_run_is_left_alone(service):
    """A pod of somebody else's takes its part of a node, and is nobody's to delete."""
    service.kube.create("pods", "other", {"metadata": {"name": "theirs"}, "spec": {"nodeName": "n0", "containers": [
        {"name": "c", "image": "x", "resources": {"requests": {"cpu": "6", "nvidia.com/gpu": "4"}, "limits": {"nvidia.com/gpu": "4"}}}]}})
    service.kube.change("pods", "other", "theirs", {"status": {"phase": "Running"}})
    time.sleep(0.5)
    jobs = [service.submit("sleep", "100", gpus=4)["id"] for _ in range(3)]
    until(lambda: len([1 for job in jobs if service.job(job)["state"] == "running"]) == 2, "two that run")
    equal({pod["spec"]["nodeName"] for job in jobs for pod in service.pods(job)}, {"n1", "n2"})
    service.kube.finish_deletion("other", "theirs")
    for job in jobs:
        service.wait(job, "running")


def as_another_user(service):
    """The pod has that user's rights, and so has whoever brings its output home."""
    if os.geteuid():
        raise Skip("only root may")
    place = os.path.join(service.dir, "theirs")
    os.mkdir(place, 0o755)
    entry = pwd.getpwnam(NOBODY)
    os.chown(place, entry.pw_uid, entry.pw_gid)
    body = {"command": ["id", "-u"], "working_dir": place, "output": "out", "environment": {}, "umask": "077"}
    status, answer = as_nobody(service, "POST", "/api/v1/jobs", body)
    equal(status, 201)
    service.wait(answer["id"], "completed")
    found = os.stat(os.path.join(place, "out"))
    equal((service.output("theirs/out"), found.st_uid, found.st_mode & 0o777), (f"{entry.pw_uid}\n", entry.pw_uid, 0o600))
    os.mkdir(os.path.join(service.dir, "roots"), 0o700)
    status, answer = as_nobody(service, "POST", "/api/v1/jobs", {**body, "output": f"{service.dir}/roots/out"})
    service.wait(answer["id"], "failed")
    assert "cannot open its output file" in json.dumps(service.job(answer["id"])), service.job(answer["id"])
    equal(os.listdir(os.path.join(service.dir, "roots")), [])


def secrets_are_in_secrets(service):
    job = service.submit("sleep", "100", environment={"PASSWORD": "hunter-two"})["id"]
    service.wait(job, "running")
    assert "hunter-two" not in json.dumps(service.pods(job))
    assert TOKEN not in service.said() and "hunter-two" not in service.said()
    equal(len(service.kube.all("secrets")), 1)


def an_image_of_its_own(service):
    job = service.submit("sleep", "100", image="my/image:1")["id"]
    equal(only_pod(service, job)["spec"]["containers"][0]["image"], "my/image:1")
    waits = service.submit("sleep", "100", image="worng", hold=True)["id"]
    service.api("PATCH", f"/jobs/{waits}", {"image": "right"})
    service.kill()
    service.start()
    service.api("PATCH", f"/jobs/{waits}", {"hold": False})
    equal(only_pod(service, waits)["spec"]["containers"][0]["image"], "right")


def what_every_pod_sees(service):
    service.close()
    service.__init__(r":mounts='/srv/home,data=/srv/data':run_as=image:pull_secret=reg", "--checkpoint-dir", "/srv/home/saved")
    job = service.submit("sleep", "100", image="reg:5000/a:1")["id"]
    spec = only_pod(service, job)["spec"]
    equal(spec["containers"][0]["image"], "reg:5000/a:1")
    equal([(one["name"], one["mountPath"]) for one in spec["containers"][0]["volumeMounts"][2:]], [("mount-0", "/srv/home"), ("mount-1", "/srv/data")])
    equal([one.get("hostPath") or one["persistentVolumeClaim"] for one in spec["volumes"][2:]], [{"path": "/srv/home"}, {"claimName": "data"}])
    equal((spec.get("securityContext"), spec["imagePullSecrets"]), (None, [{"name": "reg"}]))


def an_image_that_cannot_be_had(service):
    job = service.submit("true", image="missing/image")["id"]
    service.wait(job, "failed")
    assert "there is no image missing/image" in json.dumps(service.job(job)), service.job(job)
    until(lambda: not service.left(), lambda: service.left())


def several_nodes_are_all_or_nothing(service):
    """One pod for each, that know each other; none runs before all are there."""
    job = service.submit("sh", "-c", "echo $SLURM_NODEID of $STRATA_NODE_COUNT at $MASTER_ADDR", nodes=3, tasks=3, working_dir=service.dir, output="out")["id"]
    service.wait(job, "completed")
    name = service.kube.started[0][0].rsplit("-", 1)[0]
    equal(service.output("out"), f"0 of 3 at {name}-0.{name}\n")
    equal(service.output("out.2"), f"2 of 3 at {name}-0.{name}\n")
    equal(len(service.kube.started), 3)
    until(lambda: not service.left(), lambda: service.left())


def one_pod_that_cannot_be_made_is_none(service):
    service.kube.fault = lambda method, path, query: 422 if method == "POST" and path.endswith("/pods") and len(service.pods()) == 2 else None
    job = service.submit("sleep", "100", nodes=3, tasks=3)["id"]
    service.wait(job, "failed")
    equal(service.kube.started, [])
    until(lambda: not service.left(), lambda: service.left())


def a_quota_that_is_full_is_waited_for(service):
    plain, full = service.kube.create, [True]

    def create(resource, namespace, given):
        if resource == "pods" and full[0]:
            raise Refused(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: compute, requested: cpu=1, used: cpu=8, limited: cpu=8')
        return plain(resource, namespace, given)
    service.kube.create = create
    job = service.submit("true")["id"]
    until(lambda: "exceeded quota" in service.said(), "trouble")
    full[0] = False
    service.wait(job, "completed")
    equal(service.said().count("exceeded quota"), 1)


def one_that_fails_ends_the_others(service):
    job = service.submit("sh", "-c", "test $SLURM_NODEID = 1 && exit 7; exec sleep 100", nodes=3, tasks=3)["id"]
    service.wait(job, "failed")
    equal(service.job(job)["exit_code"], 7)
    until(lambda: not service.left(), lambda: service.left())


def cancelling_gives_grace(service):
    job = service.submit("sh", "-c", "trap 'echo bye; exit 0' TERM; echo hi; while :; do sleep 0.1; done", working_dir=service.dir, output="out")["id"]
    service.wait(job, "running")
    until(lambda: service.output("out") == "hi\n", "output")
    service.api("DELETE", f"/jobs/{job}", status=202)
    service.wait(job, "cancelled")
    equal(service.output("out"), "hi\nbye\n")


def one_that_waits_is_cancelled_before_it_runs(service):
    service.kube.fault = lambda method, path, query: 503 if path.endswith("/binding") else None
    job = service.submit("sleep", "100")["id"]
    only_pod(service, job)
    service.ask("DELETE", f"/api/v1/jobs/{job}")
    service.wait(job, "cancelled")
    service.kube.fault = None
    until(lambda: not service.left(), lambda: service.left())
    equal(service.kube.started, [])


def a_time_limit_is_kept(service):
    job = service.submit("sleep", "100", time_limit="2s")["id"]
    service.wait(job, "failed")
    assert "time" in json.dumps(service.job(job)), service.job(job)


def memory_that_ran_out_is_told(service):
    job = service.submit("sh", "-c", "kill -KILL $$", image="memory-hog")["id"]
    service.wait(job, "failed")
    assert "memory" in json.dumps(service.job(job)), service.job(job)


def a_signal_that_ended_it_is_told(service):
    job = service.submit("sh", "-c", "kill -SEGV $$")["id"]
    service.wait(job, "failed")
    equal(service.job(job)["exit_signal"], 11)


def a_pod_that_vanished_is_run_again(service):
    """Nobody knows how it ended, so it is as if its node had failed: another attempt, with pods of another name."""
    job = service.submit("sleep", "100")["id"]
    service.wait(job, "running")
    first = service.pods(job)[0]["metadata"]
    service.kube.delete("pods", first["namespace"], first["name"], {"gracePeriodSeconds": 0})
    until(lambda: len(service.kube.started) == 2, "second attempt")
    service.wait(job, "running")
    equal(service.pods(job)[0]["metadata"]["labels"]["strata.io/attempt"], "2")


def what_cannot_be_done_is_said(service):
    job = service.submit("sleep", "100")["id"]
    service.wait(job, "running")
    for change in ({"suspend": True}, {"signal": "USR1"}):
        status, answer = service.ask("PATCH", f"/api/v1/jobs/{job}", change)[:2]
        equal(status, 501)
        assert "Kubernetes" in json.dumps(answer), answer
    equal(service.job(job)["state"], "running")
    for field in ({"signal": "USR1@60"}, {"checkpoint": "10m"}):
        answer = service.submit("true", status=501, **field)
        assert "SIGTERM" in json.dumps(answer), answer


@arguments("--preempt", "least_lost:grace=20:protect=0")
def one_that_gives_way_gets_grace_and_runs_again(service):
    jobs = [service.submit("sh", "-c", "trap 'echo saved; exit 0' TERM; echo go; while :; do sleep 0.1; done", gpus=4, preemptible=True, priority="low",
                           working_dir=service.dir, output="out.%j")["id"] for _ in range(3)]
    for job in jobs:
        service.wait(job, "running")
        until(lambda: service.output(f"out.{job}") == "go\n", "output")
    urgent = service.submit("sleep", "1", gpus=4, priority="high")["id"]
    service.wait(urgent, "completed")
    stopped = [job for job in jobs if service.job(job)["attempt"] > 1 or service.job(job)["preempted"]]
    equal(len(stopped), 1)
    service.wait(stopped[0], "running")
    until(lambda: service.output(f"out.{stopped[0]}").startswith("go\nsaved\ngo\n"), lambda: service.output(f"out.{stopped[0]}"))
    assert "level=warning" not in service.said(), service.said()


def what_jobs_would_be_frozen_for_is_refused(service):
    service.kill()
    service.args += ["--preempt", "lowest:mode=suspend"]
    said = ""
    try:
        service.start()
    except AssertionError as refusal:
        said = str(refusal)
    assert "mode=requeue" in said, said
    service.args[-2:] = []
    service.start()


def images_are_for_pods(service):
    """Where jobs run on machines as they are, a job that names an image would run in none."""
    other = Service()
    try:
        answer = other.submit("true", image="some/image", status=400)
        assert "executor" in json.dumps(answer), answer
    finally:
        other.close()


# ---- who is there, and who asks ----

def make_certificates(place):
    """An authority, a server for 127.0.0.1 and a client, in files of that directory."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=place, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for name in ("ca", "other"):
        openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}", "-days", "2")
    with open(os.path.join(place, "names"), "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.crt", "-days", "2", "-extfile", "names")


class OverTls(KubeWithKubelets):
    """Asks for a client's certificate, and takes no token."""

    def __init__(self, place):
        self.place = place
        super().__init__(token=None)

    def start(self):
        super().start()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.place, "server.crt"), os.path.join(self.place, "server.key"))
        context.load_verify_locations(os.path.join(self.place, "ca.crt"))
        context.verify_mode = ssl.CERT_REQUIRED
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = self.url.replace("http:", "https:")

    def kubeconfig(self, path, authority="ca"):
        super().kubeconfig(path)
        with open(path) as file:
            text = json.load(file)

        def bytes_of(name):
            with open(os.path.join(self.place, name), "rb") as file:
                return base64.b64encode(file.read()).decode()
        text["clusters"][0]["cluster"]["certificate-authority-data"] = bytes_of(authority + ".crt")
        text["users"][0]["user"] = {"client-certificate": os.path.join(self.place, "client.crt"), "client-key-data": bytes_of("client.key")}
        with open(path, "w") as file:
            json.dump(text, file)
        return path


def certificates_say_who_is_who(service):
    place = tempfile.mkdtemp(prefix="strata-tls-")
    make_certificates(place)
    kube = OverTls(place)
    other = OnKubernetes(kube=kube)
    try:
        job = other.submit("sh", "-c", "echo hi", working_dir=other.dir, output="out")["id"]
        other.wait(job, "completed")
        equal(other.output("out"), "hi\n")
        other.kill()
        kube.kubeconfig(other.config, authority="other")
        said = ""
        try:
            other.start()
        except AssertionError as refusal:
            said = str(refusal)
        assert "not trusted" in said, said
    finally:
        other.close()


def a_token_that_changes_is_read_again(service):
    """It is in a file, as in every pod, and the old one is not taken any more."""
    path = os.path.join(service.dir, "token")
    with open(path, "w") as file:
        file.write(TOKEN + "\n")
    with open(service.config) as file:
        text = json.load(file)
    text["users"][0]["user"] = {"tokenFile": path}
    with open(service.config, "w") as file:
        json.dump(text, file)
    service.kill()
    service.start()
    service.wait(service.submit("true")["id"], "completed")
    with open(path, "w") as file:
        file.write("another-token\n")
    service.kube.token = "another-token"
    service.wait(service.submit("true")["id"], "completed")


# ---- when one side is away ----

def the_api_server_comes_back(service):
    running = service.submit("sleep", "2")["id"]
    service.wait(running, "running")
    service.kube.stop()
    waiting = service.submit("true")["id"]
    until(lambda: "no answer from" in service.said(), "trouble")
    equal(service.job(running)["state"], "running")
    service.kube.start()
    service.wait(running, "completed")
    service.wait(waiting, "completed")
    equal(len(service.kube.started), 2)


def a_watch_that_expired_misses_nothing(service):
    jobs = [service.submit("sleep", "1")["id"] for _ in range(4)]
    for job in jobs:
        service.wait(job, "running", "completed")
        service.kube.expire()
    for job in jobs:
        service.wait(job, "completed")
    equal(len(service.kube.started), 4)


def an_answer_that_is_lost_is_no_second_pod(service):
    """What it asked for was done, and it does not know."""
    cut = set()

    def fault(method, path, query):
        if method == "POST" and (path, "done") not in cut:
            cut.add((path, "done"))
            return "late"
        return None
    plain = service.kube.do

    def do(method, name, given, query, content):
        answer = plain(method, name, given, query, content)
        if method == "POST" and name not in cut:
            cut.add(name)
            raise ConnectionError
        return answer
    service.kube.do = do
    job = service.submit("sh", "-c", "echo run", working_dir=service.dir, output="out")["id"]
    service.wait(job, "completed")
    equal((service.output("out"), len(service.kube.started)), ("run\n", 1))


def a_service_that_is_killed_takes_its_pods_up_again(service):
    job = service.submit("sh", "-c", "i=0; while [ $i -lt 30 ]; do echo line $i; i=$((i+1)); sleep 0.1; done", working_dir=service.dir, output="out")["id"]
    service.wait(job, "running")
    for _ in range(3):
        time.sleep(random.random() * 0.5)
        service.kube.stop()
        time.sleep(random.random() * 0.3)
        service.kube.start()
        time.sleep(random.random() * 0.3)
        service.kill()
        service.start()
    service.wait(job, "completed")
    equal(service.output("out"), "".join(f"line {i}\n" for i in range(30)))
    equal(len(service.kube.started), 1)


def one_that_ended_meanwhile_is_told(service):
    job = service.submit("sh", "-c", "echo done; exit 4", working_dir=service.dir, output="out")["id"]
    only_pod(service, job)
    service.kill()
    until(lambda: all(pod["status"]["phase"] != "Running" for pod in service.pods(job)), "its end")
    service.start()
    service.wait(job, "failed")
    equal((service.job(job)["exit_code"], service.output("out")), (4, "done\n"))


def killed_at_any_moment_nothing_runs_twice_or_is_lost(service):
    """Both sides die at random; each attempt has at most one container, each job ends as it should."""
    seed = int(os.environ.get("STRATA_SEED", random.randrange(1 << 32)))
    chance = random.Random(seed)
    jobs = []
    for _ in range(8):
        jobs += [service.submit("sh", "-c", f"echo run >> {service.dir}/runs.$SLURM_JOB_ID; sleep 0.2; exit 5")["id"] for _ in range(3)]
        time.sleep(chance.random() * 0.15)
        if chance.random() < 0.3:
            service.kube.stop()
            time.sleep(chance.random() * 0.2)
            service.kube.start()
        if chance.random() < 0.3:
            service.kube.expire()
        service.kill()
        service.start()
    for job in jobs:
        service.wait(job, "failed")
        equal((service.job(job)["exit_code"], service.output(f"runs.{job}"), seed), (5, "run\n", seed))
    names = [name for name, _ in service.kube.started]
    equal((len(names), len(set(names))), (len(jobs), len(jobs)))
    until(lambda: not service.left(), lambda: service.left())


def a_node_that_is_silent_loses_its_jobs(service):
    service.close()
    service.__init__(":lost=2s")
    job = service.submit("sleep", "100")["id"]
    service.wait(job, "running")
    where = service.pods(job)[0]["spec"]["nodeName"]
    service.kube.silent.add(where)
    service.kube.lose_node(where)
    until(lambda: len(service.kube.started) == 2, "second attempt")
    service.wait(job, "running")
    until(lambda: len(service.pods(job)) == 1, lambda: service.pods(job))  # what is left there is given up after a while
    assert service.pods(job)[0]["spec"]["nodeName"] != where


if __name__ == "__main__":
    run_with(lambda test: OnKubernetes("", *getattr(test, "arguments", [])), a_job_becomes_a_pod_and_leaves_nothing, nodes_come_from_the_cluster, what_others_run_is_left_alone,
             as_another_user, secrets_are_in_secrets, an_image_of_its_own, what_every_pod_sees, an_image_that_cannot_be_had, several_nodes_are_all_or_nothing,
             one_pod_that_cannot_be_made_is_none, a_quota_that_is_full_is_waited_for, one_that_fails_ends_the_others, cancelling_gives_grace, one_that_waits_is_cancelled_before_it_runs,
             a_time_limit_is_kept, memory_that_ran_out_is_told, a_signal_that_ended_it_is_told, a_pod_that_vanished_is_run_again,
             what_cannot_be_done_is_said, one_that_gives_way_gets_grace_and_runs_again,
             what_jobs_would_be_frozen_for_is_refused, images_are_for_pods, certificates_say_who_is_who,
             a_token_that_changes_is_read_again, the_api_server_comes_back, a_watch_that_expired_misses_nothing, an_answer_that_is_lost_is_no_second_pod,
             a_service_that_is_killed_takes_its_pods_up_again, one_that_ended_meanwhile_is_told,
             killed_at_any_moment_nothing_runs_twice_or_is_lost, a_node_that_is_silent_loses_its_jobs)
