"""Where Prometheus is: the system's, or the one that tools/prometheus-env unpacked into the build directory."""
import os
import shutil

from service import Skip

SOURCE = os.environ.get("STRATA_SOURCE", ".")
BUILD = os.environ.get("STRATA_BUILD", "build")
RULES = os.path.join(SOURCE, "monitoring", "rules")


def program(name):
    for path in (os.path.join(BUILD, "prometheus", "usr", "bin", name), os.path.join(SOURCE, "build", "prometheus", "usr", "bin", name)):
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if not found:
        raise Skip(f"there is no {name} here")
    return found


def rule_files():
    return sorted(os.path.join(RULES, name) for name in os.listdir(RULES) if name.endswith(".yml"))
