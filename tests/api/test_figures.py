#!/usr/bin/env python3
"""The service's own key figures: counted while it works, kept by day, told when they have grown."""
import contextlib
import json
import os
import sqlite3
import subprocess
import time

from fake_worker import FAKE, Worker, generate
from service import PATIENCE_S, STRATA, Service, Skip, equal, run_with

DAY = 86400


def made(test):
    return Clocked() if test is days_end_while_it_runs_and_a_clock_may_go_back else Service(*FAKE, *getattr(test, "arguments", []))


def today():
    return int(time.time()) // DAY


def database(service):
    return contextlib.closing(sqlite3.connect(os.path.join(service.state, "strata.db"), isolation_level=None))


def with_days(service, rows):
    """Days in the store, as if the service had been there: (kind, of, days ago, median, sketch)."""
    service.kill()
    with database(service) as store:
        store.execute("DELETE FROM figures")
        store.executemany("INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?, ?, ?, 100, ?)",
                          [(kind, of, today() - ago, median, median / 2, median * 2, sketch and json.dumps(sketch)) for kind, of, ago, median, sketch in rows])
    service.start()


def figures(service):
    return {(one["figure"], one["of"]): one for one in service.api("GET", "/figures")["figures"]}


def regressions(service):
    return [one for one in service.api("GET", "/problems")["problems"] if one["kind"] == "regression"]


def events(service):
    return [one for one in service.api("GET", "/events?format=json")["events"] if one["kind"].startswith("regression.")]


def metrics(service, name):
    return [line for line in service.ask("GET", "/metrics")[1].splitlines() if line.startswith(name)]


def usual(kind, of, value, since=20, until=4):
    return [(kind, of, ago, value * (1 + ago % 3 / 20), None) for ago in range(since, until - 1, -1)]


def what_happens_is_counted_by_class(service):
    service.api("PUT", "/partitions/gpu", {})
    service.wait(service.submit("true")["id"], "completed")
    service.wait(service.submit("true", partition="gpu")["id"], "completed")
    service.wait(service.submit("true", priority="low")["id"], "completed")
    generate(service, steps=2)
    worker = Worker(service)
    worker.pick(1000)
    worker.report("steps", 2)
    found = set(figures(service))
    assert {("wait", "band normal"), ("wait", "band low"), ("wait", "partition gpu"), ("pass", ""), ("store", ""), ("task_wait", "digits"),
            ("step", "digits"), ("prediction", "")} <= found, found
    equal({one["state"] for one in figures(service).values()}, {"warming_up"})
    equal(regressions(service), [])


def expected_run_times_are_compared_with_what_jobs_ran(service):
    service.wait(service.submit("sleep", "1.2", time_limit="10s")["id"], "completed")
    text = dict(line.split(" ") for line in metrics(service, "strata_predict"))
    equal((text["strata_predictions_total"], text["strata_predicted_seconds_total"]), ("1", "10"))
    ran, off = float(text["strata_prediction_run_seconds_total"]), float(text["strata_prediction_error_seconds_total"])
    assert 1.2 <= ran < 9 and abs(ran + off - 10) < 1e-6, text
    service.wait(service.submit("false")["id"], "failed")  # says nothing about how long such jobs run
    equal(metrics(service, "strata_predictions_total"), ["strata_predictions_total 1"])


def a_figure_that_has_grown_is_told_everywhere(service):
    with_days(service, [*usual("wait", "band normal", 180), *[("wait", "band normal", ago, 700, None) for ago in (3, 2, 1)], *usual("pass", "", 0.004, until=1)])
    found = figures(service)["wait", "band normal"]
    equal((found["state"], found["unit"], len(found["days"])), ("higher", "s", 20))
    began = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime((today() - 3) * DAY))
    equal(found["since"], began)
    problem, = regressions(service)
    equal((problem["about"], problem["since"], problem["grave"], problem["title"]),
          ("band normal", began, False, "Jobs wait longer than usual: band normal"))
    assert "11m" in problem["text"] and "usual is 3m" in problem["text"], problem
    equal(metrics(service, "strata_regression{"), ['strata_regression{figure="pass",of=""} 0', 'strata_regression{figure="wait",of="band normal"} 1'])
    said = subprocess.run([STRATA, "--socket", service.socket, "doctor"], capture_output=True, text=True).stdout
    assert "Jobs wait longer than usual: band normal" in " ".join(said.split()), said


def a_day_that_was_over_is_closed_once_and_told_once(service):
    sketch = [[bucket, 40] for bucket in (600, 601)]  # about 5,000 s
    rows = [*usual("wait", "band high", 180), ("wait", "band high", 3, 900, None), ("wait", "band high", 2, 900, None), ("wait", "band high", 1, 900, sketch)]
    with_days(service, rows)
    deadline = time.time() + PATIENCE_S
    while not events(service) and time.time() < deadline:
        time.sleep(0.05)
    event, = events(service)
    equal((event["kind"], event["about"]["figure"], event["about"]["of"], event["job"]), ("regression.began", "wait", "band high", 0))
    equal(len(regressions(service)), 1)
    with database(service) as store:
        median, count, kept = store.execute("SELECT median, value_count, sketch FROM figures WHERE of_what = 'band high' AND day = ?",
                                            (today() - 1,)).fetchone()
    assert 4000 < median < 7000 and count == 80 and kept is None, (median, count, kept)
    service.kill()
    service.start()
    equal((len(events(service)), len(regressions(service))), (1, 1))


def days_that_are_as_usual_again_end_it(service):
    high = [("store", "", ago, 0.5, None) for ago in (8, 7, 6, 5, 4)]
    sketch = [[bucket, 40] for bucket in (377, 378)]  # about 0.1 s
    with_days(service, [*usual("store", "", 0.1, since=28, until=9), *high, ("store", "", 3, 0.1, None), ("store", "", 2, 0.1, None), ("store", "", 1, 0, sketch)])
    deadline = time.time() + PATIENCE_S
    while not events(service) and time.time() < deadline:
        time.sleep(0.05)
    equal([(one["kind"], one["about"]["figure"], one["about"]["since"]) for one in events(service)], [("regression.ended", "store", None)])
    equal(regressions(service), [])


def figures_of_long_ago_are_not_told(service):
    with_days(service, [*usual("step", "old 64x64", 0.1, since=60, until=43), *[("step", "old 64x64", ago, 9, None) for ago in (42, 41, 40)]])
    equal((regressions(service), figures(service)["step", "old 64x64"]["state"]), ([], "usual"))


def thresholds_are_settings(service):
    rows = [*usual("store", "", 0.1), *[("store", "", ago, 0.3, None) for ago in (3, 2, 1)]]
    with_days(service, rows)
    equal(len(regressions(service)), 1)
    service.kill()
    service.args = [*service.args, "--regression-ratio", "5"]
    service.start()
    equal(regressions(service), [])
    for words, said in ((("--regression-days", "5"), "regression_days is 5, more than the 4 days of regression_of"),
                        (("--regression-window", "9"), "regression_warm_up is 10, more than the 9 days of regression_window")):
        done = subprocess.run([STRATA, "serve", "--state", service.state + "2", *words], capture_output=True, text=True)
        assert done.returncode and said in done.stderr, done


class Clocked(Service):
    """A service whose wall clock the test sets (clock_preload.c)."""

    def __init__(self):
        if "address" in STRATA or "thread" in STRATA:
            raise Skip("a sanitizer wants to be loaded first")
        self.file = f"/tmp/strata-figures-clock-{os.getpid()}"
        self.set(0)
        os.environ.update(LD_PRELOAD=os.path.abspath(os.path.join(os.path.dirname(STRATA), "tests", "clock_preload.so")), STRATA_TEST_CLOCK=self.file)
        try:
            super().__init__(*FAKE)
        finally:
            for name in ("LD_PRELOAD", "STRATA_TEST_CLOCK"):
                os.environ.pop(name)

    def set(self, days):
        with open(self.file + ".new", "w") as file:
            file.write(str(days * DAY))
        os.rename(self.file + ".new", self.file)

    def days_of_waits(self):
        figures(self)  # one round in which it sees the clock …
        found = figures(self).get(("wait", "band normal"))  # … and one that tells
        return [(int(time.mktime(time.strptime(one["day"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone) // DAY - today(), one["count"]) for one in found["days"]] if found else None

    def close(self):
        super().close()
        os.unlink(self.file)


def days_end_while_it_runs_and_a_clock_may_go_back(clocked):
    for _ in range(6):
        clocked.wait(clocked.submit("true")["id"], "completed")
    equal(clocked.days_of_waits(), [])
    clocked.set(1)
    equal(clocked.days_of_waits(), [(0, 6)])
    for _ in range(5):
        clocked.wait(clocked.submit("true")["id"], "completed")
    clocked.wait(clocked.submit("true", priority="low")["id"], "completed")  # one is too few for a day
    clocked.set(3)
    equal(clocked.days_of_waits(), [(0, 6), (1, 5)])
    assert ("wait", "band low") not in figures(clocked)
    clocked.set(1)  # the second day has not been yet
    equal(clocked.days_of_waits(), [(0, 6)])
    clocked.set(150)
    equal(clocked.days_of_waits(), None)  # longer ago than days are kept
    with database(clocked) as store:
        equal(store.execute("SELECT count(*) FROM figures WHERE kind = 'wait'").fetchone(), (0,))


def rows_of_another_version_or_nonsense_do_no_harm(service):
    rows = [("mood", "", 1, 1, None), ("wait", "band low", 0, 1, "text"), ("pass", "", 0, 1, [[1, "x"], [2]]), ("store", "", -400000, 1, None)]
    with_days(service, rows)
    service.wait(service.submit("true")["id"], "completed")
    assert "mood" not in {kind for kind, _ in figures(service)}


run_with(made, what_happens_is_counted_by_class, expected_run_times_are_compared_with_what_jobs_ran, a_figure_that_has_grown_is_told_everywhere,
         a_day_that_was_over_is_closed_once_and_told_once, days_that_are_as_usual_again_end_it,
         figures_of_long_ago_are_not_told, thresholds_are_settings,
         days_end_while_it_runs_and_a_clock_may_go_back, rows_of_another_version_or_nonsense_do_no_harm)
