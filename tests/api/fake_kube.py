"""A small Kubernetes API server for tests: lists in pages, watches with bookmarks and expiry, conflicts, the subresources binding, status and log, bearer
tokens, and faults on request. Any resource of the table below; what it does not do is refused, so that a client that asks for more is noticed.

    kube = FakeKube(token="secret")             # kube.url, kube.kubeconfig(path)
    kube.create("nodes", None, node("n0", cpu="8", memory="32Gi", gpus=8))
    kube.create("pods", "default", {...})
    kube.run_pod("default", "p"); kube.end_pod("default", "p", exit_code=1)       # the kubelet's part
    kube.expire()                               # watches end with 410: what was, must be listed anew
    kube.stop(); kube.start()                   # the API server dies and comes back, with what it knew
    kube.fault = lambda method, path, query: 500 | "cut" | None
"""
import base64
import copy
import datetime
import http.server
import json
import re
import socketserver
import threading
import urllib.parse
import uuid

# name: API group and version, kind, is it in a namespace, may it have a status of its own
RESOURCES = {
    "nodes": ("v1", "Node", False),
    "namespaces": ("v1", "Namespace", False),
    "pods": ("v1", "Pod", True),
    "events": ("v1", "Event", True),
    "configmaps": ("v1", "ConfigMap", True),
    "secrets": ("v1", "Secret", True),
    "services": ("v1", "Service", True),
    "persistentvolumeclaims": ("v1", "PersistentVolumeClaim", True),
    "jobs": ("batch/v1", "Job", True),
    "stratajobs": ("strata.io/v1alpha1", "StrataJob", True),
    "leases": ("coordination.k8s.io/v1", "Lease", True),
    "priorityclasses": ("scheduling.k8s.io/v1", "PriorityClass", False),
}
SUBRESOURCES = ("status", "binding", "log")
HISTORY = 20000


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Refused(Exception):
    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message

    def status(self):
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message, "reason": self.reason, "code": self.code}


def node(name, cpu="8", memory="32Gi", gpus=0, labels=None, pods="110", taints=None):
    room = {"cpu": cpu, "memory": memory, "pods": pods}
    if gpus:
        room["nvidia.com/gpu"] = str(gpus)
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}, "spec": {"taints": taints} if taints else {},
            "status": {"capacity": dict(room), "allocatable": dict(room), "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name, scheduler="strata", cpu="1", memory="1Gi", gpus=0, **more):
    """A pod of one container; `annotations`, `labels` go to its metadata, the rest to its spec."""
    room = {"cpu": cpu, "memory": memory}
    if gpus:
        room["nvidia.com/gpu"] = str(gpus)
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    meta = {key: more.pop(key) for key in ("annotations", "labels", "ownerReferences", "creationTimestamp", "namespace") if key in more}
    return {"metadata": {"name": name, **meta},
            "spec": {"schedulerName": scheduler, "containers": [{"name": "main", "image": "none", "resources": {"requests": room, **limits}}], **more}}


def merge(target, patch):
    """RFC 7386, and of lists of conditions one by one, as a strategic merge patch has it."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif key == "conditions" and isinstance(target.get(key), list):
            given = {one["type"]: one for one in value}
            target[key] = [merge(one, given.pop(one["type"], {})) for one in target[key]] + list(given.values())
        else:
            target[key] = merge(target.get(key), value)
    return target


def selected(thing, query):
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        field, unequal, value = re.fullmatch(r"([\w.]+)(!?)==?(.*)", term).groups()
        at = thing
        for part in field.split("."):
            at = at.get(part, {}) if isinstance(at, dict) else {}
        if ((at or "") == value) == bool(unequal):
            return False
    labels = thing["metadata"].get("labels", {})
    for term in filter(None, re.split(r",(?![^(]*\))", query.get("labelSelector", ""))):
        within = re.fullmatch(r"\s*([\w./-]+)\s+(in|notin)\s*\(([^)]*)\)\s*", term)
        equal = re.fullmatch(r"\s*([\w./-]+)\s*(==|=|!=)\s*([\w.-]*)\s*", term)
        if within:
            if (labels.get(within[1]) in [one.strip() for one in within[3].split(",")]) != (within[2] == "in"):
                return False
        elif equal:
            if (labels.get(equal[1], "") == equal[3]) == (equal[2] == "!="):
                return False
        elif term.startswith("!"):
            if term[1:] in labels:
                return False
        elif term not in labels:
            return False
    return True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def setup(self):
        super().setup()
        self.server.open_connections.add(self.connection)

    def finish(self):
        self.server.open_connections.discard(self.connection)
        try:
            super().finish()
        except OSError:
            pass

    def answer(self, code, thing, text=None):
        body = json.dumps(thing).encode() if text is None else text.encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json" if text is None else "text/plain")
        if code == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def handle_one(self):
        kube = self.server.kube
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        kube.asked.append((self.command, path, query))
        try:
            fault = kube.fault(self.command, path, query) if kube.fault else None
            if fault == "cut":
                self.close_connection = True
                return
            if fault:
                raise Refused(fault, {429: "TooManyRequests"}.get(fault, "InternalError"), "a fault on request")
            if kube.token and self.headers.get("Authorization") != f"Bearer {kube.token}":
                raise Refused(401, "Unauthorized", "Unauthorized")
            if path in ("/healthz", "/livez", "/readyz"):
                return self.answer(200, None, "ok")
            if path == "/version":
                return self.answer(200, {"major": "1", "minor": "20", "gitVersion": "v1.20.2"})
            name = self.find(path, query)
            if query.get("watch") in ("1", "true"):
                return self.watch(name, query)
            if name[3] == "log" and query.get("follow") == "true" and hasattr(kube, "follow_log"):
                return self.follow(name, query)
            given = json.loads(body) if body else None
            code, thing = kube.do(self.command, name, given, query, self.headers.get("Content-Type", ""))
            self.answer(code, None if isinstance(thing, str) else thing, thing if isinstance(thing, str) else None)
        except Refused as refused:
            self.answer(refused.code, refused.status())
        except json.JSONDecodeError as trouble:
            self.answer(400, Refused(400, "BadRequest", str(trouble)).status())
        except OSError:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

    def find(self, path, query):
        """(resource, namespace or None, name or None, subresource or None)"""
        parts = re.fullmatch(r"/(?:api/(v1)|apis/([\w.]+/\w+))(?:/namespaces/([\w.-]+))?/([a-z]+)(?:/([\w.:-]+))?(?:/([a-z]+))?", path)
        if parts and parts[4] == "namespaces":
            parts = None
        if not parts:
            parts = re.fullmatch(r"/(?:api/(v1)|apis/([\w.]+/\w+))()/(namespaces)(?:/([\w.-]+))?()", path)
        if not parts or RESOURCES.get(parts[4], ("",))[0] != (parts[1] or parts[2]) or (parts[6] or "status") not in SUBRESOURCES:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        return parts[4], parts[3] or None, parts[5] or None, parts[6] or None

    def follow(self, name, query):
        """What kubelets have of it (fake_kubelet.py), as it comes."""
        parts = self.server.kube.follow_log(name[1], name[2], query, lambda: self.server.kube.server is self.server)
        first = next(parts)  # a refusal comes before anything else
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.text_chunk(first)
        for text in parts:
            self.text_chunk(text)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def text_chunk(self, text):
        if text:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text.encode()), text.encode()))
        self.wfile.flush()

    def chunk(self, thing):
        line = json.dumps(thing).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()

    def watch(self, name, query):
        kube = self.server.kube
        resource, namespace, one, _ = name
        if one:
            query = dict(query, fieldSelector=f"metadata.name={one}")
        mine = self.server
        seen = int(query.get("resourceVersion") or 0)
        ends = datetime.datetime.now().timestamp() + float(query.get("timeoutSeconds") or 3600)
        if kube.expire_as_status and seen and seen < kube.oldest:
            raise Refused(410, "Expired", "too old resource version")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        generation = kube.generation
        if not seen:
            with kube.changed:
                seen, there = kube.version, [thing for key, thing in kube.things.items() if key[0] == resource and namespace in (None, key[1])]
            for thing in there:
                if selected(thing, query):
                    self.chunk({"type": "ADDED", "object": thing})
        while kube.server is mine:
            with kube.changed:
                gone = seen < kube.oldest or generation != kube.generation
                news = [] if gone else [entry for entry in kube.history[kube.first_after(seen):]]
                if not gone and not news:
                    kube.changed.wait(kube.bookmark_s)
                version = kube.version
            if gone:
                self.chunk({"type": "ERROR", "object": Refused(410, "Expired", f"too old resource version: {seen} ({kube.oldest})").status()})
                break
            for number, kind, key, thing, before in news:
                seen = number
                if key[0] != resource or namespace not in (None, key[1]):
                    continue
                fits, fitted = selected(thing, query), before is not None and selected(before, query)
                if fits and kind != "DELETED":
                    self.chunk({"type": "MODIFIED" if fitted else "ADDED", "object": thing})
                elif fitted or (fits and kind == "DELETED"):
                    self.chunk({"type": "DELETED", "object": thing})
            if not news and query.get("allowWatchBookmarks") in ("1", "true"):
                group, kind, _ = RESOURCES[resource]
                self.chunk({"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": group, "metadata": {"resourceVersion": str(version)}}})
            if datetime.datetime.now().timestamp() > ends:
                break
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = kube.server is not mine


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


class FakeKube:
    def __init__(self, token=None):
        self.token = token
        self.things = {}  # (resource, namespace, name): object
        self.history = []  # (version, kind, key, object, object before)
        self.version = 1
        self.oldest = 0  # watches from before it end with 410
        self.generation = 0
        self.changed = threading.Condition(threading.RLock())
        self.fault = None
        self.asked = []
        self.logs = {}
        self.bookmark_s = 0.5
        self.expire_as_status = False  # HTTP 410 instead of an event of type ERROR
        self.runs_jobs = False  # the job controller's part
        self.server = None
        self.port = 0
        self.start()

    # ---- its life ----

    def start(self):
        class Own(Server):
            allow_reuse_address = True
        server = Own(("127.0.0.1", self.port), Handler)
        server.kube, server.open_connections = self, set()
        self.port = server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = server
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        server, self.server = self.server, None
        server.shutdown()
        server.server_close()
        for connection in list(server.open_connections):
            try:
                connection.shutdown(2)
            except OSError:
                pass
        with self.changed:
            self.changed.notify_all()

    def expire(self):
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self.generation += 1
            self.history.clear()
            self.changed.notify_all()

    def kubeconfig(self, path, token=None, namespace="default"):
        text = {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                "clusters": [{"name": "test", "cluster": {"server": self.url}}],
                "users": [{"name": "test", "user": {"token": token or self.token} if token or self.token else {}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}]}
        with open(path, "w") as file:
            json.dump(text, file)  # JSON is YAML
        return path

    # ---- what it knows ----

    def first_after(self, version):
        low, high = 0, len(self.history)
        while low < high:
            middle = (low + high) // 2
            if self.history[middle][0] <= version:
                low = middle + 1
            else:
                high = middle
        return low

    def note(self, kind, key, thing, before):
        self.version += 1
        thing["metadata"]["resourceVersion"] = str(self.version)
        if kind == "DELETED":
            del self.things[key]
        else:
            self.things[key] = thing
        self.history.append((self.version, kind, key, thing, before))
        if len(self.history) > HISTORY:
            self.oldest = self.history[HISTORY // 2][0]
            del self.history[:HISTORY // 2]
        self.changed.notify_all()
        if self.runs_jobs:
            self.run_job(kind, key, thing)
        return thing

    def need(self, key):
        thing = self.things.get(key)
        if thing is None:
            raise Refused(404, "NotFound", f'{key[0]} "{key[2]}" not found')
        return thing

    def do(self, method, name, given, query, content):
        resource, namespace, one, sub = name
        with self.changed:
            if RESOURCES[resource][2] and not namespace and (method != "GET" or one):
                raise Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            key = (resource, namespace, one)
            if method == "GET" and not one:
                return 200, self.list(resource, namespace, query)
            if method == "GET" and sub == "log":
                self.need(key)
                return 200, self.logs.get((namespace, one), "")
            if method == "GET":
                return 200, self.need(key)
            if method == "POST" and sub == "binding":
                return 201, self.bind(namespace, one, given)
            if method == "POST" and not one:
                return 201, self.create(resource, namespace, given)
            if method == "PUT" and one:
                return 200, self.replace(key, given, sub)
            if method == "PATCH" and one:
                kind = content.split(";")[0]
                if kind not in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
                    raise Refused(415, "UnsupportedMediaType", f"patches of type {kind} are not supported")
                before = self.need(key)
                return 200, self.replace(key, merge(before, given if sub != "status" else {k: v for k, v in given.items() if k in ("status", "metadata")}), None)
            if method == "DELETE" and one:
                return 200, self.delete(resource, namespace, one, given or {}, query)
        raise Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def list(self, resource, namespace, query):
        version, start = self.version, ("", "")
        if query.get("continue"):
            version, *start = json.loads(base64.urlsafe_b64decode(query["continue"]))
            start = tuple(start)
            if version < self.oldest:
                raise Refused(410, "Expired", "The provided continue parameter is too old")
        keys = sorted((key[1] or "", key[2]) for key in self.things if key[0] == resource and namespace in (None, key[1]))
        keys = [key for key in keys if key > start and selected(self.things[resource, key[0] or None, key[1]], query)]
        most = int(query.get("limit") or 0) or len(keys)
        meta = {"resourceVersion": str(version)}
        if len(keys) > most:
            meta["continue"] = base64.urlsafe_b64encode(json.dumps([version, *keys[most - 1]]).encode()).decode()
            meta["remainingItemCount"] = len(keys) - most
        group, kind, _ = RESOURCES[resource]
        return {"kind": kind + "List", "apiVersion": group, "metadata": meta, "items": [self.things[resource, key[0] or None, key[1]] for key in keys[:most]]}

    def create(self, resource, namespace, given):
        with self.changed:
            group, kind, namespaced = RESOURCES[resource]
            thing = copy.deepcopy(given)
            meta = thing.setdefault("metadata", {})
            if not meta.get("name") and meta.get("generateName"):
                meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
            if not re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", meta.get("name", "")):
                raise Refused(422, "Invalid", f'{kind} "{meta.get("name", "")}" is invalid: metadata.name')
            namespace = (namespace or meta.get("namespace") or "default") if namespaced else None
            key = (resource, namespace, meta["name"])
            if key in self.things:
                raise Refused(409, "AlreadyExists", f'{resource} "{meta["name"]}" already exists')
            thing.update(apiVersion=group, kind=kind)
            meta.update(uid=str(uuid.uuid4()), creationTimestamp=meta.get("creationTimestamp") or now())
            if namespace:
                meta["namespace"] = namespace
            if resource == "pods":
                self.admit_pod(thing)
            return self.note("ADDED", key, thing, None)

    def admit_pod(self, thing):
        spec = thing["spec"]
        spec.setdefault("schedulerName", "default-scheduler")
        spec.setdefault("serviceAccountName", "default")
        spec.setdefault("terminationGracePeriodSeconds", 30)
        spec.setdefault("restartPolicy", "Always")
        for container in spec["containers"]:
            room = container.get("resources", {})
            for name, amount in room.get("requests", {}).items():
                if "/" in name and room.get("limits", {}).get(name) != amount:
                    raise Refused(422, "Invalid", "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources")
        named = self.things.get(("priorityclasses", None, spec.get("priorityClassName")))
        if spec.get("priorityClassName") and not named:
            raise Refused(403, "Forbidden", f'no PriorityClass with name {spec["priorityClassName"]} was found')
        spec["priority"] = named["value"] if named else 0
        thing["status"] = {"phase": "Pending", "qosClass": "Burstable"}

    def replace(self, key, given, sub):
        with self.changed:
            before = self.need(key)
            said = given.get("metadata", {}).get("resourceVersion")
            if said and said != before["metadata"]["resourceVersion"]:
                raise Refused(409, "Conflict", f'Operation cannot be fulfilled on {key[0]} "{key[2]}": the object has been modified')
            if given.get("metadata", {}).get("uid", before["metadata"]["uid"]) != before["metadata"]["uid"]:
                raise Refused(409, "Conflict", "Precondition failed: UID in precondition")
            thing = copy.deepcopy(before) if sub == "status" else copy.deepcopy(given)
            if sub == "status":
                thing["status"] = copy.deepcopy(given.get("status", {}))
            thing["metadata"] = {**thing["metadata"], **{name: before["metadata"][name] for name in ("name", "uid", "creationTimestamp")}}
            if thing["metadata"].get("deletionTimestamp") and before["metadata"].get("finalizers") and not thing["metadata"].get("finalizers"):
                return self.note("DELETED", key, thing, before)
            return self.note("MODIFIED", key, thing, before)

    def bind(self, namespace, name, given):
        with self.changed:
            return self.bind_locked(namespace, name, given)

    def bind_locked(self, namespace, name, given):
        key = ("pods", namespace, name)
        before = self.need(key)
        target = given.get("target", {}).get("name")
        if not target:
            raise Refused(422, "Invalid", "target.name: Required value")
        if before["metadata"].get("deletionTimestamp"):
            raise Refused(409, "Conflict", f'Operation cannot be fulfilled on pods/binding "{name}": pod {name} is being deleted, cannot be assigned to a host')
        if before["spec"].get("nodeName"):
            raise Refused(409, "Conflict", f'Operation cannot be fulfilled on pods/binding "{name}": pod {name} is already assigned to node "{before["spec"]["nodeName"]}"')
        uid = given.get("metadata", {}).get("uid")
        if uid and uid != before["metadata"]["uid"]:
            raise Refused(409, "Conflict", "Precondition failed: UID in precondition")
        thing = copy.deepcopy(before)
        thing["spec"]["nodeName"] = target
        thing["metadata"].setdefault("annotations", {}).update(given.get("metadata", {}).get("annotations") or {})
        self.condition(thing, "PodScheduled", "True")
        self.note("MODIFIED", key, thing, before)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

    @staticmethod
    def condition(thing, kind, status, **more):
        rows = [one for one in thing.setdefault("status", {}).get("conditions", []) if one["type"] != kind]
        thing["status"]["conditions"] = rows + [{"type": kind, "status": status, "lastTransitionTime": now(), **more}]

    def delete(self, resource, namespace, name, given=None, query=None):
        with self.changed:
            key, given = (resource, namespace, name), given or {}
            before = self.need(key)
            uid = (given.get("preconditions") or {}).get("uid")
            if uid and uid != before["metadata"]["uid"]:
                raise Refused(409, "Conflict", "Precondition failed: UID in precondition")
            grace = given.get("gracePeriodSeconds", (query or {}).get("gracePeriodSeconds"))
            bound = resource == "pods" and before["spec"].get("nodeName") and before["status"].get("phase") not in ("Succeeded", "Failed")
            if grace is None and bound:
                grace = before["spec"].get("terminationGracePeriodSeconds", 30)
            if before["metadata"].get("finalizers"):  # it waits until they are taken away
                if before["metadata"].get("deletionTimestamp"):
                    return before
                thing = copy.deepcopy(before)
                thing["metadata"].update(deletionTimestamp=now())
                return self.note("MODIFIED", key, thing, before)
            if bound and int(grace):
                if before["metadata"].get("deletionTimestamp"):
                    return before
                thing = copy.deepcopy(before)
                thing["metadata"].update(deletionTimestamp=now(), deletionGracePeriodSeconds=int(grace))
                return self.note("MODIFIED", key, thing, before)
            thing = copy.deepcopy(before)
            thing["metadata"]["deletionTimestamp"] = now()
            self.note("DELETED", key, thing, before)
            if resource == "jobs":  # what is in it goes with it
                owned = [one for one, thing in self.things.items() if one[0] == "pods" and one[1] == namespace
                         and any(owner.get("uid") == before["metadata"]["uid"] for owner in thing["metadata"].get("ownerReferences", []))]
                for one in owned:
                    self.delete("pods", namespace, one[2], {})
            return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": name, "uid": before["metadata"]["uid"]}}

    # ---- for tests: asking, and the parts of others ----

    def get(self, resource, namespace, name):
        with self.changed:
            return copy.deepcopy(self.things.get((resource, namespace, name)))

    def all(self, resource, namespace=None):
        with self.changed:
            return [copy.deepcopy(thing) for key, thing in sorted(self.things.items(), key=str) if key[0] == resource and namespace in (None, key[1])]

    def change(self, resource, namespace, name, patch):
        with self.changed:
            return self.replace((resource, namespace, name), merge(self.need((resource, namespace, name)), patch), None)

    def run_pod(self, namespace, name):
        """The kubelet starts it."""
        thing = self.get("pods", namespace, name)
        assert thing["spec"].get("nodeName"), f"{name} is not bound"
        containers = [{"name": one["name"], "ready": True, "restartCount": 0, "state": {"running": {"startedAt": now()}}} for one in thing["spec"]["containers"]]
        return self.change("pods", namespace, name, {"status": {"phase": "Running", "startTime": now(), "containerStatuses": containers,
                                                                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now()}]}})

    def end_pod(self, namespace, name, exit_code=0, reason=None, signal=None):
        thing = self.get("pods", namespace, name)
        ended = {"exitCode": exit_code, "reason": reason or ("Completed" if exit_code == 0 else "Error"), "finishedAt": now(),
                 "startedAt": thing["status"].get("startTime") or now(), **({"signal": signal} if signal else {})}
        containers = [{"name": one["name"], "ready": False, "restartCount": 0, "state": {"terminated": ended}} for one in thing["spec"]["containers"]]
        return self.change("pods", namespace, name, {"status": {"phase": "Failed" if exit_code else "Succeeded", "containerStatuses": containers}})

    def finish_deletion(self, namespace, name):
        """The kubelet has ended a pod that is being deleted."""
        return self.delete("pods", namespace, name, {"gracePeriodSeconds": 0})

    def lose_node(self, name, ready="Unknown"):
        """Its kubelet is silent: the node controller says so, and its pods go."""
        self.change("nodes", None, name, {"status": {"conditions": [{"type": "Ready", "status": ready, "reason": "NodeStatusUnknown"}]}})

    def run_job(self, kind, key, thing):
        """The job controller, for jobs of one pod: makes the pod, and says in the job how it ended."""
        if key[0] == "jobs" and kind == "ADDED":
            template = copy.deepcopy(thing["spec"]["template"])
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": key[2], "uid": thing["metadata"]["uid"], "controller": True}
            labels = {**template.get("metadata", {}).get("labels", {}), "job-name": key[2], "controller-uid": thing["metadata"]["uid"]}
            self.create("pods", key[1], {"metadata": {**template.get("metadata", {}), "generateName": key[2] + "-", "labels": labels,
                                                      "ownerReferences": [owner]}, "spec": template["spec"]})
        owner = next((one["name"] for one in thing["metadata"].get("ownerReferences", []) if one["kind"] == "Job"), None)
        if key[0] == "pods" and owner and ("jobs", key[1], owner) in self.things:
            phase = thing["status"].get("phase")
            status = {"active": 1 if phase in ("Pending", "Running") and kind != "DELETED" else 0}
            if phase == "Succeeded":
                status.update(succeeded=1, completionTime=now(), conditions=[{"type": "Complete", "status": "True"}])
            elif phase == "Failed" or kind == "DELETED":
                status.update(failed=1, conditions=[{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}])
            self.change("jobs", key[1], owner, {"status": status})
