"""strata.place with real models: every operator is known, results are eager's, plans are the C level's and are learned from."""
import collections
import copy
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import threading
import typing
import warnings
import zlib

import package

package.enter_torch()
STATE = tempfile.mkdtemp(prefix="strata-place-")
os.environ["XDG_STATE_HOME"] = STATE
import torch  # noqa: E402
import transformers  # noqa: E402

transformers.utils.logging.set_verbosity_error()
import place_models  # noqa: E402
from strata import place  # noqa: E402
from strata.capture import Flattener, capture  # noqa: E402
from strata.errors import Error, InvalidError, NoSpaceError, NotFoundError  # noqa: E402

torch.set_num_threads(1)
CORES = len(os.sched_getaffinity(0))


def scheduler(cls=place.AdaptiveScheduler, **words):
    return cls(**{"experience": None, **words})


def two_sets(**words):
    return scheduler(devices=2 if CORES > 1 else ["cpu:0", "cpu"], **words)


def spread(**words):
    """A scheduler that uses both devices, whatever that costs."""
    by = two_sets(**words)
    by.set_cost_model(lambda op, device: 1.0 if zlib.crc32(op.name.encode()) % 2 == by.devices.index(device) else 1000.0)
    return by


def tensors(value):
    flat = Flattener()
    flat.add(value)
    return flat.leaves


def same(one, other):
    left, right = tensors(one), tensors(other)
    return type(one) is type(other) and len(left) == len(right) > 0 and all(map(torch.equal, left, right))


def every_operator_is_known_and_shaped():
    ops = known = outputs = failed = 0
    names = collections.Counter()
    for name in place_models.MODELS:
        model, inputs = place_models.make(name)
        with torch.no_grad():
            program = capture(model, (), inputs).program
        ops, known = ops + len(program.ops), known + len(program.ops) - len(program.unknown)
        outputs, failed = outputs + sum(len(op.outputs) for op in program.ops), failed + program.failed_shapes
        names.update(op.target for op in program.ops)
        named = sum(1 for op in program.ops if op.layer)
        assert named > len(program.ops) / 2, (name, named)
        held = sum(one.numel() * one.element_size() for one in model.parameters())
        assert held <= program.weight_bytes <= held * 1.05, (name, held, program.weight_bytes)
    print(f"# {known} of {ops} operators known ({100 * known / ops:.1f} %), {len(names)} different ones; {failed} of {outputs} shapes failed")
    assert known >= 0.95 * ops and failed < 0.01 * outputs


WORKLOADS = {"GPT-2": ("llm", "prefill"), "BERT": ("other", "encode"), "Llama": ("llm", "prefill"), "T5": ("llm", "prefill"),
             "ViT": ("other", "encode"), "CLIP": ("multimodal", "encode"), "UNet2DCondition": ("diffusion", "denoise")}


def results_are_those_of_eager():
    for by in (scheduler(), two_sets()):
        for name in place_models.MODELS:
            model, inputs = place_models.make(name)
            with torch.no_grad():
                expected = model(**inputs)
                for _ in range(6):  # the first, those that are timed, and after planning anew
                    result = by.execute(model, inputs)
                    assert same(result, expected), name
            found = by.last.findings
            assert (found.workload, found.phase) == WORKLOADS[name], (name, found)
            assert by.last.program.name == type(model).__name__
        assert by.usage_stats["successful_schedules"] == 6 * len(place_models.MODELS) and not by.usage_stats["failed_schedules"]
        assert by.trouble is None


def in_turn_on_two_devices_they_are_the_same():
    devices = two_sets().devices
    for name in place_models.MODELS:
        model, inputs = place_models.make(name)
        flat = Flattener()
        flat.add(inputs)
        with torch.no_grad():
            taken, expected = capture(model, (), inputs), model(**inputs)
            ops = taken.program.ops
            run = place.Executable(taken.program, devices, [(op.group or index) % 2 for index, op in enumerate(ops)])
            times = [0] * len(ops)
            for words in ((), (), (times,)):
                assert same(taken.finish(run.run(flat.leaves, *words), []), expected), name
        assert all(times), name


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Both:
    sum: torch.Tensor
    parts: typing.Any
    note: str


class Nested(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x, *, more, scale=1.0):
        left, right = self.one(x), self.two(more["deep"][0]) * scale
        if isinstance(more["pair"], Pair):
            left = left + more["pair"].left
        return Both(left + right, {"pair": Pair(left, right), "list": [x, None, (right,)], 3: more["deep"][0]}, "done")


def nested_inputs_and_outputs():
    model, x = Nested(), torch.randn(2, 4)
    more = {"deep": [torch.randn(2, 4), "text"], "pair": Pair(torch.randn(2, 4), None)}
    for by in (scheduler(), spread()):
        result, expected = by.execute(model, x, more=more, scale=0.5), model(x, more=more, scale=0.5)
        assert same(result, expected) and result.note == "done" and isinstance(result.parts["pair"], Pair)
        assert result.parts["list"][1] is None and type(result.parts["list"][2]) is tuple
        assert same(by.execute(model, {"x": x, "more": more}), model(x, more=more))
        assert same(by.execute(model, (x,), more=more, scale=2.0), model(x, more=more, scale=2.0))
        assert by.trouble is None


def weights_are_read_where_they_are():
    model, x = torch.nn.Linear(4, 2), torch.randn(3, 4)
    by = scheduler()
    by.execute(model, x)
    with torch.no_grad():
        model.weight.mul_(2)
    model.bias = torch.nn.Parameter(torch.ones(2))
    assert torch.equal(by.execute(model, x), model(x))
    assert by.last.calls == 2


def tied_weights_stay_together():
    model, inputs = place_models.make("GPT-2")
    by = spread()
    with torch.no_grad():
        by.execute(model, inputs)
    program, found = by.last.program, by.last.findings
    tied = [index for index, tensor in enumerate(program.tensors) if tensor.tied]
    readers = [number for number, op in enumerate(program.ops) if set(op.inputs) & set(tied)]
    assert found.tied_bytes == model.lm_head.weight.numel() * 4 or len(tied) == 1, (found, tied)
    assert len(readers) == 2 and len({by.last.plan.device[number] for number in readers}) == 1


def generate_is_placed_by_phase():
    for name in ("GPT-2", "Llama", "T5"):
        model, inputs = place_models.make(name)
        ids, words = inputs["input_ids"], {"max_new_tokens": 12, "do_sample": False, "attention_mask": torch.ones_like(inputs["input_ids"]),
                                           "pad_token_id": 0}
        expected = model.generate(ids, **words)
        by = two_sets()
        with by.placed(model):
            assert torch.equal(model.generate(ids, **words), expected), name
            assert torch.equal(model.generate(ids, **words), expected), name
        assert by.phases == {"prefill": 2, "decode": 22} and by.trouble is None, (name, by.phases, by.trouble)
        assert "forward" not in vars(model)
        captures = sum(len(known) for known in by._placed[model].values())
        assert captures == 3, captures  # prefill, one decode step, decode with a cache that grows


def training_works():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 4))
    x = torch.randn(4, 8)
    for by in (scheduler(), spread()):
        for _ in range(3):
            grads = []
            for call in (lambda: by.execute(model, x), lambda: model(x)):
                model.zero_grad()
                torch.manual_seed(2)
                call().sum().backward()
                grads.append([one.grad.clone() for one in model.parameters()])
            assert all(map(torch.equal, *grads))
    norm = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    other, x = copy.deepcopy(norm), torch.randn(2, 3, 8, 8)
    for _ in range(3):
        assert torch.equal(by.execute(norm, x), other(x))
    assert all(map(torch.equal, norm.buffers(), other.buffers())) and int(norm[1].num_batches_tracked) == 3
    norm.eval(), other.eval()
    assert torch.equal(by.execute(norm, x), other(x))


class Within(torch.nn.Module):
    """Parts of it without gradients, and in another precision."""

    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            x = self.one(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.two(x)
        return y.float()


def blocks_keep_what_they_run_within():
    model, x = Within(), torch.randn(2, 4)
    for by in (scheduler(), spread()):
        for _ in range(3):
            model.zero_grad()
            result = by.execute(model, x)
            assert torch.equal(result, model(x)) and by.trouble is None, by.trouble
            result.sum().backward()
            assert model.one.weight.grad is None and model.two.weight.grad is not None
        assert not by.last.program.unknown


def a_cost_model_of_ones_own_decides():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
    by, asked = two_sets(mode="advanced"), []
    names = [device.name for device in by.devices]

    def cost(op, device):
        asked.append((op.kind, device.name))
        return 1.0 if (op.kind == "Relu") == (device.name == names[0]) else 1000.0
    by.set_cost_model(cost)
    x = torch.randn(2, 8)
    assert torch.equal(by.execute(model, x), model(x))
    assert set(asked) == {(kind, name) for kind in ("Gemm", "Relu") for name in names}
    assert [by.devices[number].name for number in by.last.plan.device] == [names[1], names[0], names[1]]
    assert abs(by.last.plan.latency_ns - 3e9) < 1e6 and by.capabilities["expertise_level"] == "expert"
    by.set_cost_model(lambda op, device: 1.0 if device.name == names[0] else 2.0)
    by.execute(model, x)
    assert set(by.last.plan.device) == {0}
    by.set_cost_model(lambda op, device: float("nan"))
    try:
        by.execute(model, x)
    except InvalidError as wrong:
        assert "expected seconds" in str(wrong)
    else:
        raise AssertionError("it took no number for a time")
    by.set_cost_model(None)
    assert torch.equal(by.execute(model, x), model(x))


def names_and_behaviour_of_the_document():
    assert {"basic_inference", "llm_serving", "research_training"} <= set(place.SCHEDULER_PROFILES)
    for name, profile in place.SCHEDULER_PROFILES.items():
        by = place.create_scheduler_for_workload(name, experience=None)
        for feature, on in profile.items():
            assert feature == "description" or by.feature_flags[feature] is on, (name, feature)
    assert place.create_scheduler_for_workload("something", experience=None).profile == "basic_inference"
    by = scheduler(mode="auto")
    assert set(by.capabilities) == {"devices", "network_topology", "workload_type", "expertise_level"}
    assert [one.name for one in by.strategies] == ["LoadBalancingStrategy"]
    by = two_sets(mode="advanced")
    names = [one.name for one in by.strategies]
    assert names == ["LoadBalancingStrategy", "SemanticOptimizationStrategy", "MemoryAwareOptimizationStrategy", "MultiDeviceOptimizationStrategy",
                     "AdvancedOptimizationStrategy"], names
    by.enable_feature("experimental_optimizations", True)
    assert by.feature_flags["experimental_optimizations"]
    by.enable_feature("memory_optimization", False)
    assert not by.feature_flags["memory_optimization"]
    for bad, error, words in ((lambda: by.enable_feature("semantic_optimisation"), NotFoundError, "did you mean semantic_optimization"),
                              (lambda: by.enable_feature("cost_estimation", False), InvalidError, "stays on"),
                              (lambda: scheduler(mode="clever"), InvalidError, "expected auto, basic"),
                              (lambda: scheduler(devices=[]), InvalidError, "at least one"),
                              (lambda: scheduler(devices=999), InvalidError, "expected 1 to"),
                              (lambda: scheduler(devices=["cpu:x"]), InvalidError, "names no cores"),
                              (lambda: scheduler(rules=[("*", "gpu9")]), NotFoundError, "there is no device"),
                              (lambda: place.create_scheduler_from_profile("llm_servin"), NotFoundError, "llm_serving"),
                              (lambda: by.set_cost_model(3), InvalidError, "called with an op")):
        try:
            bad()
        except error as wrong:
            assert words in str(wrong), wrong
        else:
            raise AssertionError(words)
    assert place.create_smart_scheduler(devices=["cpu"], experience=None).mode == "basic"
    assert place.create_smart_scheduler(devices=["cpu", "cpu"], experience=None).mode == "advanced"


def what_was_learned_is_kept_between_runs():
    path = os.path.join(STATE, "kept", "experience.json")
    program = ("import sys, torch\nfrom strata import place\nmodel = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())\n"
               f"by = place.AdaptiveScheduler(experience={path!r})\n"
               "for _ in range(7):\n    by.execute(model, torch.ones(1, 8))\n"
               "print(by.usage_stats['successful_schedules'], by.feature_flags['semantic_optimization'], round(by._corrections.factor('Tanh', 0), 6) != 1)")
    said = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=300,
                              env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
        assert done.returncode == 0 and not done.stderr, done
        said.append(done.stdout.split())
    assert [line[0] for line in said] == ["7", "14", "21"] and [line[1] for line in said] == ["False", "True", "True"], said
    assert all(line[2] == "True" for line in said)
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    assert kept["schedules"]["all"] == 21 and "Tanh" in kept["devices"]["cpu torch"] and kept["features"]["semantic_optimization"]["on"]
    program = os.path.join(package.BUILD, "strata")
    if os.path.exists(program):
        done = subprocess.run([program, "place", "experience", path], capture_output=True, encoding="utf-8", timeout=60)
        assert done.returncode == 0 and "cpu torch" in done.stdout and "21 plans, 0 failed" in done.stdout, done
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"strata_experience": 1, "devices": {}, "schedules": {"all": 1, "successes": 5}, "features": {}}')
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        by = scheduler(experience=path)
    assert "more outcomes than schedules" in str(seen[0].message) and by.usage_stats["schedules"] == 0


class Branch(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x):
        x = self.one(x)
        x = torch.relu(x) if x.sum() > 0 else x * 2
        return {"y": self.two(x)}


class BySize(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] > 6:
            return x * 2
        return x + (1 if x.shape[0] * 2 == y.shape[0] else 3)


def sizes_decide_as_in_eager():
    by, model = scheduler(), BySize()
    for rows, more in ((3, 6), (4, 8), (5, 10), (5, 11), (6, 9), (8, 16), (9, 4), (2, 4), (1, 2)):
        x, y = torch.ones(rows, 2), torch.ones(more)
        assert torch.equal(by.execute(model, (x, y)), model(x, y)), (rows, more)


class Scaled(torch.nn.Module):
    def forward(self, x, by):
        return x * by.scale


class Scale:
    scale = 2.0


def objects_that_may_change_are_looked_at_again():
    by, model, scale, x = scheduler(), Scaled(), Scale(), torch.ones(3)
    for value in (2.0, 3.0, 3.0, 5.0):
        scale.scale = value
        assert torch.equal(by.execute(model, x, by=scale), x * value), value


class Opaque(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(8, 8)

    @torch._dynamo.disable
    def forward(self, x):
        return torch.from_numpy(self.one(x).detach().numpy() + 1)


def models_that_cannot_be_exported_run_too():
    by, model = two_sets(), Branch()
    kinds = set()
    for seed in range(8):
        torch.manual_seed(seed)
        x = torch.randn(4, 8)
        assert same(by.execute(model, x), model(x))
        kinds.add(tuple(op.kind for op in by.last.program.ops))
    assert kinds == {("Relu", "Gemm"), ("Mul", "Gemm")}, kinds  # behind the branch, by dynamo's graphs
    assert "data-dependent" in str(by.trouble)
    model = Opaque()
    for _ in range(3):
        assert torch.equal(by.execute(model, x), model(x))
    assert [op.kind for op in by.last.program.ops] == ["python::module"] and by.last.calls == 3
    for wrong in (torch.randn(4, 9), "text"):
        try:
            by.execute(Branch(), wrong)
        except Exception as trouble:
            assert not isinstance(trouble, Error), trouble
        else:
            raise AssertionError("it took an input that does not fit")


def compile_has_a_backend():
    assert "strata" in torch._dynamo.list_backends()
    for name in ("GPT-2", "UNet2DCondition"):
        model, inputs = place_models.make(name)
        by = two_sets()
        with torch.no_grad():
            compiled = torch.compile(model, backend="strata", options={"scheduler": by})
            for _ in range(5):
                assert torch.equal(compiled(**inputs)[0], model(**inputs)[0]), name
        assert by.usage_stats["successful_schedules"] == 5 and not by.last.program.unknown
    model = torch.compile(torch.nn.Linear(8, 4), backend="strata")
    for rows in (3, 5, 7):
        assert model(torch.randn(rows, 8)).shape == (rows, 4)
    by = two_sets()
    compiled = torch.compile(lambda x: torch.cat([x.reshape(x.shape[0] * 2, -1), x.new_ones(2 * x.shape[0], 1)], 1).sum(0) * x.shape[0],
                             backend="strata", options={"scheduler": by})
    for rows in (3, 5, 7, 9):  # shapes that vary are no constants
        x = torch.randn(rows, 8)
        assert torch.equal(compiled(x), torch.cat([x.reshape(rows * 2, -1), x.new_ones(2 * rows, 1)], 1).sum(0) * rows), rows
    assert by.usage_stats["successful_schedules"] == 4
    model, x = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)), torch.randn(2, 8)
    compiled, grads = torch.compile(model, backend="strata"), []
    for one in (model, compiled):
        model.zero_grad()
        torch.manual_seed(3)
        one(x).sum().backward()
        grads.append(model[0].weight.grad.clone())
    assert torch.equal(*grads)


class Counted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.one(x) + torch.arange(4, device=x.device)


def what_runs_elsewhere_is_moved_there():
    model, x = Counted(), torch.randn(2, 4)
    with torch.no_grad():
        taken = capture(model, (x,), {})
        for node in taken.program.results:
            node.meta["val"] = torch.empty(2, 4, device="meta")  # it stays there: nothing comes back from such a device
        run = place.Executable(taken.program, [place.Device("cpu"), place.Device("other", torch.device("meta"))], [1] * len(taken.program.ops))
        for words in ((), ([0] * len(taken.program.ops),)):
            (result,) = run.run([x], *words)
            assert result.device.type == "meta" and result.shape == (2, 4)
        moved = dict(run._copies)
        assert len(moved) == 2  # weight and bias, which stay there
        run.run([x])
        assert run._copies == moved
        model.one.weight.mul_(2)
        run.run([x])
        assert sum(run._copies[key] is not moved[key] for key in moved) == 1


def threads_may_share_a_scheduler():
    by, models = spread(), [place_models.make(name) for name in ("GPT-2", "ViT")]
    expected, wrong = [], []
    with torch.no_grad():
        for model, inputs in models:
            expected.append(model(**inputs))
            by.execute(model, inputs)

    def work(index):
        model, inputs = models[index]
        with torch.no_grad():
            for _ in range(20):
                if not same(by.execute(model, inputs), expected[index]):
                    wrong.append(index)
    threads = [threading.Thread(target=work, args=(number % 2,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads) and not wrong, wrong
    assert by.usage_stats["successful_schedules"] == 82


def what_does_not_fit_is_said():
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Linear(256, 256))
    small = [place.Device("small", capacity_bytes=300_000), place.Device("other", capacity_bytes=300_000)]
    by = scheduler(devices=small)
    x = torch.randn(2, 256)
    assert torch.equal(by.execute(model, x), model(x))
    assert sorted(set(by.last.plan.device)) == [0, 1] and by.last.plan.weight_bytes == (263168, 263168)
    try:
        scheduler(devices=small[:1]).execute(model, x)
    except NoSpaceError as wrong:
        assert "small" in str(wrong) or "fit" in str(wrong), wrong
    else:
        raise AssertionError("it placed what does not fit")


package.run(every_operator_is_known_and_shaped, results_are_those_of_eager, in_turn_on_two_devices_they_are_the_same, nested_inputs_and_outputs, weights_are_read_where_they_are,
            tied_weights_stay_together, generate_is_placed_by_phase, training_works, blocks_keep_what_they_run_within,
            a_cost_model_of_ones_own_decides, names_and_behaviour_of_the_document, what_was_learned_is_kept_between_runs, objects_that_may_change_are_looked_at_again,
            sizes_decide_as_in_eager,
            models_that_cannot_be_exported_run_too, compile_has_a_backend, what_runs_elsewhere_is_moved_there, threads_may_share_a_scheduler, what_does_not_fit_is_said)
