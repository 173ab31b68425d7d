"""A real Chromium for tests, by chromedriver's W3C protocol and nothing but the standard library."""

import base64
import contextlib
import ctypes
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PATIENCE_S = 90
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Control": "\ue009", "Tab": "\ue004", "Shift": "\ue008", "ArrowDown": "\ue015", "ArrowRight": "\ue014",
        "ArrowLeft": "\ue012", "Backspace": "\ue003"}


PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


class WebError(AssertionError):
    """The driver refused, or what was waited for did not come."""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Browser:
    def __init__(self, width=1440, height=1000, dark=False, traced=False):
        self.dir = tempfile.mkdtemp(prefix="strata-web-")
        self.port = free_port()
        self.log = open(os.path.join(self.dir, "driver.log"), "w")
        self.driver = subprocess.Popen([DRIVER, f"--port={self.port}"], stdout=self.log, stderr=self.log, start_new_session=True,
                                       preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))  # a test that is killed leaves no browser behind
        options = {"binary": CHROMIUM, "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                                                "--disable-background-networking", f"--window-size={width},{height}", f"--user-data-dir={self.dir}/profile"]
                   + (["--force-dark-mode"] if dark else [])}
        if traced:  # what its threads do, with the CPU time of each task
            options["perfLoggingPrefs"] = {"enableNetwork": False, "enablePage": False, "traceCategories": "toplevel,devtools.timeline"}
        logs = {"browser": "ALL", **({"performance": "ALL"} if traced else {})}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs}}}
        deadline = time.time() + PATIENCE_S
        while True:
            try:
                self.session = None
                self.session = self.call("POST", "/session", wanted)["sessionId"]
                break
            except (OSError, http.client.HTTPException):
                if time.time() > deadline or self.driver.poll() is not None:
                    raise
                time.sleep(0.05)
        self.resize(width, height)

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S + 30)
        try:
            connection.request(method, (f"/session/{self.session}" if self.session else "") + path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise WebError(f"{method} {path}: {value['error']}: {value['message'][:300]}")
        return value

    def close(self):
        with contextlib.suppress(OSError, WebError, http.client.HTTPException):
            self.call("DELETE", "")
        self.driver.terminate()
        self.driver.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def cdp(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height, mobile=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    def js(self, script, *args):
        """What the script returns; a promise is waited for."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(args)})

    def hash(self, text):
        self.js("location.hash = arguments[0]", text)

    def wait(self, script, *args, what=None, patience=PATIENCE_S):
        """Until the expression is true; what it is then."""
        deadline = time.time() + patience
        while True:
            found = self.js("return " + script, *args)
            if found:
                return found
            if time.time() > deadline:
                raise WebError(f"{what or script} {args or ''} did not come to be; the page says: {self.text()[:1500]!r}; {self.complaints()}")
            time.sleep(0.05)

    def text(self, where="body"):
        return self.js("return document.querySelector(arguments[0])?.innerText ?? ''", where)

    def says(self, text, where="main", patience=PATIENCE_S):
        """Until the text is there, whatever its blanks."""
        return self.wait("document.querySelector(arguments[0])?.innerText.replace(/\\s+/g, ' ').includes(arguments[1])", where, text, what=f"{text!r} in {where}",
                         patience=patience)

    def says_not(self, text, where="main"):
        return self.wait("!(document.querySelector(arguments[0])?.innerText ?? '').replace(/\\s+/g, ' ').includes(arguments[1])", where, text,
                         what=f"no {text!r} in {where}")

    def find(self, css):
        self.wait("document.querySelector(arguments[0])", css, what=f"an element {css}")
        return self.call("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        """As a person does: what is covered or not in view cannot be clicked. What was drawn anew meanwhile is looked for again."""
        deadline = time.time() + PATIENCE_S
        while True:
            try:
                return self.call("POST", f"/element/{self.find(css)}/click", {})
            except WebError as trouble:
                if "stale" not in str(trouble) and "intercepted" not in str(trouble) and "not interactable" not in str(trouble) or time.time() > deadline:
                    raise
                time.sleep(0.1)

    def press_button(self, text, where="body"):
        """The button or link with this text."""
        mark = self.wait("(() => { const all = [...document.querySelectorAll(arguments[0] + ' button, ' + arguments[0] + ' a')]; const one = all.find(x => x.innerText.replace(/\\s+/g, ' ')"
                         ".trim().startsWith(arguments[1]) && x.offsetParent); if (one) one.dataset.pressed = 'now'; return Boolean(one); })()", where, text, what=f"a button {text!r}")
        assert mark
        self.click("[data-pressed=now]")
        self.js("document.querySelectorAll('[data-pressed]').forEach(x => delete x.dataset.pressed)")

    def type(self, css, text):
        element = self.find(css)
        self.call("POST", f"/element/{element}/clear", {})
        self.call("POST", f"/element/{element}/value", {"text": text})

    def keys(self, *words):
        """Keys for whatever has the focus: "g", "Enter", "Control+k"."""
        actions = []
        for word in words:
            parts = [KEYS.get(part, part) for part in (word.split("+") if len(word) > 1 else [word])]
            actions += [{"type": "keyDown", "value": part} for part in parts] + [{"type": "keyUp", "value": part} for part in reversed(parts)]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def shot(self, path, whole=True):
        if whole:
            data = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={
                "x": 0, "y": 0, "scale": 1, **self.js("return { width: innerWidth, height: Math.min(4000, document.documentElement.scrollHeight) }")})["data"]
        else:
            data = self.call("GET", "/screenshot")
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def tasks(self, since):
        """Tasks of the page's main thread from a time.monotonic() on, longest first: (CPU ms, ms, what took longest in it). To be asked once."""
        events = [json.loads(entry["message"])["message"] for entry in self.call("POST", "/se/log", {"type": "performance"})]
        events = [event["params"] for event in events if event["method"] == "Tracing.dataCollected" and event["params"].get("ts", 0) >= 1e6 * since]
        mains = {(event["pid"], event["tid"]) for event in events if event.get("name") == "FunctionCall"}
        tasks = [event for event in events if event.get("name", "").endswith("RunTask") and event.get("ph") == "X" and (event["pid"], event["tid"]) in mains]
        found = []
        for task in sorted(tasks, key=lambda event: -event.get("tdur", 0))[:40]:
            inner = [event for event in events if event.get("ph") == "X" and event["tid"] == task["tid"] and event is not task and task["ts"] <= event["ts"] < task["ts"] + task["dur"]]
            worst = max(inner, key=lambda event: event.get("tdur", 0), default=task)
            found.append((task.get("tdur", 0) / 1000, task["dur"] / 1000, f"{worst['name']} {str(worst.get('args', {}))[:160]}"))
        return found

    def complaints(self):
        """What the console says that nobody asked for."""
        usual = re.compile(r"net::ERR_|the server responded with a status of|favicon")
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING") and not usual.search(entry["message"])]
