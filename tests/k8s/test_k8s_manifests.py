"""The manifests of packaging/kubernetes: kustomize puts them together, the API's schemas take them, and what they promise is in them."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("STRATA_SOURCE", ".")
BUILD = os.environ.get("STRATA_BUILD", "build")
sys.path.insert(0, os.path.join(SOURCE, "tests", "api"))

from service import Skip, equal, run_with  # noqa: E402

SETS = sorted(os.path.dirname(path) for path in glob.glob(os.path.join(SOURCE, "packaging", "kubernetes", "*", "kustomization.yaml")))


class World:
    def __init__(self, _test=None):
        self.dir = tempfile.mkdtemp(prefix="strata-manifests-")
        self.python = next((path for path in (os.path.join(build, "python-kubernetes", "bin") for build in (BUILD, os.path.join(SOURCE, "build")))
                            if os.path.exists(os.path.join(path, "kubernetes-validate"))), None)

    def said(self):
        return ""

    def whole(self, directory):
        """All of a set, as kubectl would send it."""
        if not shutil.which("kubectl"):
            raise Skip("there is no kubectl")
        done = subprocess.run(["kubectl", "kustomize", directory], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self):
        shutil.rmtree(self.dir)


def every_set_is_put_together_and_valid(world):
    equal([os.path.basename(one) for one in SETS], ["scheduler", "service"])
    for directory in SETS:
        path = os.path.join(world.dir, os.path.basename(directory) + ".yaml")
        with open(path, "w") as file:
            file.write(world.whole(directory))
        if not world.python:
            raise Skip("there is no kubernetes-validate; `make test-k8s` gets it")
        done = subprocess.run([os.path.join(world.python, "kubernetes-validate"), "--strict", path], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def a_bad_manifest_is_refused(world):
    if not world.python:
        raise Skip("there is no kubernetes-validate; `make test-k8s` gets it")
    path = os.path.join(world.dir, "bad.yaml")
    with open(os.path.join(SOURCE, "packaging", "kubernetes", "scheduler", "deployment.yaml")) as good, open(path, "w") as bad:
        bad.write(good.read().replace("replicas: 2", "replicas: two"))
    done = subprocess.run([os.path.join(world.python, "kubernetes-validate"), "--strict", path], capture_output=True, text=True)
    assert done.returncode != 0, "the validator takes anything"


def no_pod_is_root_or_may_become_it(world):
    for directory in SETS:
        text = world.whole(directory)
        for line in ("runAsNonRoot: true", "allowPrivilegeEscalation: false", "- ALL", "readOnlyRootFilesystem: true", "type: RuntimeDefault"):
            assert line in text, f"{directory}: {line} is missing"


def no_rule_has_a_wildcard_or_secrets(world):
    for directory in SETS:
        with open(os.path.join(directory, "rbac.yaml")) as file:
            text = file.read()
        assert "*" not in text.replace("/*", ""), directory
        assert os.path.basename(directory) != "scheduler" or "secrets" not in text.split("rules:", 1)[1], directory


def the_settings_of_the_service_are_right(world):
    with open(os.path.join(SOURCE, "packaging", "kubernetes", "service", "config.yaml")) as file:
        settings = file.read().split("strata.ini: |\n", 1)[1]
    path = os.path.join(world.dir, "strata.ini")
    with open(path, "w") as file:
        file.write("\n".join(line[4:] for line in settings.split("\n")))
    done = subprocess.run([os.path.join(BUILD, "strata"), "config", "--check", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def the_options_in_the_manifests_are_options_of_the_program(world):
    done = subprocess.run([os.path.join(BUILD, "strata"), "kubernetes", "scheduler", "--help"], capture_output=True, text=True)
    with open(os.path.join(SOURCE, "packaging", "kubernetes", "scheduler", "deployment.yaml")) as file:
        options = [line.split("- ")[1].split("=")[0].strip() for line in file if line.strip().startswith("- --")]
    assert len(options) > 5, options
    for option in options:
        assert option + " " in done.stdout or option + "=" in done.stdout, f"{option} is not in --help"


run_with(World, every_set_is_put_together_and_valid, a_bad_manifest_is_refused, no_pod_is_root_or_may_become_it, no_rule_has_a_wildcard_or_secrets,
         the_settings_of_the_service_are_right, the_options_in_the_manifests_are_options_of_the_program)
