#!/usr/bin/env python3
"""The alert rules that come along speak of figures that there are."""
import os
import re

from service import equal, run

RULES = os.path.join(os.environ.get("STRATA_SOURCE", "."), "monitoring", "rules")


def rules():
    """Every alert and recording rule, its name first."""
    found = []
    for name in sorted(os.listdir(RULES)):
        with open(os.path.join(RULES, name), encoding="utf-8") as file:
            found += re.split(r"^      - (?:alert|record): ", file.read(), flags=re.M)[1:]
    return found


def every_figure_of_a_rule_is_printed(service):
    service.wait(service.submit("true")["id"], "completed")
    text = service.ask("GET", "/metrics")[1]
    known = set(re.findall(r"^(?:# TYPE )?(strata_\w+)", text, re.M))
    labels = {(name, key): set(re.findall(rf'^{name}{{.*?{key}="([^"]*)"', text, re.M))
              for name, key in re.findall(r"^(strata_\w+){(\w+)=", text, re.M)}
    for rule in rules():
        expression = re.search(r"^        expr: (.*)$", rule, re.M).group(1)
        recorded = {one.split("\n")[0] for one in rules() if one.startswith("strata:")}
        assert set(re.findall(r"\bstrata:[\w:]+", expression)) <= recorded, expression
        names = re.findall(r"\bstrata_\w+", expression)
        assert ("strata:" in expression or names) and set(names) <= known, (expression, set(names) - known)
        for name, key, value in re.findall(r'(strata_\w+){(\w+)="([^"]*)"}', expression):
            assert value in labels[name, key], (name, key, value)


def every_rule_says_what_to_do(service):
    del service
    names = [rule.split("\n")[0] for rule in rules()]
    equal(len(names), len(set(names)))
    for rule in rules():
        if rule.startswith("strata:"):
            continue  # it records
        for part in (r"^        for: \d+[mh]$", r"^        labels: { severity: (critical|warning|info) }$", r'^          summary: ".+"$', r'^          action: ".+"$'):
            assert re.search(part, rule, re.M), (rule, part)


run(every_figure_of_a_rule_is_printed, every_rule_says_what_to_do)
