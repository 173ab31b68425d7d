"""What tests of the page are given: a service, a browser that is signed in, and a few words to say what a person does."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from browser import CHROMIUM, DRIVER, Browser, free_port  # noqa: E402
from service import NOBODY, STRATA, Service, Skip, arguments, equal, run_with  # noqa: E402, F401

BUILD = os.environ.get("STRATA_BUILD", "build")
AXE = os.path.join(os.environ.get("STRATA_SOURCE", "."), "build", "npm", "node_modules", "axe-core", "axe.min.js")
SHOTS = os.path.join(BUILD, "web-shots")
PATH = {"PATH": "/usr/bin:/bin"}
browser = None  # one for all tests of a program: it takes a second to start


class World:
    def __init__(self, test):
        global browser
        self.port = free_port()
        self.service = Service("--listen", f"127.0.0.1:{self.port}", *getattr(test, "arguments", []), **getattr(test, "settings", {}))
        if not browser:
            browser = Browser()
        self.browser = browser
        self.browser.resize(1440, 1000)
        self.url = f"http://127.0.0.1:{self.port}"

    def said(self):
        return self.service.said()

    def token(self, role="admin", **more):
        return self.service.api("POST", "/tokens", {"role": role, **more}, 201)["token"]

    def sign_in(self, role="admin", page="#/now", **more):
        """With the form, as a person does."""
        self.browser.go(f"{self.url}/openapi.json")  # of this origin, and not the page
        self.browser.js("localStorage.clear()")
        self.browser.go(f"{self.url}/{page}")
        self.browser.type("#token", self.token(role, **more))
        self.browser.press_button("Sign in", "main")
        self.browser.wait("document.querySelector('#nav')", what="the page behind the door")
        return self.browser

    def submit(self, *command, **fields):
        return self.service.submit(*command, **fields)["id"]

    def close(self):
        try:
            if self.service.process.poll() is None and sys.exc_info()[0] is None:
                self.service.end()
        finally:
            self.service.close()


def settings(**words):
    def decorate(test):
        test.settings = words
        return test
    return decorate


def run(*tests):
    """Runs them, or says why not; TAP."""
    missing = [name for name, path in (("chromium", CHROMIUM), ("chromedriver", DRIVER)) if not path]
    try:
        run_with(World, *tests, skip=f"there is no {' and no '.join(missing)} here" if missing else None)
    finally:
        if browser:
            browser.close()


def strata(world, *words):
    return subprocess.run([STRATA, "--socket", world.service.socket, *words], capture_output=True, text=True)


def axe_is_there():
    return os.path.exists(AXE)


def violations(page):
    """What axe-core finds, as lines."""
    with open(AXE, encoding="utf-8") as file:
        page.js(file.read() + "\nwindow.axe = axe;")
    found = page.js("return window.axe.run(document, { resultTypes: ['violations'] }).then(result => result.violations.map(one => `${one.id}: ${one.help}: ` + one.nodes.slice(0, 3).map(node => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))")
    return found


def shots_dir():
    os.makedirs(SHOTS, exist_ok=True)
    return SHOTS


def has(program):
    return shutil.which(program)
