"""strata.stage.minimal: hooks, entries and threads, without torch; the examples of the document run as it says."""
import contextlib
import doctest
import glob
import io
import os
import subprocess
import sys

import package

package.enter()
import strata.stage.minimal as minimal  # noqa: E402
from strata import errors  # noqa: E402
from strata.stage.minimal import FakeLayer, FakeModel, Scheduler, Step, forward_schedule, train_one_step  # noqa: E402

EXAMPLES = os.path.join(package.SOURCE, "python", "examples")


def steps(words):
    return [Step(*line.split()) for line in words.splitlines() if line.strip()]


def printed(function):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function()
    return out.getvalue().splitlines()


def every_hook_is_in_the_trace():
    scheduler = Scheduler(steps("fetch L1\ncompute L1\nrelease L1\nfetch L2\ncompute L2\nrelease L2"))
    model = FakeModel([FakeLayer("L1"), FakeLayer("L2")])
    lines = printed(lambda: train_one_step(model, scheduler, 1))
    assert lines == """[scheduler] step start
[scheduler] on_pre_forward(L1): fetch L1
[scheduler] on_pre_forward(L1): compute L1
[L1] forward
[scheduler] on_post_forward(L1): release L1
[scheduler] on_pre_forward(L2): fetch L2
[scheduler] on_pre_forward(L2): compute L2
[L2] forward
[scheduler] on_post_forward(L2): release L2
[scheduler] on_pre_backward(L2)
[scheduler] on_post_backward(L2)
[scheduler] on_pre_backward(L1)
[scheduler] on_post_backward(L1)
[scheduler] step end""".splitlines(), lines
    assert printed(lambda: train_one_step(model, scheduler, 1)) == lines


def a_schedule_that_goes_back_runs_entries_backward():
    scheduler = Scheduler(steps("fetch a\ncompute a\nfetch b\ncompute b\ncompute b\nrelease b\ncompute a\nrelease a"), quiet=True)
    printed(lambda: train_one_step(FakeModel([FakeLayer("a"), FakeLayer("b")]), scheduler, 1))
    assert [(event.hook, event.layer_name) for event in scheduler.events if event.kind == "compute"] == [
        ("on_pre_forward", "a"), ("on_pre_forward", "b"), ("on_pre_backward", "b"), ("on_pre_backward", "a")]


def a_prefetch_goes_on_while_a_layer_computes():
    scheduler = Scheduler(forward_schedule(["L1", "L2"], prefetch=True), latency=0.05, quiet=True)
    printed(lambda: train_one_step(FakeModel([FakeLayer("L1", 0.1), FakeLayer("L2")]), scheduler, 1))
    brought = next(event for event in scheduler.events if event.kind == "prefetch")
    released = next(event for event in scheduler.events if event.kind == "release" and event.layer_name == "L1")
    needed = next(event for event in scheduler.events if event.kind == "compute" and event.layer_name == "L2")
    assert brought.layer_name == "L2" and brought.begin < released.begin and brought.end <= needed.end, scheduler.events


def another_order_is_brought_at_once():
    scheduler = Scheduler(forward_schedule(["a", "b", "c"]))
    lines = printed(lambda: train_one_step(FakeModel([FakeLayer(name) for name in "cab"]), scheduler, 1))
    assert "[scheduler] on_pre_forward(c): fetch c (not as planned)" in lines, lines
    forwards = [line for line in lines if line.endswith("forward")]
    assert forwards == ["[c] forward", "[a] forward", "[b] forward"]


def what_is_wrong_is_said():
    for words, sentence in (("compute L1", "compute of L1"), ("fetch L1\ncompute L1\nrelease L1\nrelease L1", "releases L1, which is not there"),
                            ("load L1", "fetch, prefetch, compute, release"), ("", "without entries"), ("fetch L1", "computes nothing")):
        try:
            Scheduler(steps(words))
        except errors.InvalidError as wrong:
            assert sentence in str(wrong), wrong
        else:
            raise AssertionError(words)
    scheduler = Scheduler(forward_schedule(["a"]), quiet=True)
    scheduler.on_step_start()
    for call, kind in ((lambda: scheduler.on_pre_forward(FakeLayer("b")), errors.NotFoundError),
                       (lambda: scheduler.on_post_forward(FakeLayer("a")), errors.InvalidError)):
        try:
            call()
        except kind:
            continue
        raise AssertionError(kind)


def the_examples_run():
    for path in sorted(glob.glob(os.path.join(EXAMPLES, "stage_*.py"))):
        with open(path, encoding="utf-8") as file:
            if "import torch" in file.read():
                continue
        done = subprocess.run([sys.executable, path], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stdout, (path, done.stderr)
        if path.endswith("stage_prefetch.py"):
            assert "[scheduler] on_pre_forward(L1): prefetch L2" in done.stdout, done.stdout
    done = subprocess.run([sys.executable, "-m", "strata.stage.minimal"], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                          capture_output=True, text=True, check=True)
    assert done.stdout.count("step end") == 2


def the_docstrings_are_right():
    for module in (minimal, minimal.schedule, minimal.scheduler):
        assert doctest.testmod(module).failed == 0, module


package.run(every_hook_is_in_the_trace, a_schedule_that_goes_back_runs_entries_backward, a_prefetch_goes_on_while_a_layer_computes,
            another_order_is_brought_at_once, what_is_wrong_is_said, the_examples_run, the_docstrings_are_right)
