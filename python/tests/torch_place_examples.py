"""The examples of strata.place say what they should; questions and answers make schedulers."""
import glob
import io
import os
import subprocess
import sys
import tempfile

import package

package.enter_torch()
import place_models  # noqa: E402
from strata import place  # noqa: E402
from strata.errors import InvalidError  # noqa: E402

EXAMPLES = os.path.join(package.SOURCE, "python", "examples")
EXPECTED = {
    "place_adaptive": ["mode: auto", "workload_type: other", "expertise_level: beginner", "workload_type now: cnn", "basic: cost_estimation",
                       "semantic: cost_estimation, semantic_optimization, memory_optimization"],
    "place_basic": ["result: (4, 10)", "as without: True"],
    "place_llm": ["llm, prefill: logits (1, 8, 64)", "tokens: 16 as without: True", "calls: 7 decode, 2 prefill"],
    "place_profiles": ["basic_inference: 1 features, costs only: balances load, for simple inference", "unheard of: basic_inference", "with one more: True"],
    "place_progressive": ["at first: False", "schedules that went well: 12", "now: True", "semantic_optimization after 12: more than 10 schedules went well"],
    "place_research": ["priced: Gelu, Gemm", "gradients: True",
                       "features: cost_estimation, semantic_optimization, memory_optimization, advanced_optimization, experimental_optimizations"],
    "place_smart": ["torch 2 or newer: True", "mode fits: True", "two sets of one core: advanced"],
    "place_wizard": ["What is to run? [other] llm", "on: cost_estimation, semantic_optimization, memory_optimization"],
}


def the_examples_say_what_they_should():
    names = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(EXAMPLES, "place_*.py")))
    assert names == sorted(EXPECTED), names
    for name in names:
        with tempfile.TemporaryDirectory() as state:
            env = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), PYTHONUTF8="1", XDG_STATE_HOME=state)
            done = subprocess.run([sys.executable, os.path.join(EXAMPLES, name + ".py")], capture_output=True, encoding="utf-8", env=env, timeout=300,
                                  stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (name, done.stderr[-2000:])
        missing = [line for line in EXPECTED[name] if line not in done.stdout.splitlines()]
        assert not missing, (name, missing, done.stdout)


def answers_make_a_scheduler():
    said = io.StringIO()
    by = place.interactive_scheduler_setup(answers=io.StringIO(""), output=said, experience=None)
    assert by.profile == "basic_inference" and "Recommended profile: basic_inference" in said.getvalue()
    model, inputs = place_models.make("GPT-2")
    by = place.interactive_scheduler_setup(model, inputs, answers=io.StringIO("no\n"), output=said, experience=None)
    assert by.profile == "llm_serving" and "Workload of the model: llm" in said.getvalue()
    by = place.interactive_scheduler_setup(answers=io.StringIO("poem\ndiff\ny\nn\ny\n"), output=said, experience=None)
    assert "'poem' is not among the answers" in said.getvalue()
    flags = by.feature_flags
    assert not flags["semantic_optimization"] and flags["memory_optimization"] and not flags["advanced_optimization"], flags
    try:
        place.interactive_scheduler_setup(answers=io.StringIO("a\nb\nq\n"), output=said, experience=None)
    except InvalidError as wrong:
        assert "was not answered in 3 lines" in str(wrong)
    else:
        raise AssertionError("it took any answer")
    assert place.prompt_yes_no("Go on?", True, answers=io.StringIO("\n"), output=said)
    assert not place.prompt_yes_no("Go on?", True, answers=io.StringIO("N\n"), output=said)
    assert place.customize_profile("llm_serving", answers=io.StringIO(), output=said)["semantic_optimization"] is True


def docstrings_are_right():
    import doctest
    import importlib
    tried = 0
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        for name in ("capture", "capture.kinds", "capture.values", "place", "place.adaptive", "place.compile", "place.devices", "place.graph", "place.modules",
                     "place.scheduler", "place.strategies", "place.wizard"):
            result = doctest.testmod(importlib.import_module(f"strata.{name}"), report=True)
            assert result.failed == 0, name
            tried += result.attempted
    assert tried > 25, tried


package.run(the_examples_say_what_they_should, answers_make_a_scheduler, docstrings_are_right)
