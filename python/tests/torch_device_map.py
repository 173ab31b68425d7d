"""strata.place.device_map beside accelerate's infer_auto_device_map: never slower by the same prices, and it works in dispatch_model.

    python3 python/tests/torch_device_map.py --times    also runs both maps on two sets of cores and prints what they take
"""
import copy
import itertools
import json
import logging
import math
import os
import sys
import tempfile
import time
import warnings

import package

package.enter_torch()
import torch  # noqa: E402
from accelerate import dispatch_model, infer_auto_device_map, init_empty_weights  # noqa: E402

logging.getLogger("accelerate").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", message="The following device_map keys")
import place_models  # noqa: E402
from strata import place  # noqa: E402
from strata.capture import Flattener  # noqa: E402
from strata.errors import InvalidError, NoSpaceError  # noqa: E402

torch.set_num_threads(1)
MODELS = ("GPT-2", "Llama", "T5", "CLIP")
SLOW, FAST = place.Reach(5e12, 2e11, 6000.0), place.Reach(2e13, 9e11, 6000.0)
# shares of the model that devices may hold, and what they reach where they are not alike
CASES = [({0: 0.6, 1: 0.6}, {}), ({0: 0.8, 1: 0.4}, {}), ({0: 0.45, 1: 0.45, 2: 0.45}, {}), ({0: 0.7, 1: 0.7}, {0: SLOW, 1: FAST}),
         ({0: 1.3, 1: 1.3}, {0: SLOW, 1: FAST}), ({0: 0.3, 1: 0.4, 2: 0.6}, {0: SLOW, 1: FAST, 2: SLOW}), ({0: 0.3, 1: 0.3, "cpu": 5.0}, {})]


def theirs_for(model, limits):
    return dict(infer_auto_device_map(model, max_memory=dict(limits), no_split_module_classes=model._no_split_modules))


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def never_slower_than_accelerate():
    ratios, beside = [], []
    for name in MODELS:
        model, inputs = place_models.make(name, layers=6, width=128)
        size = sum(one.numel() * one.element_size() for one in model.parameters())
        for shares, reach in CASES:
            limits = {key: int(share * size) for key, share in shares.items()}
            made = place.plan_modules(model, limits, inputs=inputs, reach=reach or None)
            other = theirs_for(model, limits)
            ours, theirs = made.simulate(made.device_map), made.simulate(other)
            assert ours <= theirs * (1 + 1e-9), (name, shares, ours, theirs)
            covered_and_within(model, made.device_map, limits)
            ratios.append(ours / theirs)
            if set(other.values()) <= set(limits):
                beside.append(ours / theirs)
    print(f"# {len(ratios)} maps of {', '.join(MODELS)} over two and three devices: {geometric(ratios):.3f} of accelerate's time in the mean, "
          f"{min(ratios):.3f} to {max(ratios):.3f}; where accelerate needs no disk ({len(beside)}) {geometric(beside):.3f}")


def covered_and_within(model, found, limits):
    used, seen = dict.fromkeys(limits, 0), set()
    for path, one in itertools.chain(model.named_parameters(remove_duplicate=False), model.named_buffers(remove_duplicate=False)):
        keys = [key for prefix, key in found.items() if prefix == "" or path == prefix or path.startswith(prefix + ".")]
        assert len(keys) == 1, (path, keys)
        if id(one) not in seen:
            seen.add(id(one))
            used[keys[0]] += one.numel() * one.element_size()
    assert all(used[key] <= limits[key] for key in limits), (used, limits)
    for path, module in model.named_modules():
        if type(module).__name__ in model._no_split_modules:
            inside = {key for prefix, key in found.items() if prefix.startswith(path + ".")}
            assert not inside, (path, inside)


def instances():
    with open(os.path.join(package.SOURCE, "tests", "data", "place", "instances.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def problem_of(one):
    devices = [place.Device(f"d{index}", capacity_bytes=int(row["capacity_bytes"])) for index, row in enumerate(one["devices"])]
    machine = place.Machine(tuple(devices), tuple(place.Reach(row["flops_per_s"], row["mem_bytes_per_s"], row["overhead_s"] * 1e9) for row in one["devices"]),
                            tuple(map(tuple, one["link_bytes_per_s"])), tuple(tuple(value * 1e9 for value in row) for row in one["link_latency_s"]))
    graph = place.Graph(one["id"], len(devices))
    for index, node in enumerate(one["nodes"]):
        graph.add_op(f"n{index}", flops=node["flops"], bytes=node["bytes"], weight_bytes=int(node["weight_bytes"]), kv_bytes=int(node["kv_bytes"]),
                     times_ns=[value * 1e9 for value in node["time_s"]], **({} if node["kv_device"] is None else {"kv_device": node["kv_device"]}))
    for source, target, size in one["edges"]:
        graph.add_edge(source, target, int(size))
    return place.Problem(graph.finish(), machine, in_order=True, activations_apart=True)


def accelerate_on(one):
    """What infer_auto_device_map does with modules of these sizes: the device of each node, None when it needs a disk."""
    model = torch.nn.Module()
    for index, node in enumerate(one["nodes"]):
        part = torch.nn.Module()
        part.weight = torch.nn.Parameter(torch.empty(int(node["weight_bytes"] + node["kv_bytes"]), dtype=torch.int8, device="meta"), requires_grad=False)
        model.add_module(f"n{index}", part)
    host = "+cpu" in one["platform"]
    count = len(one["devices"])
    keys = [*range(count - 1), "cpu"] if host else list(range(count))
    limits = {key: int(row["capacity_bytes"]) for key, row in zip(keys, one["devices"])}
    found = infer_auto_device_map(model, max_memory=limits)
    chosen = [found.get(f"n{index}", found.get("")) for index in range(len(one["nodes"]))]
    return [keys.index(key) for key in chosen] if all(key in keys for key in chosen) else None


def never_slower_on_the_small_placements():
    ratios, misfits, optimal = [], 0, 0
    for one in instances():
        problem = problem_of(one)
        plan = problem.plan("portfolio")
        chosen = accelerate_on(one)
        optimal += plan.latency_ns <= one["optimum_s"] * 1e9 * (1 + 1e-6)
        try:
            theirs = problem.simulate(chosen).latency_ns if chosen is not None else math.inf
        except NoSpaceError:
            theirs = math.inf
        assert plan.latency_ns <= theirs * (1 + 1e-9), (one["id"], plan.latency_ns, theirs)
        if math.isinf(theirs):
            misfits += 1
        else:
            ratios.append(plan.latency_ns / theirs)
    assert len(ratios) + misfits == 48 and optimal == 48, (len(ratios), misfits, optimal)
    print(f"# 48 small placements: all optimal; {geometric(ratios):.3f} of accelerate's time in the mean, {min(ratios):.3f} to {max(ratios):.3f}; "
          f"accelerate fits {len(ratios)} of them")


def both_maps_compute_the_same():
    for name in MODELS:
        for took in itertools.chain(*on_two_sets(name, rounds=1, layers=6, width=64)):
            assert 0 < took < math.inf


def on_two_sets(name, rounds, **words):
    """Seconds of a call by our map and by accelerate's, run in turn on two sets of cores: the fastest by the clock, and by processor time. Each map
    runs both ways round, because others may keep one core busier than the other; of the two processor times the mean counts."""
    model, inputs = place_models.make(name, **words)
    devices = place.devices_of(2) if len(os.sched_getaffinity(0)) > 1 else place.devices_of(["cpu:0", "cpu:0"])
    size = sum(one.numel() * one.element_size() for one in model.parameters())
    limits = {0: int(0.9 * size), 1: int(0.7 * size)}
    with torch.no_grad():
        made = place.plan_modules(model, limits, inputs=inputs, machine=place.machine_of(devices))
        expected = model(**inputs)
        flat = Flattener()
        flat.add(inputs)
        maps = made.device_map, theirs_for(model, limits)
        runs = [place.Executable(made.program, order, made.assign(one)) for order in (devices, devices[::-1]) for one in maps]
        spent = [watch(run) for run in runs]
        best = [math.inf, math.inf]
        for _ in range(rounds):
            for index, run in enumerate(runs):
                start = time.perf_counter()
                results = run.run(flat.leaves)
                best[index % 2] = min(best[index % 2], time.perf_counter() - start)
                assert torch.equal(results[0], tuple(expected.values())[0]), name
    took = [undisturbed(run, one, made.machine) for run, one in zip(runs, spent)]
    return best, [(took[0] + took[2]) / 2, (took[1] + took[3]) / 2]


def watch(run):
    """Seconds of processor time that each segment takes, the least of all runs, in a list that is filled as it runs."""
    spent = [math.inf] * len(run._segments)

    def watched(function, number):
        def call(*words):
            start = time.thread_time()
            result = function(*words)
            spent[number] = min(spent[number], time.thread_time() - start)
            return result
        return call
    for number, segment in enumerate(run._segments):
        segment.function = watched(segment.function, number)
    return spent


def undisturbed(run, spent, machine):
    """When the last segment ends if each takes its processor time and nobody else is on the machine: what the clock shows there."""
    free, ends = [0.0] * len(run.devices), [0.0] * len(spent)
    for number, segment in enumerate(run._segments):
        arrived = [ends[other] + machine.latency_ns[run._segments[other].device][segment.device] / 1e9 for other in segment.waits]
        ends[number] = free[segment.device] = max([free[segment.device], *arrived]) + spent[number]
    return max(ends)


def accelerate_runs_with_it():
    for name in MODELS:
        model, inputs = place_models.make(name)
        size = sum(one.numel() * one.element_size() for one in model.parameters())
        found = place.device_map(model, {"cpu": int(0.7 * size), "disk": 10 * size}, inputs=inputs)
        assert set(found.values()) == {"cpu", "disk"}, found
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            expected = model(**inputs)
            placed = dispatch_model(copy.deepcopy(model), device_map=found, main_device="cpu", offload_dir=folder)
            assert torch.equal(tuple(placed(**inputs).values())[0], tuple(expected.values())[0]), name


def models_without_weights_and_inputs_work():
    with init_empty_weights():
        model, inputs = place_models.make("GPT-2", layers=4)
    size = sum(one.numel() * one.element_size() for one in model.parameters())
    half = int(0.7 * size)
    assert set(place.device_map(model, {0: half, 1: half}, inputs=inputs, reach={0: SLOW, 1: SLOW}).values()) == {0, 1}
    model, _ = place_models.make("GPT-2", layers=4)
    assert set(place.device_map(model, {0: half, 1: half}).values()) == {0, 1}  # by its dummy_inputs
    plain = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(4)))
    assert place.device_map(plain, {0: 2500, 1: 2500}) == {"0": 0, "1": 0, "2": 1, "3": 1}  # as a chain of its modules
    assert place.device_map(plain, {0: "1MiB"}) == {"": 0}
    for bad, error, words in ((lambda: place.device_map(plain, {0: 100}), NoSpaceError, ""), (lambda: place.device_map(plain, {}), InvalidError, "no device"),
                              (lambda: place.device_map(plain, {"disk": 10**9}), InvalidError, "computes"),
                              (lambda: place.device_map(plain, {0: "much"}), InvalidError, "10GiB"),
                              (lambda: place.device_map(plain, {"gpu": "1GiB"}), InvalidError, "no device 'gpu'"),
                              (lambda: place.devices_of(["cuda:99"]), InvalidError, "'cuda:99': torch sees"),
                              (lambda: place.device_map(torch.nn.ReLU(), {0: 100}), InvalidError, "no weights")):
        try:
            bad()
        except error as wrong:
            assert words in str(wrong), wrong
        else:
            raise AssertionError(words)


if "--times" in sys.argv:  # and how many rounds
    for chosen in MODELS:
        clock, processor = on_two_sets(chosen, rounds=int(sys.argv[-1]) if sys.argv[-1].isdigit() else 40, layers=6, width=512)
        print(f"{chosen} on two sets of cores, our map and accelerate's: {1000 * processor[0]:.1f} and {1000 * processor[1]:.1f} ms by processor time "
              f"({processor[0] / processor[1]:.3f}), {1000 * clock[0]:.1f} and {1000 * clock[1]:.1f} by the clock ({clock[0] / clock[1]:.3f})", flush=True)
else:
    package.run(never_slower_than_accelerate, never_slower_on_the_small_placements, both_maps_compute_the_same, accelerate_runs_with_it,
                models_without_weights_and_inputs_work)
