"""fake_kube with kubelets that really run what is bound to their nodes: a pod's container is a process group here, its Secret a directory in the place
of the mount. Images are names: one that begins with "missing" cannot be fetched. What a container writes is in the API with times before each line."""

import base64
import datetime
import errno
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from fake_kube import FakeKube, Refused, node, now

MOUNT = "/var/run/strata"
__all__ = ["KubeWithKubelets", "node"]


class Container:
    def __init__(self, kube, pod):
        self.kube, self.space, self.name = kube, pod["metadata"]["namespace"], pod["metadata"]["name"]
        self.uid = pod["metadata"]["uid"]
        self.dir = tempfile.mkdtemp(prefix="strata-pod-")
        os.chmod(self.dir, 0o755)
        self.process, self.told_ns = None, 0
        spec = pod["spec"]["containers"][0]
        for volume in pod["spec"].get("volumes", []):
            if "secret" in volume:
                self.write(kube.get("secrets", self.space, volume["secret"]["secretName"])["data"])
        security = pod["spec"].get("securityContext", {})
        user = {"user": security["runAsUser"], "group": security["runAsGroup"], "extra_groups": []} if os.geteuid() == 0 and "runAsUser" in security else {}
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **{one["name"]: one.get("value", "") for one in spec.get("env", [])}}
        self.process = subprocess.Popen([word.replace(MOUNT, self.dir) for word in spec["command"]], env=environment, cwd="/", start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **user)
        kube.started.append((self.name, self.uid))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def write(self, data):
        for name, text in data.items():
            path = os.path.join(self.dir, name)
            with open(path, "wb") as file:
                file.write(base64.b64decode(text).replace(MOUNT.encode(), self.dir.encode()))
            os.chmod(path, 0o555)

    def read(self):
        for line in self.process.stdout:
            stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            with self.kube.changed:
                key = (self.space, self.name)
                self.kube.logs[key] = self.kube.logs.get(key, "") + stamp + " " + line.decode(errors="replace")

    def tell(self, number):
        try:
            os.killpg(self.process.pid, number)
        except OSError:
            pass

    def end(self):
        """Its exit code as runtimes write it; None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        self.tell(signal.SIGKILL)
        self.reader.join()
        shutil.rmtree(self.dir, ignore_errors=True)
        return 128 - code if code < 0 else code


class KubeWithKubelets(FakeKube):
    def __init__(self, token=None):
        self.containers, self.started, self.silent, self.ends = {}, [], set(), False
        super().__init__(token)
        self.kubelets = threading.Thread(target=self.run_kubelets, daemon=True)
        self.kubelets.start()

    def start(self):
        """Where it was before; a connection of somebody else's may have that port for a moment."""
        for _ in range(500):
            try:
                return super().start()
            except OSError as trouble:
                if trouble.errno != errno.EADDRINUSE or not self.port:
                    raise
                time.sleep(0.02)
        raise AssertionError(f"port {self.port} stays in use")

    def follow_log(self, space, name, query, goes_on):
        """Parts of what a pod wrote: all from sinceTime on (whole seconds, as in the API), then what comes until it has ended."""
        pod = self.get("pods", space, name)
        if not pod:
            raise Refused(404, "NotFound", f'pods "{name}" not found')
        container = self.containers.get(pod["metadata"]["uid"])
        if not container:
            raise Refused(400, "BadRequest", f'container "job" in pod "{name}" is waiting to start: ContainerCreating')
        yield ""
        at = 0
        while goes_on():
            over = not container.reader.is_alive()
            with self.changed:
                text = self.logs.get((space, name), "")
            for line in text[at:].splitlines(keepends=True):
                if line.split(".")[0] >= query.get("sinceTime", "").rstrip("Z"):
                    yield line
            at = len(text)
            if over:
                break
            time.sleep(0.02)

    def run_kubelets(self):
        while not self.ends:
            for pod in self.all("pods"):
                if pod["spec"].get("nodeName") and pod["spec"]["nodeName"] not in self.silent and pod["metadata"].get("labels", {}).get("strata.io/cluster"):
                    try:
                        self.look_at(pod)
                    except Refused:
                        pass  # it has gone meanwhile
            there = {pod["metadata"]["uid"] for pod in self.all("pods")}
            for uid in [one for one in self.containers if one not in there]:  # deleted without grace
                self.containers.pop(uid).tell(signal.SIGKILL)
            time.sleep(0.02)
        for container in self.containers.values():
            container.tell(signal.SIGKILL)

    def look_at(self, pod):
        space, name, uid = pod["metadata"]["namespace"], pod["metadata"]["name"], pod["metadata"]["uid"]
        phase = pod["status"]["phase"]
        image = pod["spec"]["containers"][0]["image"]
        if phase == "Pending" and uid not in self.containers and not pod["metadata"].get("deletionTimestamp"):
            if image.startswith("missing"):
                waiting = {"waiting": {"reason": "InvalidImageName", "message": f"there is no image {image}"}}
                if not pod["status"].get("containerStatuses"):
                    self.change("pods", space, name, {"status": {"containerStatuses": [{"name": "job", "state": waiting}]}})
                return
            self.containers[uid] = Container(self, pod)
            self.run_pod(space, name)
        elif pod["metadata"].get("deletionTimestamp") and uid not in self.containers:
            self.finish_deletion(space, name)
        elif uid in self.containers:
            self.look_at_container(pod, self.containers[uid])

    def look_at_container(self, pod, container):
        space, name, uid = container.space, container.name, container.uid
        if pod["metadata"].get("deletionTimestamp"):
            if not container.told_ns:
                container.told_ns = time.monotonic_ns()
                if container.process.poll() is None:
                    container.process.send_signal(signal.SIGTERM)  # its first process only
            elif time.monotonic_ns() - container.told_ns > pod["metadata"].get("deletionGracePeriodSeconds", 30) * 1e9:
                container.tell(signal.SIGKILL)
        code = container.end()
        if code is None:
            return
        if pod["status"]["phase"] == "Running":
            oom = code == 137 and "memory-hog" in pod["spec"]["containers"][0]["image"]
            self.end_pod(space, name, exit_code=code, reason="OOMKilled" if oom else None)
        if pod["metadata"].get("deletionTimestamp"):
            del self.containers[uid]
            self.finish_deletion(space, name)

    def close(self):
        self.ends = True
        self.kubelets.join()
        if self.server:
            self.stop()
