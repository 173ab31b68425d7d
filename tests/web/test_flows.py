#!/usr/bin/env python3
"""What people do on the page, done in a real browser."""
import base64
import json
import os
import signal
import time

from world import NOBODY, Skip, equal, run, settings, strata

LOOP = "i=0; while [ $i -lt 600 ]; do i=$((i + 1)); printf '\\033[32mstep\\033[0m %d\\n' $i; sleep 0.2; done"


def one_signs_in_and_out(world):
    page = world.browser
    page.go(world.url)
    page.says("Sign in to Strata")
    page.type("#token", "strata_" + "x" * 43)
    page.press_button("Sign in", "main")
    page.says("not known, has expired or was revoked")
    page.type("#token", world.token())
    page.press_button("Sign in", "main")
    page.says("GPUs are free")
    equal(page.js("return document.cookie"), "")  # scripts do not see the session
    page.go(world.url + "/#/you")
    page.says("this one")
    page.press_button("Sign out")
    page.says("Sign in to Strata")
    page.go(world.url + "/#/jobs")
    page.says("Sign in to Strata")


def a_link_signs_in_once(world):
    page = world.browser
    link = strata(world, "web").stdout.strip()
    assert link.startswith(world.url + "/#strata_"), link
    page.go("about:blank")
    page.go(link)
    page.says("GPUs are free")
    assert "strata_" not in page.js("return location.href"), "the secret stays in the address"
    page.js("localStorage.clear()")
    page.go("about:blank")
    page.go(link)
    page.says("works once")


def a_revoked_token_shows_the_door(world):
    page = world.sign_in()
    page.says("GPUs are free")
    for token in world.service.api("GET", "/tokens")["tokens"]:
        world.service.ask("DELETE", f"/api/v1/tokens/{token['id']}")
    world.submit("true")
    page.says("Your session has ended")


def a_job_is_submitted_watched_and_cancelled(world):
    page = world.sign_in("user", "#/submit")
    page.type("#f-command", f"sh -c \"{LOOP}\"".replace("$", "\\$").replace("\\033", "\\\\033").replace("\\n", "\\\\n"))
    page.type("#f-name", "watched")
    page.type("#f-working_dir", world.service.dir)
    page.type("#f-time_limit", "10m")
    page.press_button("4", ".gpick")
    page.says("Starts at once", "aside")
    page.says("--time-limit 10m", "pre.cmd")
    page.press_button("Submit", "aside")
    page.says("running")
    page.wait("document.querySelectorAll('.log > div').length > 3", what="lines of the log")
    page.wait("document.querySelector('.log .a32')?.innerText === 'step'", what="the colour of the log")
    count = page.js("return document.querySelectorAll('.log > div').length")
    page.wait("document.querySelectorAll('.log > div').length > arguments[0]", count, what="the log being followed")
    page.type("input[type=search]", "step 3")
    page.says("lines with this text")
    page.wait("[...document.querySelectorAll('.log > div')].every(line => line.hidden !== /step 3/.test(line.textContent))", what="the other lines hidden")
    job = int(page.js("return location.hash.split('/')[2]"))
    page.press_button("Cancel …")
    page.says("Cancel watched?", "dialog")
    page.press_button("Keep it", "dialog")
    equal(world.service.job(job)["state"], "running")
    page.press_button("Cancel …")
    page.click("[data-test=confirm]")
    page.says("cancelled", ".title")
    equal(world.service.wait(job, "cancelled")["gpus"], 4)
    page.hash("#/job/999")
    page.says("There is no job 999 to show")


def wrong_input_is_said_at_its_field(world):
    page = world.sign_in("user", "#/submit")
    page.type("#f-command", "true")
    page.type("#f-time_limit", "31 parsecs")
    page.says("It cannot start", "aside")
    page.wait("document.querySelector('#f-time_limit[aria-invalid=true]')?.closest('label').innerText.includes('parsecs')", what="the sentence at the field")
    page.wait("document.querySelector('#submit').disabled")
    page.type("#f-time_limit", "1h")
    page.says("Starts at once", "aside")
    page.type("#f-command", "echo 'open")
    page.says("without its end", "aside")
    page.press_button("Batch script")
    page.type("#f-script", "#!/bin/sh\n#SBATCH --nonsense\ntrue\n")
    page.press_button("Submit", "aside")
    page.wait("document.querySelector('main .err')", what="Slurm's sentence")
    page.type("#f-script", "#!/bin/sh\n#SBATCH --job-name=fromscript\ntrue\n")
    page.press_button("Submit", "aside")
    page.says("fromscript")


def the_list_is_live_and_filters_are_in_the_address(world):
    page = world.sign_in(page="#/jobs")
    page.says("Nothing runs, nothing waits")
    first = world.submit("sleep", "600", name="alpha", gpus=1)
    page.says("alpha")
    page.says("running", ".jlist")
    world.submit("sleep", "600", name="beta", gpus=4, hold=True)
    page.says("held")
    page.type("#filter", "bet")
    page.says_not("alpha")
    assert "text=bet" in page.js("return location.hash"), page.js("return location.hash")
    page.call("POST", "/refresh", {})
    page.says("beta")
    page.says_not("alpha")
    page.press_button("Running", ".filters")
    page.says("No job matches")
    page.press_button("Clear the filters")
    page.says("alpha")
    world.service.ask("DELETE", f"/api/v1/jobs/{first}")
    page.says_not("alpha")
    page.press_button("Cancelled", ".filters")
    page.says("alpha")
    page.hash("#/now")
    page.says("held by", ".queue")


@settings(nodes="n:count=2:cpus=64:memory=64G:gpus=4")
def a_long_list_has_few_rows_in_the_document(world):
    for name in ("one", "two"):
        world.submit("sleep", "600", name=name, array="1-1500")
    page = world.sign_in(page="#/jobs")
    page.wait("Number(document.querySelector('[role=table]')?.getAttribute('aria-rowcount')) === 3001", what="3,000 jobs")
    assert page.js("return document.querySelectorAll('.jr').length") < 120
    page.js("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait("[...document.querySelectorAll('.jr')].some(row => row.getAttribute('aria-rowindex') === '3001')", what="the last row")
    assert page.js("return document.querySelectorAll('.jr').length") < 120
    page.type("#filter", "two 2999")
    page.wait("document.querySelectorAll('.jr').length === 1", what="one row")


def a_node_is_drained_and_opened(world):
    page = world.sign_in("operator")
    page.says("n2")
    page.click("article[aria-label='node n2'] .tile-acts button")
    page.press_button("Drain the node", "dialog")
    page.says("n2 is drained")
    equal(next(node["state"] for node in world.service.api("GET", "/nodes")["nodes"] if node["name"] == "n2"), "drained")
    page.press_button("See the node")
    page.press_button("Open again")
    page.says("No problems")
    page = world.sign_in("user")
    page.says("n2")
    equal(page.js("return document.querySelectorAll('.tile-acts button').length"), 0)  # who may not is shown nothing


def the_timeline_has_past_present_and_plans(world):
    ended = world.submit("sleep", "0.2", name="was", gpus=1)
    world.service.wait(ended, "completed")
    for number in range(4):
        world.submit("sleep", "600", name=f"t{number}", gpus=4, time_limit="2h")
    page = world.sign_in(page="#/timeline")
    page.wait("document.querySelectorAll('.b-running').length === 3 && document.querySelectorAll('.b-planned').length === 1 && document.querySelectorAll('.b-past').length === 1",
              what="three bars that run, one that is planned, one that was")
    page.says("Next: t3")
    assert page.js("return document.querySelector('.b-planned').getAttribute('aria-label')").startswith("t3 (5) of you, 4 GPUs: expected by")
    wide = "document.querySelector('.b-running .rest').getBoundingClientRect().width"
    before = page.js(f"return {wide}")
    page.keys("+")
    page.wait(f"{wide} > arguments[0]", before, what="it grows")
    assert "hours=9.8" in page.js("return location.hash"), page.js("return location.hash")
    page.keys("ArrowRight")
    page.wait("location.hash.includes('shift=2.45')", what="it moves")
    page.call("POST", "/refresh", {})
    page.wait("document.querySelectorAll('.b-running').length === 3", what="the same view after loading it anew")
    page.keys("0")
    page.wait("!location.hash.includes('shift')")
    page.js("document.querySelector('.b-planned').focus()")
    page.keys("Enter")
    page.says("Why it waits")


def who_reads_only_sees_no_actions(world):
    job = world.submit("sleep", "600")
    page = world.sign_in("read-only")
    page.says("n1")
    equal(page.js("return document.querySelectorAll('a[href=\"#/submit\"]').length"), 0)
    page.hash(f"#/job/{job}")
    page.says("for its owner and for operators")
    equal(page.js("return document.querySelectorAll('.acts button').length"), 0)
    page.hash("#/generate")
    page.wait("document.querySelector('h1')?.innerText === 'Generate'")
    equal(page.js("return document.querySelectorAll('main form').length"), 0)


def a_picture_is_drawn_before_ones_eyes(world):
    page = world.sign_in("user", "#/generate")
    page.says("No pictures yet")
    page.type("#g-prompt", "a seven")
    page.type("#g-steps", "1000")
    page.press_button("Generate", "form")
    first = page.wait("document.querySelector('#preview')?.src", what="a preview")
    page.wait("document.querySelector('#preview') ? document.querySelector('#preview').src !== arguments[0] : document.querySelector('.shot img')?.src", first, what="the preview changing")
    page.wait("document.querySelector('.shot img')?.naturalWidth === 28", what="the picture")
    page.says("1000", ".set")
    page.wait("!document.querySelector('section[aria-label=Now]')", what="the gallery in its last place")
    page.type("#g-prompt", "x")
    page.press_button("Use these")
    page.wait("document.querySelector('#g-prompt').value === 'a seven' && document.querySelector('#g-steps').value === '1000'", what="its settings in the form")
    page.type("#g-steps", "1001")
    page.press_button("Generate", "form")
    page.wait("document.querySelector('#g-steps[aria-invalid=true]')", what="the sentence about the steps")


def a_restart_under_the_page_is_got_over(world):
    page = world.sign_in()
    world.submit("sleep", "600", name="survivor", gpus=2)
    page.says("survivor")
    page.js("window.stillTheSamePage = true")
    world.service.kill(signal.SIGKILL)
    page.says("Reconnecting.", "#banner")
    page.wait("document.body.classList.contains('stale')")
    world.service.start()
    page.wait("document.querySelector('#banner').innerText === ''", what="the banner gone")
    second = world.submit("sleep", "600", name="afterwards", gpus=1)
    page.says("afterwards")
    page.hash(f"#/job/{second}")
    page.says("running")
    equal(page.js("return window.stillTheSamePage"), True)


def two_people_do_not_see_each_others_things(world):
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    secret = "a secret prompt"
    job = world.submit("sh", "-c", "echo their $WORDS; sleep 600", name="theirs", environment={"PATH": "/usr/bin:/bin", "WORDS": "words"})
    world.service.wait(job, "running")
    task = world.service.ask("POST", "/api/v1/generate", {"prompt": secret})[1]
    page = world.sign_in("user", f"#/job/{job}", user=NOBODY)
    page.says("for its owner and for operators")
    assert "their words" not in page.text()
    equal(page.js("return document.querySelectorAll('.acts button').length"), 0)
    page.hash("#/generate")
    page.says("No pictures yet")
    time.sleep(0.5)
    assert secret not in page.js("return document.documentElement.outerHTML")
    for path in (f"/tasks/{task['id']}/image", f"/jobs/{job}/output"):
        equal(page.js("return import(document.querySelector('script[type=module]').src.replace('main.js', 'api.js')).then(api => api.get(arguments[0])).then(() => 200, trouble => trouble.status)", path), 403)
    equal(page.js("return import(document.querySelector('script[type=module]').src.replace('main.js', 'api.js')).then(api => api.get('/tasks')).then(JSON.stringify)").count(secret), 0)


EVIL = "<img src=x onerror=window.hacked=1><script>window.hacked=2</script>\"'`${window.hacked=3}{{7*7}}"


def what_people_write_is_text(world):
    folder = os.path.join(world.service.dir, "<b onmouseover=hacked=4>d")
    os.mkdir(folder)
    job = world.submit("sh", "-c", f"cat <<'X'\n{EVIL}\n\033]0;title\007\033[2J\033[31m<i>red</i>\033[0m\nX\nsleep 600", EVIL, name=EVIL[:120], comment=EVIL[:100], working_dir=folder, output="<u>out%j")
    world.submit("true", name=EVIL[:120], hold=True, dependencies=f"after:{job}")
    world.service.api("PATCH", "/nodes/n3", {"state": "drained", "reason": EVIL[:100]})
    world.service.ask("POST", "/api/v1/generate", {"prompt": EVIL})
    world.service.wait(job, "running")
    page = world.sign_in()
    for place in ("#/now", "#/jobs", f"#/job/{job}", f"#/job/{job + 1}", "#/timeline", "#/generate", "#/submit?again=1", "#/you", "#/people", "#/whatif", "#/place", "#/jobs?text=" + "%3Cimg%20src%3Dx%20onerror%3Dhacked%3D5%3E", "#/job/%3Cimg%20src=x%3E"):
        page.hash(place)
        page.wait("document.querySelector('main h1')")
        time.sleep(0.4)
        equal((place, page.js("return window.hacked ?? null")), (place, None))
        equal((place, page.js("return [...document.querySelectorAll('main b[onmouseover], main img[src=x], main script, main i > i, main u > u, main [onerror]')].length")), (place, 0))
    page.hash(f"#/job/{job}")
    page.wait("document.querySelector('.log')?.innerText.includes('<img src=x onerror=')", what="the words themselves")
    page.wait("document.querySelector('.log .a31')?.innerText === '<i>red</i>'", what="the colour, and the words in it")
    equal([line for line in page.complaints() if "ontent" in line], [])  # nor did the policy have to step in


def everything_goes_by_keyboard(world):
    job = world.submit("sleep", "600", name="keyboard", gpus=1)
    world.service.wait(job, "running")
    page = world.sign_in()
    page.says("keyboard")
    page.keys("g", "j")
    page.says("keyboard", ".jlist")
    page.keys("j", "k", "Enter")
    page.says("Asked for")
    page.keys("Escape")
    page.wait("location.hash === '#/jobs'")
    page.keys("?")
    page.says("Keys", "dialog")
    page.keys("Escape")
    page.wait("!document.querySelector('dialog').open")
    page.keys("Control+k")
    page.wait("document.activeElement.id === 'find'")
    page.keys(*"keyboard", "Enter")
    page.wait("arguments[0] === location.hash", f"#/job/{job}")
    page.says("Asked for")
    page.keys("x")
    page.says("Cancel keyboard?", "dialog")
    page.keys("Tab", "Enter")
    world.service.wait(job, "cancelled")
    page.keys("c")
    page.wait("location.hash === '#/submit'")
    page.wait("document.querySelector('#f-command')")
    for _ in range(40):
        if page.js("return document.activeElement.id") == "f-command":
            break
        page.keys("Tab")
    page.keys(*"true")
    page.wait("document.querySelector('#submit') && !document.querySelector('#submit').disabled")
    page.keys("Control+Enter")
    page.wait("/^#\\/job\\/\\d+$/.test(location.hash)", what="the new job")
    before = page.js("return document.documentElement.dataset.theme")
    page.keys("Shift+T")
    page.wait("document.documentElement.dataset.theme !== arguments[0]", before)
    page.keys("Shift+T")


def it_fits_a_phone(world):
    job = world.submit("sh", "-c", "seq 100; sleep 600", name="a-name-that-is-as-long-as-names-may-become-on-a-bad-day-" + "x" * 50, gpus=1)
    world.submit("sleep", "1", gpus=4, name="waits", hold=True)
    page = world.sign_in()
    for width in (390, 320):
        page.resize(width, 800, mobile=True)
        for place in ("#/now", "#/jobs", f"#/job/{job}", f"#/job/{job + 1}", "#/submit", "#/submit?tab=script", "#/generate", "#/timeline", "#/you"):
            page.hash(place)
            page.wait("document.querySelector('main h1')")
            time.sleep(0.25)
            wide = page.js("return document.documentElement.scrollWidth")
            assert wide <= width, f"{place} is {wide} wide on {width}"
        sizes = page.js("return [...document.querySelectorAll('.tabs a')].map(x => Math.min(x.offsetWidth, x.offsetHeight))")
        assert len(sizes) == 5 and min(sizes) >= 40, sizes


def tests():
    return [value for name, value in sorted(globals().items(), key=lambda pair: getattr(getattr(pair[1], "__code__", None), "co_firstlineno", 0))
            if callable(value) and getattr(value, "__module__", "") == "__main__" and value.__code__.co_varnames[:1] == ("world",)]


def a_job_shows_what_it_uses_and_its_owner_only(world):
    job = world.submit("sh", "-c", "i=0; while :; do i=$((i + 1)); done", cpus_per_task=2, memory="2G", name="busy")
    world.service.wait(job, "running")
    page = world.sign_in("admin", f"#/job/{job}")
    page.says("Asked and used")
    page.wait("document.querySelectorAll('.samples svg[role=img]').length === 2", what="two plots")
    assert "of 2" in page.js("return document.querySelector('.samples svg').getAttribute('aria-label')")
    page.press_button("As a table", "main")
    page.wait("document.querySelectorAll('.scroll tbody tr').length > 1", what="the same as a table")
    if os.geteuid() != 0:
        raise Skip("it takes root to be somebody else")
    page = world.sign_in("user", f"#/job/{job}", user=NOBODY)
    page.says("running")
    time.sleep(1)
    equal(page.js("return document.querySelectorAll('.samples').length"), 0)


def what_would_start_sooner_is_one_button(world):
    for gpus, limit in ((4, "2h"), (4, "2h"), (2, "1h")):
        world.service.wait(world.submit("sleep", "600", gpus=gpus, time_limit=limit), "running")
    job = world.submit("sleep", "600", gpus=4, time_limit="4h", name="wide")
    page = world.sign_in("user", f"#/job/{job}")
    page.says("It would start sooner with")
    page.says("2 GPUs instead of 4")
    page.click("button[aria-label='Ask for 2 GPUs instead of 4']")
    page.says("running", ".title")
    equal(world.service.wait(job, "running")["gpus"], 2)


def another_policy_is_tried_on_the_past(world):
    for i in range(30):
        world.submit("sleep", str(0.05 * (i % 5)), gpus=1 + i % 4, time_limit="10m", name=EVIL[:120])
    deadline = time.time() + 60
    while world.service.api("GET", "/queue")["jobs"] and time.time() < deadline:
        time.sleep(0.2)
    page = world.sign_in("user", "#/whatif")
    page.says("Nothing is replayed yet")
    page.find("#b-order")
    page.js("const s = document.querySelector('#b-order'); s.value = 'sjf'; s.dispatchEvent(new Event('change', { bubbles: true }))")
    page.click("#replay")
    page.says("half of the jobs start within")
    page.says("30 jobs since")
    equal(page.js("return [...document.querySelectorAll('.plot svg[role=img]')].length"), 4)
    page.press_button("Users as a table", "main")
    page.says("Each user")
    equal([study["asked"].split(",")[1].split("/")[0] for study in world.service.api("GET", "/studies")["studies"]], ["sjf"])
    page = world.sign_in("user", "#/whatif", user=NOBODY) if os.geteuid() == 0 else page
    if os.geteuid() == 0:
        page.says("Nothing is replayed yet")  # somebody else's is not shown


def a_model_is_planned_and_nonsense_is_said(world):
    home = os.path.join(world.service.dir, "home")
    os.makedirs(os.path.join(home, "strata"))
    with open(os.path.join(home, "strata", "experience.json"), "w", encoding="utf-8") as file:
        json.dump({"strata_experience": 1, "devices": {"cpu": {"Conv": {"slow": 1.0, "fast": 0.5, "count": 7}}}}, file)
    world.service.kill()
    world.service.start({"XDG_STATE_HOME": home})
    page = world.sign_in("user", "#/place")
    page.says("Drop an ONNX file here")
    name = "<img src=x onerror=document.title='owned'>.onnx"
    send = """const [name, text] = arguments, data = new DataTransfer(), bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
        data.items.add(new File([bytes], name)); const input = document.querySelector('#model-file'); input.files = data.files; input.dispatchEvent(new Event('change', { bubbles: true }));"""
    page.js(send, "no.onnx", base64.b64encode(b"\x08\x07garbage" * 50).decode())
    page.says("unknown wire type")
    with open(os.path.join(os.environ.get("STRATA_SOURCE", "."), "models", "digits", "unet", "model.onnx"), "rb") as file:
        page.js(send, name, base64.b64encode(file.read()).decode())
    page.says("One request takes about")
    page.says("Where the time goes")
    page.says("Operators seen on this machine took 2.00 times what is predicted")
    rows = page.js("return [...document.querySelectorAll('[aria-label=\"Predicted and observed\"] tbody tr')].map(row => [...row.children].map(cell => cell.innerText))")
    equal([row[2:] for row in rows if row[0] == "MatMul"], [["not observed yet", "–", "–"]])
    equal([(row[2], row[4]) for row in rows if row[0] == "Conv"], [("2.00", "7 times")])
    page.says("strata engine run MODEL")
    page.says(name)
    assert "owned" not in page.js("return document.title")
    assert page.js("return document.querySelectorAll('.lanes rect').length") > 100
    world.service.ask("POST", "/api/v1/generate?wait=60s", {"prompt": "a seven", "steps": 3})
    page.says("Observed")
    page.says("digits its own 1 1")


def people_are_changed_by_who_may(world):
    me = world.service.job(world.submit("sleep", "600", gpus=1))["user"]
    world.service.api("PUT", "/accounts/vision", {"weight": 3})
    page = world.sign_in("admin", "#/people")
    page.says(f"{me} (you)")
    page.click(f"button[aria-label='Change {me}']")
    page.type("#p-jobs", "many")
    page.click("[data-test=save]")
    page.says("'many' is not a number", "dialog")
    page.type("#p-jobs", "7")
    page.type("#p-weight", "2")
    page.click("[data-test=save]")
    page.says("7 jobs at a time")
    user = next(one for one in world.service.api("GET", "/users")["users"] if one["name"] == me)
    equal((user["weight"], user["limits"]["jobs"]), (2, 7))
    page.says("jobs nothing → 7")  # who changed what, from what to what
    page.says("weight nothing → 2")
    page.press_button("Accounts", "main")
    page.says("vision")
    world.service.api("PUT", "/users/ann", {})
    page = world.sign_in("user", "#/people")
    page.says(f"{me} (you)")
    equal(page.js("return document.querySelectorAll('button[aria-label^=Change]').length"), 0)
    page = world.sign_in("operator", "#/people")  # not of himself, not of accounts
    page.says(f"{me} (you)")
    equal(page.js("return [...document.querySelectorAll('button[aria-label^=Change]')].map(x => x.ariaLabel)"), ["Change ann"])
    page.click("button[aria-label='Change ann']")
    page.type("#p-gpus", "4")
    page.click("[data-test=save]")
    page.says("4 gpus at a time")
    page.says("gpus nothing → 4")
    page.press_button("Accounts", "main")
    page.says("vision")
    equal(page.js("return document.querySelectorAll('button[aria-label^=Change]').length"), 0)


def solvers_are_compared_side_by_side(world):
    page = world.sign_in("user", "#/generate?tab=compare")
    page.says("Nothing is compared yet")
    page.type("#c-prompt", "a seven")
    page.type("#c-steps", "2, 4, 12")
    page.click("#compare")
    page.wait("document.querySelectorAll('.compare img').length === 6", what="six pictures", patience=90)
    page.wait("[...document.querySelectorAll('.compare td p span:last-child')].filter(x => /^0\\.\\d{3}$/.test(x.innerText)).length === 4", what="how far each is from the last of its row")
    tasks = world.service.api("GET", "/tasks")["tasks"]
    equal(({task["parameters"]["prompt"] for task in tasks}, {task["seed"] for task in tasks}, sorted(task["steps"] for task in tasks)), ({"a seven"}, {1}, [2, 2, 4, 4, 12, 12]))


def a_job_has_its_flow(world):
    job = world.submit("sleep", "0.3", name="flowing", gpus=1)
    world.service.wait(job, "completed")
    page = world.sign_in("user", "#/timeline")
    page.wait("document.querySelector('.b-past')", what="its bar")
    page.js("document.querySelector('.b-past').focus()")
    page.keys("Enter")
    page.says("Its flow")
    page.js("[...document.querySelectorAll('main a')].find(a => a.innerText.startsWith('Its flow')).click()")
    page.says(f"What happened to job {job}")
    for word in ("waited", "ran"):
        page.says(word, "table")
    for word in ("submitted", "started", "ended: completed"):
        page.says(word, "[aria-label=When]")
    page.js("""const make = URL.createObjectURL; window.kept = null; URL.createObjectURL = blob => { blob.text().then(text => { window.kept = JSON.parse(text); }); return make(blob); };
        HTMLAnchorElement.prototype.click = function() { window.named = this.download; };""")
    page.press_button("Save for Perfetto", "main")
    page.wait("window.kept", what="the file")
    equal(page.js("return [window.named, window.kept.traceEvents.filter(one => one.ph === 'X' && one.tid === 1 && one.name === 'ran').length]"), [f"strata-job-{job}.json", 1])
    page = world.sign_in("user", "#/flow/999")
    page.says("There is no trace")


def what_happened_to_a_picture_goes_down_to_its_operators(world):
    world.service.ask("POST", "/api/v1/generate?wait=60s", {"prompt": "a seven", "seed": 4, "trace": True, "steps": 4})
    page = world.sign_in("user", "#/timeline")
    page.press_button("picture 1", "main")
    page.says("What took how long")
    page.hash("#/generate")
    page.press_button("What happened", "main")
    page.says("What took how long")
    for word in ("batch", "step", "row"):
        page.says(word, "table")
    slices = page.js("return document.querySelectorAll('.slice').length")
    page.js("document.querySelectorAll('.slice')[1].dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    page.wait("document.querySelector('.slice.on')", what="the slice looked into")
    page.keys("0")
    page.wait("document.querySelectorAll('.slice').length === arguments[0]", slices, what="all of it again")
    if os.geteuid() == 0:
        page = world.sign_in("user", "#/trace/1", user=NOBODY)
        page.says("There is no trace")


run(*tests())
