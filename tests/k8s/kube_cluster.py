"""A real Kubernetes control plane of one's own: etcd, kube-apiserver, kube-scheduler, kube-controller-manager (tools/kubernetes-build makes
them); and the kubelet's part, played from here. Everything is in a temporary directory and on loopback."""
import concurrent.futures
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

BUILD = os.environ.get("STRATA_BUILD", "build")
PROGRAMS = os.path.abspath(os.environ.get("STRATA_KUBERNETES", os.path.join(BUILD, "kubernetes", "bin")))
ADMIN = "admin-token"
# Tokens of who has the rights of packaging/kubernetes, once they are granted.
SCHEDULER, SERVICE = "scheduler-token", "service-token"
ACCOUNTS = {SCHEDULER: "system:serviceaccount:strata:strata-scheduler", SERVICE: "system:serviceaccount:strata:strata"}
# ServiceAccount wants tokens of accounts that no controller made; TaintNodesByCondition taints nodes that have no kubelet.
CONTROLLERS = "job,garbagecollector,namespace,nodelifecycle,podgc,replicaset,deployment"


def missing():
    """What is not there; None: all is."""
    for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager"):
        if not os.access(os.path.join(PROGRAMS, name), os.X_OK):
            return f"{PROGRAMS}/{name}: `make test-k8s` builds it"
    if not shutil.which("etcd"):
        return "etcd: tools/deps deps/debian-kubernetes.txt"
    return None if shutil.which("kubectl") else "kubectl, for the rights of packaging/kubernetes: Debian's kubernetes-client, or another"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Refused(Exception):
    def __init__(self, status, answer):
        super().__init__(f"{status}: {answer.get('message') if isinstance(answer, dict) else answer}")
        self.status, self.answer = status, answer


class KubeCluster:
    def __init__(self, scheduler=True, controllers=True):
        self.dir = tempfile.mkdtemp(prefix="strata-k8s-")
        self.processes = {}
        self.local = threading.local()
        self.etcd_port, self.etcd_peer, self.port = free_port(), free_port(), free_port()
        try:
            self.begin(scheduler, controllers)
        except BaseException:
            self.close()
            raise

    def begin(self, scheduler, controllers):
        self.make_keys()
        self.start_etcd()
        self.start_apiserver()
        if controllers:
            self.start("kube-controller-manager", f"--controllers={CONTROLLERS}", "--kubeconfig=" + self.kubeconfig(ADMIN), "--leader-elect=false",
                       "--port=0", f"--secure-port={free_port()}", f"--cert-dir={self.dir}", "--node-monitor-grace-period=1h", "--pod-eviction-timeout=1s",
                       "--kube-api-qps=500", "--kube-api-burst=1000", "--concurrent-gc-syncs=5")
        if scheduler:
            self.start("kube-scheduler", "--kubeconfig=" + self.kubeconfig(ADMIN), "--leader-elect=false", "--port=0", f"--secure-port={free_port()}",
                       f"--cert-dir={self.dir}", "--kube-api-qps=500", "--kube-api-burst=1000")

    def path(self, name):
        return os.path.join(self.dir, name)

    def make_keys(self):
        with open(self.path("san"), "w") as file:
            file.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        with open(self.path("tokens"), "w") as file:
            file.write(f'{ADMIN},admin,0,"system:masters"\n')
            for number, (token, user) in enumerate(ACCOUNTS.items(), 1):
                file.write(f'{token},{user},{number},"system:serviceaccounts,system:serviceaccounts:strata"\n')
        for line in ("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=ca",
                     "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost",
                     "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile san",
                     "genrsa -out account.key 2048"):
            subprocess.run(["openssl", *line.split()], cwd=self.dir, check=True, capture_output=True)

    def start(self, name, *args):
        program = shutil.which(name) if name == "etcd" else os.path.join(PROGRAMS, name)
        with open(self.path(name + ".log"), "a") as log:
            self.processes[name] = subprocess.Popen([program, *args], stdout=log, stderr=log, cwd=self.dir)

    def start_etcd(self):
        peer = f"http://127.0.0.1:{self.etcd_peer}"
        self.start("etcd", "--data-dir", self.path("etcd"), "--listen-client-urls", f"http://127.0.0.1:{self.etcd_port}", "--advertise-client-urls",
                   f"http://127.0.0.1:{self.etcd_port}", "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
                   f"default={peer}", "--unsafe-no-fsync")

    def start_apiserver(self):
        self.start("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}", "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                   "--tls-cert-file=server.crt", "--tls-private-key-file=server.key", "--token-auth-file=tokens", "--authorization-mode=RBAC",
                   "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--service-account-issuer=https://localhost",
                   "--service-account-signing-key-file=account.key", "--service-account-key-file=account.key", "--service-cluster-ip-range=10.0.0.0/24",
                   f"--cert-dir={self.dir}", "--enable-aggregator-routing=false", "--max-requests-inflight=1000", "--max-mutating-requests-inflight=500",
                   "--watch-cache-sizes=pods#1000")
        self.wait(lambda: self.ask("GET", "/readyz")[0] == 200, 120, "the API server is not ready")

    def kill(self, name, how=signal.SIGKILL):
        process = self.processes.pop(name)
        process.send_signal(how)
        process.wait()

    def close(self):
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def kubeconfig(self, token, namespace="strata"):
        path = self.path(f"kubeconfig-{token}")
        with open(path, "w") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "test",
                       "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": self.path("ca.crt")}}],
                       "users": [{"name": "test", "user": {"token": token}}],
                       "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}]}, file)
        return path

    def said(self, name):
        with open(self.path(name + ".log")) as log:
            return log.read()

    def wait(self, check, seconds=60, what="it did not happen"):
        deadline = time.monotonic() + seconds
        while True:
            try:
                found = check()
                if found:
                    return found
            except (OSError, http.client.HTTPException):
                pass
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise AssertionError(f"{name} ended: {self.said(name)[-2000:]}")
            if time.monotonic() > deadline:
                raise AssertionError(what)
            time.sleep(0.05)

    # ---- asking ----

    def ask(self, method, path, body=None, content="application/json", token=ADMIN):
        for attempt in (0, 1):
            connection = getattr(self.local, "connection", None)
            if connection is None:
                connection = self.local.connection = http.client.HTTPSConnection(
                    "127.0.0.1", self.port, timeout=30, context=ssl.create_default_context(cafile=self.path("ca.crt")))
            try:
                connection.request(method, path, json.dumps(body) if body is not None else None,
                                   {"Authorization": "Bearer " + token, "Content-Type": content})
                answer = connection.getresponse()
                text = answer.read()
                return answer.status, json.loads(text) if text[:1] == b"{" else text.decode()
            except (OSError, http.client.HTTPException):
                connection.close()
                self.local.connection = None
                if attempt:
                    raise

    def do(self, method, path, body=None, content="application/json"):
        status, answer = self.ask(method, path, body, content)
        if status >= 300:
            raise Refused(status, answer)
        return answer

    def create(self, path, thing):
        return self.do("POST", path, thing)

    def add_node(self, thing):
        """A node without a kubelet: its status is written from here."""
        made = self.do("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **{key: value for key, value in thing.items() if key != "status"}})
        made["status"].update(thing["status"])
        made["spec"] = thing.get("spec", {})
        return self.do("PUT", f"/api/v1/nodes/{made['metadata']['name']}/status", made)

    def set_ready(self, name, status):
        self.do("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Test"}]}},
                "application/strategic-merge-patch+json")

    def grant(self, which, namespace):
        """The rights of a set of packaging/kubernetes, what is of a namespace in that one."""
        rules = os.path.join(os.environ.get("STRATA_SOURCE", "."), "packaging", "kubernetes", which, "rbac.yaml")
        done = subprocess.run(["kubectl", "--kubeconfig", self.kubeconfig(ADMIN), "-n", namespace, "apply", "--validate=false", "-f", rules],
                              capture_output=True, text=True, env={**os.environ, "HOME": self.dir})
        assert done.returncode == 0, done.stderr

    def add_namespace(self, name):
        self.do("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def add_pods(self, namespace, pods):
        """Several at a time, as controllers do it."""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda one: self.create(f"/api/v1/namespaces/{namespace}/pods", {"apiVersion": "v1", "kind": "Pod", **one}), pods))

    def pods(self, namespace):
        return self.do("GET", f"/api/v1/namespaces/{namespace}/pods?resourceVersion=0")["items"]

    def pod(self, namespace, name):
        return self.do("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")

    def set_phase(self, namespace, name, phase):
        """The kubelet says how it is."""
        self.do("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}/status", {"status": {"phase": phase}}, "application/merge-patch+json")

    def finish_deletion(self, namespace, name):
        self.do("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}?gracePeriodSeconds=0")

    def remove_pods(self, namespace):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda one: self.finish_deletion(namespace, one["metadata"]["name"]), self.pods(namespace)))
        self.wait(lambda: not self.do("GET", f"/api/v1/namespaces/{namespace}/pods")["items"])
