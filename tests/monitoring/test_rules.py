#!/usr/bin/env python3
"""Recording and alert rules, by promtool: they are well formed, hold when they should and not otherwise."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "api")]
from prometheus import RULES, program, rule_files
from service import run_with

TESTS = sorted(name for name in os.listdir(HERE) if name.endswith(".yml"))


def promtool(*words):
    done = subprocess.run([program("promtool"), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def the_rules_are_well_formed(_):
    said = promtool("check", "rules", *rule_files())
    assert said.count("SUCCESS") == len(rule_files()), said


def they_hold_when_they_should(_):
    for name in TESTS:
        promtool("test", "rules", os.path.join(HERE, name))


def every_rule_has_a_test_in_which_it_holds_and_every_alert_one_in_which_it_does_not(_):
    tests = "".join(text_of(os.path.join(HERE, name)) for name in TESTS)
    rules = "".join(text_of(path) for path in rule_files())
    names = re.findall(r"- alert: (\w+)", rules)
    assert len(names) > 20 and len(names) == len(set(names)), names
    for name in names:
        assert re.search(rf"alertname: {name}\n\s+exp_alerts:\n", tests), f"{name} fires in no test"
        assert re.search(rf"alertname: {name}\n\s+exp_alerts: \[\]", tests), f"{name} is in no test in which it must not fire"
    for name in re.findall(r"- record: (\S+)", rules):
        assert re.search(rf"expr: '[^']*{name}\b", tests), f"{name} is worked out in no test"


def a_rule_that_is_wrong_is_found(_):
    """The test tests: with a threshold that nothing reaches, the alert is missed."""
    wrong = os.path.join(os.environ.get("STRATA_BUILD", "build"), "wrong-rules")
    os.makedirs(wrong, exist_ok=True)
    rules = text_of(os.path.join(RULES, "generation.yml")).replace("> 300", "> 30000")
    with open(os.path.join(wrong, "generation.yml"), "w", encoding="utf-8") as file:
        file.write(rules)
    tests = text_of(os.path.join(HERE, "generation.yml"))
    tests = tests.replace("../../monitoring/rules/recording.yml", os.path.abspath(os.path.join(RULES, "recording.yml")))
    with open(os.path.join(wrong, "test.yml"), "w", encoding="utf-8") as file:
        file.write(tests.replace("../../monitoring/rules/generation.yml", "generation.yml"))
    done = subprocess.run([program("promtool"), "test", "rules", os.path.join(wrong, "test.yml")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode and "StrataTasksWaitLong" in done.stdout, done.stdout


run_with(lambda _: None, the_rules_are_well_formed, they_hold_when_they_should,
         every_rule_has_a_test_in_which_it_holds_and_every_alert_one_in_which_it_does_not, a_rule_that_is_wrong_is_found)
