#!/usr/bin/env python3
"""Every query of the dashboards and every rule, on a real Prometheus that scrapes a real service at work."""
import contextlib
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "api")]
from prometheus import SOURCE, program, rule_files
from service import PATIENCE_S, Service, equal, kill_all, run_with

BOARDS = os.path.join(SOURCE, "monitoring", "grafana")
NAMES = ("cluster", "generation", "placement")
NOT_YET = re.compile(r"offset 1w")  # a week that this service has not seen
UNITS = {"none", "s", "bytes", "percentunit", "cps", "reqps"}


def board(name):
    with open(os.path.join(BOARDS, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def panels():
    """(board, panel) of all that show something."""
    return [(name, panel) for name in NAMES for panel in board(name)["panels"] if panel["type"] != "row"]


class Watched:
    """A service with a past, work for it, and a Prometheus that looks at it."""

    def __init__(self):
        program("prometheus")
        self.service = Service("--listen", "127.0.0.1:0")
        self.prometheus = None
        self.give_a_past()
        self.token = self.service.api("POST", "/tokens", {"role": "read-only"}, 201)["token"]
        self.start()

    def give_a_past(self):
        self.service.kill()
        rows = [(kind, of, int(time.time()) // 86400 - ago, 60 + ago % 4, 50, 90, 100)
                for kind, of in (("wait", "band normal"), ("step", "digits"), ("pass", "")) for ago in range(1, 20)]
        with contextlib.closing(sqlite3.connect(os.path.join(self.service.state, "strata.db"), isolation_level=None)) as store:
            store.executemany("INSERT INTO figures VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", rows)
        self.service.start()

    def start(self):
        here = os.path.join(self.service.dir, "prometheus")
        os.mkdir(here)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        with open(os.open(os.path.join(here, "token"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(self.token)
        conf = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [os.path.abspath(path) for path in rule_files()],
                "scrape_configs": [{"job_name": "strata", "authorization": {"credentials_file": os.path.join(here, "token")},
                                    "static_configs": [{"targets": [f"127.0.0.1:{self.service.port()}"]}]}]}
        with open(os.path.join(here, "prometheus.yml"), "w") as file:
            json.dump(conf, file)  # JSON is YAML
        self.log = open(os.path.join(here, "log"), "w")
        self.prometheus = subprocess.Popen(
            [program("prometheus"), f"--config.file={here}/prometheus.yml", f"--storage.tsdb.path={here}/data", f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=self.log, stderr=self.log)
        self.until(lambda: self.query("count(strata_jobs)"), "Prometheus scrapes the service")

    def until(self, holds, what):
        deadline = time.time() + PATIENCE_S
        while time.time() < deadline:
            try:
                if found := holds():
                    return found
            except (OSError, ValueError):  # it is not ready yet
                pass
            time.sleep(0.1)
        raise AssertionError(f"it is not so: {what}")

    def ask(self, path, **query):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=PATIENCE_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            return json.load(refused)

    def query(self, expression):
        answer = self.ask("query", query=expression)
        assert answer["status"] == "success", (expression, answer)
        return answer["data"]["result"]

    def work(self):
        """Two users' jobs that run, wait and end, two pictures, and a second helping, so that counters grow between scrapes."""
        service = self.service
        service.submit("sleep", "600", gpus=4)
        service.submit("sleep", "600", gpus=12, nodes=3)
        for _ in range(2):
            service.wait(service.submit("sleep", "1.1", time_limit="5s")["id"], "completed")
            number = service.api("POST", "/generate", {"prompt": "a seven", "steps": 4, "seed": 7}, 201)["id"]
            self.until(lambda n=number: service.api("GET", f"/tasks/{n}")["status"] == "finished", "a picture is drawn")
            seen = self.scrapes()
            self.until(lambda s=seen: self.scrapes() >= s + 3, "it is looked at again")

    def scrapes(self):
        return int(float(self.query("count_over_time(strata_leader[1h])")[0]["value"][1]))

    def said(self):
        return self.service.said()

    def close(self):
        if self.prometheus:
            self.prometheus.kill()
            self.prometheus.wait(PATIENCE_S)
            self.log.close()
        kill_all(self.service.socket)
        self.service.close()


def substituted(expression):
    """As Grafana asks: all instances, models and classes."""
    text = re.sub(r"\$(instance|model|class)\b", ".*", expression).replace("$__rate_interval", "1m")
    assert "$" not in text, text
    return text


def every_query_and_every_rule_has_an_answer(watched):
    watched.work()
    asked, without = 0, []
    for name, panel in panels():
        for target in panel["targets"]:
            result = watched.query(substituted(target["expr"]))
            values = [one["value"][1] for one in result]
            asked += 1
            if not NOT_YET.search(target["expr"]) and (not values or all(value == "NaN" for value in values)):
                without.append((name, panel["title"], target["expr"]))
    assert not without, without
    for name in NAMES:
        for variable in board(name)["templating"]["list"]:
            if found := re.match(r"label_values\((.*), (\w+)\)$", str(variable.get("definition", ""))):
                names = {one["metric"].get(found[2]) for one in watched.query(found[1])}
                assert names and None not in names, (name, variable["name"], names)
                asked += 1
    print(f"# {asked} queries of {len(NAMES)} dashboards")
    rules = [rule for group in watched.ask("rules")["data"]["groups"] for rule in group["rules"]]
    for rule in rules:
        equal((rule["name"], rule["health"], rule.get("lastError")), (rule["name"], "ok", None))
        if rule["type"] == "recording":
            assert any(one["value"][1] != "NaN" for one in watched.query(rule["name"])), f"{rule['name']} has no value"
    print(f"# {len(rules)} rules")
    equal({rule["name"] for rule in rules if rule.get("state") == "firing"}, set())


def dashboards_are_ones_that_grafana_reads(_):
    for name in NAMES:
        one = board(name)
        equal((one["uid"], one["tags"], one["schemaVersion"]), (f"strata-{name}", ["strata"], 38))
        assert one["title"] and one["description"]
        ids = [panel["id"] for panel in one["panels"]]
        equal(len(ids), len(set(ids)))
        variables = {variable["name"] for variable in one["templating"]["list"]}
        used = set(re.findall(r"\$(?!__)\{?(\w+)", json.dumps(one)))
        equal(used, variables)
        taken = set()
        for panel in one["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert at["x"] + at["w"] <= 24 and not cells & taken, (name, panel["title"])
            taken |= cells


def every_panel_has_a_title_a_unit_and_a_legend(_):
    titles = [(name, panel["title"]) for name, panel in panels()]
    assert len(titles) > 40, len(titles)
    for name, panel in panels():
        equal(panel["datasource"]["uid"], "${datasource}")
        unit = panel["fieldConfig"]["defaults"].get("unit") or panel["options"].get("yAxis", {}).get("unit")
        assert panel["type"] == "table" or unit in UNITS, (name, panel["title"], unit)
        assert all(target["legendFormat"] or panel["type"] == "table" for target in panel["targets"]), (name, panel["title"])


run_with(lambda test: Watched() if test is every_query_and_every_rule_has_an_answer else None, every_query_and_every_rule_has_an_answer,
         dashboards_are_ones_that_grafana_reads, every_panel_has_a_title_a_unit_and_a_legend)
