#!/usr/bin/env python3
"""Every page in both themes: a screenshot in build/web-shots, to be looked at; axe-core finds nothing; the console says nothing."""
import os
import time

from world import NOBODY, Skip, axe_is_there, equal, run, settings, shots_dir, violations

MODEL = os.path.join(os.environ.get("STRATA_SOURCE", "."), "models", "digits", "unet", "model.onnx")
WORK = "i=0; while [ $i -lt 400 ]; do i=$((i + 1)); printf '\\033[2m12:00:%02d\\033[0m \\033[34mINFO\\033[0m  step \\033[1m%d\\033[0m  loss \\033[32m1.4%d\\033[0m\\n' $((i % 60)) $i $((i * 7 % 100)); sleep 0.3; done"
RUNNING = [("llm-7b-sft", 4, "8h"), ("vit-large", 2, "3h"), ("eval-mmlu", 1, "1h"), ("llm-13b-dpo", 8, "1d"), ("render-sim", 2, "2h")]
WAITING = [("llm-70b-eval", 8), ("vit-huge", 4), ("diffusion-ft", 2), ("ocr-train", 4), ("ctrl-rl", 8)]


def fill(world):
    """A cluster at work: jobs in every state, a node that is down, one that is drained, pictures."""
    make_past(world)
    for name, gpus, limit in RUNNING:
        world.submit("sh", "-c", WORK, name=name, gpus=gpus, time_limit=limit, cpus_per_task=4, memory="32G")
    for name, gpus in WAITING:
        world.submit("sleep", "600", name=name, gpus=gpus, time_limit="3h")
    world.submit("sleep", "600", name="report", dependencies="afterok:73")
    world.submit("sleep", "600", name="sim-batch", hold=True)
    failed = world.submit("sh", "-c", "echo 'reading 212 shards'; echo 'strata: it went wrong' >&2; exit 3", name="tok-train", time_limit="5m")
    world.service.wait(failed, "failed")
    world.service.api("PATCH", "/nodes/c1", {"state": "drained", "reason": "fan 3 fails; parts come on Tuesday"})
    world.service.api("PATCH", "/nodes/c2", {"state": "down", "reason": "no sign of life"})
    for prompt in ("a seven", "a three", "a one"):
        world.service.ask("POST", "/api/v1/generate?wait=30s", {"prompt": prompt, "seed": 4, "trace": True})
    study(world, "studies", {"policies": ["", "sjf/easy"]})
    with open(MODEL, "rb") as file:
        study(world, "plans?name=unet.onnx", file.read())
    return failed


def make_past(world):
    """Jobs of three users that had to wait for each other, to be replayed."""
    others = {"user": NOBODY, "role": "user"}
    token = world.service.api("POST", "/tokens", others, 201)["token"] if os.geteuid() == 0 else None
    for i in range(72):
        gpus = (1, 2, 4, 8, 1, 4)[i % 6]
        job = {"command": ["sleep", str(0.2 + i % 5 * 0.3)], "working_dir": "/tmp", "output": "/dev/null", "gpus": gpus, "time_limit": ("1h", "10m", "2h")[i % 3]}
        world.service.api("POST", "/jobs", job, 201, token=token if i % 3 == 1 else None)
    while world.service.api("GET", "/queue")["jobs"]:
        time.sleep(0.2)


def study(world, what, body):
    """Asked for and done, so that the page finds it."""
    study = world.service.api("POST", f"/{what}", body, 202)
    while (now := world.service.api("GET", f"/studies/{study['id']}"))["state"] in ("waiting", "running"):
        time.sleep(0.1)
    equal((now["state"], now["error"]), ("done", None))


def places(failed):
    return {"now": ("#/now", "GPUs are busy"), "jobs": ("#/jobs", "llm-7b-sft"), "jobs-failed": ("#/jobs?state=failed", "tok-train"), "job-runs": ("#/job/73", "step"),
            "job-waits": ("#/job/79", "Why it waits"), "job-failed": (f"#/job/{failed}", "exit status 3"), "timeline": ("#/timeline", "Next:"), "submit": ("#/submit", "What will happen"),
            "submit-script": ("#/submit?tab=script", "Batch script"), "generate": ("#/generate", "a seven"), "you": ("#/you", "this one"),
            "flow": (f"#/flow/{failed}", "From submission to end"), "trace": ("#/trace/1", "What took how long"), "compare": ("#/generate?tab=compare", "Nothing is compared yet"),
            "whatif": ("#/whatif", "half of the jobs start"), "place": ("#/place", "One request takes"), "people": ("#/people", "GPU hours, faded")}


def theme(page, wanted):
    page.js("document.documentElement.dataset.theme = arguments[0]", wanted)


def look(page, name, problems):
    page.shot(os.path.join(shots_dir(), f"{name}.png"))
    if axe_is_there():
        problems += [f"{name}: {line}" for line in violations(page)]
    problems += [f"{name}: {line}" for line in page.complaints()]


@settings(nodes="a:count=2:cpus=64:memory=512G:gpus=8:gpu_type=a100")
def every_page_in_both_themes(world):
    problems = []
    world.browser.go(world.url)
    world.browser.says("Sign in to Strata")
    for colour in ("light", "dark"):
        theme(world.browser, colour)
        look(world.browser, f"sign-in-{colour}", problems)
    failed = fill(world)
    time.sleep(3)  # two points of what jobs use
    page = world.sign_in()
    for name, (place, words) in places(failed).items():
        page.hash(place)
        page.says(words)
        time.sleep(0.7)
        for colour in ("light", "dark"):
            theme(page, colour)
            look(page, f"{name}-{colour}", problems)
    page.hash("#/generate?tab=compare")
    page.type("#c-prompt", "a seven")
    page.click("#compare")
    page.wait("document.querySelectorAll('.compare img').length === 6", what="six pictures", patience=90)
    time.sleep(1)
    for colour in ("light", "dark"):
        theme(page, colour)
        look(page, f"compared-{colour}", problems)
    assert not problems, "\n".join(problems)


every_page_in_both_themes.arguments = ["--node", "c:count=2:cpus=32:memory=256G:gpus=4:gpu_type=l40s"]


def empty_pages_say_what_to_do(world):
    problems = []
    page = world.sign_in()
    for name, place, words in (("now", "#/now", "The queue is empty"), ("jobs", "#/jobs", "Nothing runs, nothing waits"), ("generate", "#/generate", "No pictures yet")):
        page.hash(place)
        page.says(words)
        theme(page, "light")
        look(page, f"empty-{name}", problems)
    assert not problems, "\n".join(problems)


def what_lies_over_the_page(world):
    problems = []
    job = world.submit("sleep", "600", name="vit-huge", gpus=4)
    world.service.wait(job, "running")
    page = world.sign_in(page=f"#/job/{job}")
    page.says("running")
    theme(page, "light")
    page.keys("x")
    page.says("Cancel vit-huge?", "dialog")
    look(page, "dialog", problems)
    page.keys("Escape")
    page.keys("?")
    page.says("Keys", "dialog")
    look(page, "keys", problems)
    page.keys("Escape")
    page.keys("Control+k")
    page.wait("document.activeElement.id === 'find'")
    page.keys(*"vit")
    page.says("vit-huge", "dialog")
    theme(page, "dark")
    look(page, "find", problems)
    assert not problems, "\n".join(problems)


def phones(world):
    job = world.submit("sh", "-c", WORK, name="llm-7b-sft", gpus=2, time_limit="8h")
    world.service.wait(job, "running")
    problems = []
    page = world.sign_in()
    page.resize(390, 844, mobile=True)
    for name, place in (("now", "#/now"), ("jobs", "#/jobs"), ("job", f"#/job/{job}"), ("timeline", "#/timeline"), ("submit", "#/submit"), ("generate", "#/generate"), ("whatif", "#/whatif"), ("place", "#/place"), ("people", "#/people")):
        page.hash(place)
        page.wait("document.querySelector('main h1')")
        time.sleep(0.6)
        theme(page, "dark")
        look(page, f"phone-{name}", problems)
    assert not problems, "\n".join(problems)


def colours_can_be_read_with_more_contrast_and_less_motion(world):
    page = world.sign_in()
    page.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}, {"name": "prefers-contrast", "value": "more"}])
    try:
        page.says("GPUs are free")
        equal(page.js("return getComputedStyle(document.querySelector('.stats')).animationName"), "none")
        if not axe_is_there():
            raise Skip("there is no axe-core in the build directory: npm puts it there")
        equal(violations(page), [])
    finally:
        page.cdp("Emulation.setEmulatedMedia", features=[])


run(every_page_in_both_themes, empty_pages_say_what_to_do, what_lies_over_the_page, phones, colours_can_be_read_with_more_contrast_and_less_motion)
