#!/usr/bin/env python3
"""What people do on the page, done in a real browser."""
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
    page.wait("document.querySelector('#preview') ? document.querySelector('#preview').src !== arguments[0] : document.querySelector('.shot img')?.src", first, what="the preview changing", patience=60)
    page.wait("document.querySelector('.shot img')?.naturalWidth === 28", what="the picture", patience=60)
    page.says("1000", ".set")
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
    for place in ("#/now", "#/jobs", f"#/job/{job}", f"#/job/{job + 1}", "#/timeline", "#/generate", "#/submit?again=1", "#/you", "#/jobs?text=" + "%3Cimg%20src%3Dx%20onerror%3Dhacked%3D5%3E", "#/job/%3Cimg%20src=x%3E"):
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


run(*tests())
