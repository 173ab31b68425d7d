#!/usr/bin/env python3
"""`strata report`: how the cluster was used, from a history that the test writes."""
import contextlib
import html.parser
import json
import os
import random
import sqlite3
import subprocess
import time
import uuid

from service import STRATA, as_nobody, equal, run

HOUR = 3600


def strata(service, *words, code=0):
    env = {**os.environ, "STRATA_SOCKET": service.socket, "HOME": service.dir, "TZ": "UTC"}
    done = subprocess.run([STRATA, *words], env=env, cwd=service.dir, capture_output=True, text=True)
    equal((done.returncode, done.stderr if done.returncode != code else ""), (code, ""))
    return done.stdout


def database(service):
    return contextlib.closing(sqlite3.connect(os.path.join(service.state, "strata.db"), isolation_level=None))


def with_history(service, jobs):
    """Jobs of the past, as rows: each is a copy of one that ran, with these columns changed; times in seconds ago."""
    service.wait(service.submit("true")["id"], "completed")
    service.kill()
    now = time.time()
    with database(service) as store:
        store.row_factory = sqlite3.Row
        one = dict(store.execute("SELECT * FROM jobs").fetchone())
        store.execute("DELETE FROM jobs WHERE id > 1")
        for number, job in enumerate(jobs, 100):
            times = {key: int((now - job[key]) * 1e9) if job.get(key) else 0 for key in ("created_at", "started_at", "completed_at")}
            row = {**one, "id": number, "uuid": str(uuid.uuid4()), **{key: value for key, value in job.items() if key not in times}, **times,
                   "eligible_at": times["created_at"], "scheduled_at": times["started_at"]}
            store.execute(f"INSERT INTO jobs ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
        store.execute("DELETE FROM jobs WHERE id = 1")
    service.start()


def job(user, submitted, waited, ran, **columns):
    """Submitted so long ago; hours."""
    columns = {"gpu_count": 2, "cpu_cores": 8, "memory_bytes": 32 << 30, "time_limit": int(10 * HOUR * 1e9), "cpu_user": int(ran * 2 * HOUR * 1e9), "cpu_system": 0,
               "memory_peak": 8 << 30, "band": 1, "state": "completed", **columns}
    return {"user_id": user, "created_at": submitted * HOUR, "started_at": (submitted - waited) * HOUR, "completed_at": (submitted - waited - ran) * HOUR, **columns}


def month(days=14, users=(("ann", 6), ("bob", 3), ("<b>eve</b> & co", 1)), seed=7):
    """A made-up history that grows a little every day."""
    draw = random.Random(seed)
    found = []
    for day in range(1, days):
        for user, share in users:
            for _ in range(max(1, round(share * (1 + (days - day) / 20) * draw.uniform(0.7, 1.3)))):
                ran = draw.uniform(0.5, 5)
                band = draw.choice((0, 1, 1, 1, 2))
                found.append(job(user, day * 24 - draw.uniform(0, 12), draw.expovariate(1) * (1, 0.4, 0.05)[band], ran, band=band,
                                 partition_name=draw.choice((None, None, "a100")), state=draw.choice(("completed",) * 9 + ("failed",)),
                                 cpu_user=int(ran * draw.uniform(1, 6) * HOUR * 1e9), memory_peak=draw.randrange(4 << 30, 30 << 30)))
    return found


def with_figures(service, worse=("wait", "band normal")):
    service.kill()
    today = int(time.time()) // 86400
    rows = [(kind, of, today - ago, value * (1 + ago % 4 / 15) * (4 if (kind, of) == worse and ago < 4 else 1), value / 2, value * 2, 90)
            for kind, of, value in ((*worse, 300), ("wait", "partition a100", 900), ("pass", "", 0.0004), ("store", "", 0.003)) for ago in range(1, 25)]
    with database(service) as store:
        store.executemany("INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", rows)
    service.start()


def what_was_used_waited_and_wasted_is_told(service):
    with_history(service, [job("ann", 30, 0.5, 3), job("bob", 29, 1, 1, time_limit=int(2 * HOUR * 1e9)), job("ann", 28, 0, 2, state="failed"),
                           job("ann", 400, 9, 9)])
    found = json.loads(strata(service, "report", "--since", "7d", "--json"))
    equal((found["unit"], found["capacity"], found["nodes"]), ("GPU", 12, 3))
    assert abs(found["use"]["hours"] - 12) < 1e-6 and abs(found["use"]["part"] - 12 / (12 * 7 * 24)) < 1e-4, found["use"]
    equal([(user["user"], user["jobs"]) for user in found["use"]["users"]], [("ann", 2), ("bob", 1)])
    equal(len(found["use"]["days"]), 8)
    waits = found["waits"]
    equal((waits["jobs"], waits["failed"], waits["all"]["jobs"], waits["classes"][0]["class"]), (3, 1, 3, "band normal"))
    assert abs(waits["all"]["longest_s"] - 3600) < 1e-3 and abs(waits["all"]["median_s"] / 1800 - 1) < 0.05, waits
    waste = found["waste"]["all"]
    assert all(abs(waste[key] - want) < 1e-6 for key, want in (("cpu", 0.25), ("memory", 0.25), ("time", 4 / 12))), waste
    assert [round(user["entitled"], 3) for user in found["fairness"]["users"]] == [0.5, 0.5], found["fairness"]
    assert "ann had 83 % instead of 50 %" in found["fairness"]["reading"], found["fairness"]
    equal(found["regressions"]["reading"], "There are too few days yet to say what is usual.")


def weights_count_as_shares(service):
    service.api("PUT", "/users/ann", {"weight": 3})
    with_history(service, [job("ann", 30, 0, 3), job("bob", 29, 0, 1)])
    fairness = json.loads(strata(service, "report", "--json"))["fairness"]
    equal([(user["user"], user["entitled"]) for user in fairness["users"]], [("ann", 0.75), ("bob", 0.25)])
    equal(fairness["reading"], "Users had what their shares give them, within a tenth.")


def a_terminal_gets_sentences_and_tables(service):
    with_history(service, month())
    with_figures(service)
    service.submit("sleep", "60", gpus=12, nodes=3)
    service.submit("sleep", "60", gpus=12, nodes=3, time_limit="2h")
    said = strata(service, "report", "--since", "14d")
    for words in ("Use: ", "% of what the nodes could have given; most by ann", "Waits: Half of ", "partition a100", "Fairness: ", "Asked for and used: Jobs used ",
                  "What has changed: 1 of 4 key figures is worse than usual: wait of jobs (band normal), ", "The coming days: Each day uses about ", "more than the one before: about ", "1 job waits now",
                  "2h of the whole cluster"):
        assert words in said, (words, said)


class Page(html.parser.HTMLParser):
    """What a file loads, runs and shows."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.open, self.words = [], [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "action") or value and "url(" in value]
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        if tag not in ("meta", "rect", "path", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("meta", "rect", "path", "line") or self.open[-1:] == [tag]:
            equal(self.open.pop(), tag)

    def handle_data(self, data):
        self.words += data


def one_file_has_all_of_it_and_loads_nothing(service):
    with_history(service, month())
    with_figures(service)
    strata(service, "report", "--since", "14d", "-o", "report.html")
    text = service.output("report.html")
    if keep := os.environ.get("STRATA_KEEP_REPORT"):
        with open(keep, "w") as file:
            file.write(text)
    page = Page(text)
    equal((page.links, page.open), ([], []))
    assert not {"script", "link", "img", "iframe", "object", "b>eve"} & set(page.tags), set(page.tags)
    equal((page.tags.count("section"), page.tags.count("h2")), (6, 6))
    assert page.tags.count("svg") >= 5, page.tags.count("svg")
    assert "<b>eve</b> & co" in page.words and "<b>eve" not in text, "a name is not escaped"
    assert "prefers-color-scheme:dark" in text and "@media print" in text and "url(" not in text and "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    for words in ("How the cluster was used", "worse than usual", "The coming days", "partition a100", "3 nodes, 12 GPUs"):
        assert words in page.words, words


def a_long_name_is_not_cut_in_the_midst_of_a_character(service):
    name = "partition <" + "€" * 39
    with_figures(service, ("wait", name))
    strata(service, "report", "--since", "14d", "-o", "report.html")
    with open(os.path.join(service.dir, "report.html"), "rb") as file:
        text = file.read().decode()  # which refuses half a character
    assert text.count(name.replace("<", "&lt;")) >= 2 and name not in text, text


def an_empty_history_is_told_as_such(service):
    said = strata(service, "report", "-o", "empty.html")
    equal(said, "")
    page = Page(service.output("empty.html"))
    for words in ("Nothing was used.", "No job started.", "Nobody had to share.", "Nothing is known of what jobs used."):
        assert words in page.words, words


def whoever_may_read_accounting_may_read_it(service):
    equal([as_nobody(service, "GET", f"/api/v1/{path}")[0] for path in ("accounting", "report", "figures")], [200, 200, 200])


def a_time_that_is_none_is_refused(service):
    error = service.api("GET", "/report?since=2020-01-02T00:00:00Z&until=2020-01-01T00:00:00Z", status=400)["error"]
    equal((error["field"], error["message"]), ("until", "until is 2020-01-01T00:00:00Z, which is not after since"))
    env = {**os.environ, "STRATA_SOCKET": service.socket}
    for since, words in (("whenever", "expected a duration such as 7d"), ("2150-01-01", "which is in the future")):
        done = subprocess.run([STRATA, "report", "--since", since], env=env, capture_output=True, text=True)
        assert done.returncode == 2 and words in done.stderr, done
    equal(service.ask("GET", "/api/v1/report?since=whenever")[0], 400)


run(what_was_used_waited_and_wasted_is_told, weights_count_as_shares, a_terminal_gets_sentences_and_tables, one_file_has_all_of_it_and_loads_nothing,
    a_long_name_is_not_cut_in_the_midst_of_a_character,
    an_empty_history_is_told_as_such, whoever_may_read_accounting_may_read_it, a_time_that_is_none_is_refused)
