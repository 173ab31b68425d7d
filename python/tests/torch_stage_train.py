"""Training with strata.offload: the numbers of training without it, bit for bit; what a crash leaves."""
import os
import signal
import subprocess
import sys
import tempfile
import time

import package

package.enter_torch()
import torch  # noqa: E402

import strata  # noqa: E402
from strata import errors  # noqa: E402

torch.set_num_threads(1)
OPTIMIZERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "SGD with momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3),
    "AdamW, amsgrad": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, amsgrad=True),
    "RMSprop": lambda parameters: torch.optim.RMSprop(parameters, lr=1e-3),
}


def gpt2(**words):
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(**{"n_layer": 4, "n_embd": 128, "n_head": 4, "vocab_size": 1000, "bos_token_id": 0, "eos_token_id": 0,
                                         "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0, **words}))


def bytes_of(model):
    return sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())


def batch(number):
    return torch.randint(0, 1000, (2, 16), generator=torch.Generator().manual_seed(number))


def train(model, optimizer, numbers, schedule=None):
    losses = []
    for number in numbers:
        loss = model(batch(number), labels=batch(number)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if schedule is not None:
            schedule.step()
        losses.append(loss.item())
    return losses


def same_numbers(model, other):
    return all(torch.equal(value, there) for value, there in zip(model.state_dict().values(), other.state_dict().values()))


def same_state(optimizer, other):
    one, two = optimizer.state_dict()["state"], other.state_dict()["state"]
    return one.keys() == two.keys() and all(
        torch.equal(torch.as_tensor(value), torch.as_tensor(two[which][key])) for which, state in one.items() for key, value in state.items()
        if value is not None)


def every_optimizer_gives_the_same_bits():
    said = []
    for name, make in OPTIMIZERS.items():
        for share in (0.6, 1.0, 6.0):
            plain, staged = gpt2(), gpt2()
            optimizers = make(plain.parameters()), make(staged.parameters())
            budget = int(bytes_of(staged) * share)
            with strata.offload(staged, budget=budget, optimizer=optimizers[1]) as h:
                assert train(plain, optimizers[0], range(4)) == train(staged, optimizers[1], range(4)), name
                stats = h.stats()
                assert stats.peak_bytes <= stats.memory_bytes <= budget, (name, stats)
                assert same_numbers(plain, staged) and same_state(*optimizers), name
                with torch.no_grad():  # in between
                    assert torch.equal(plain.eval()(batch(9)).logits, staged.eval()(batch(9)).logits)
                    plain.train(), staged.train()
                assert train(plain, optimizers[0], range(4, 6)) == train(staged, optimizers[1], range(4, 6)), name
            assert same_numbers(plain, staged) and same_state(*optimizers), name
            assert train(plain, optimizers[0], range(2)) == train(staged, optimizers[1], range(2)), name
            if share < 1:
                assert stats.bytes_written > 0 and stats.gradient_bytes == 1024 * 128 * 4, stats  # of the positions
                said.append(f"{name} within {share} of the weights: {stats.bytes_read / stats.steps / stats.total_bytes:.2f} of the weights read a "
                            f"step, {stats.bytes_written / stats.steps / stats.total_bytes:.2f} written")
    return "\n".join(said)


def state_that_was_there_goes_on():
    plain, staged = gpt2(), gpt2()
    optimizers = [OPTIMIZERS["AdamW"](model.parameters()) for model in (plain, staged)]
    train(plain, optimizers[0], range(3))
    train(staged, optimizers[1], range(3))
    schedules = [torch.optim.lr_scheduler.StepLR(optimizers[0], 2, 0.5)]
    with strata.offload(staged, budget=bytes_of(staged), optimizer=optimizers[1]):
        schedules.append(torch.optim.lr_scheduler.StepLR(optimizers[1], 2, 0.5))
        assert train(plain, optimizers[0], range(4), schedules[0]) == train(staged, optimizers[1], range(4), schedules[1])
    assert same_numbers(plain, staged) and same_state(*optimizers)


def blocks_may_be_computed_again():
    plain, staged = gpt2(), gpt2()
    optimizers = [OPTIMIZERS["AdamW"](model.parameters()) for model in (plain, staged)]
    for model in (plain, staged):
        model.gradient_checkpointing_enable({"use_reentrant": False})
    with strata.offload(staged, budget=bytes_of(staged), optimizer=optimizers[1]):
        assert train(plain, optimizers[0], range(3)) == train(staged, optimizers[1], range(3))
    assert same_numbers(plain, staged)


def groups_and_frozen_parameters():
    models = gpt2(), gpt2()
    optimizers = []
    for model in models:
        for parameter in model.transformer.h[1].parameters():
            parameter.requires_grad_(False)
        wide = [parameter for parameter in model.parameters() if parameter.dim() > 1 and parameter.requires_grad]
        flat = [parameter for parameter in model.parameters() if parameter.dim() <= 1 and parameter.requires_grad]
        optimizers.append(torch.optim.AdamW([{"params": wide}, {"params": flat, "weight_decay": 0.0, "lr": 1e-4}], lr=1e-3))
    with strata.offload(models[1], budget=bytes_of(models[1]), optimizer=optimizers[1]):
        assert train(models[0], optimizers[0], range(4)) == train(models[1], optimizers[1], range(4))
    assert same_numbers(*models) and same_state(*optimizers)


def clipped(model, optimizer, clip, numbers, max_norm=0.5, norm_type=2.0, backwards=1):
    """Losses and norms of training that clips by the norm over all gradients."""
    said = []
    for number in numbers:
        for half in range(backwards):
            loss = model(batch(number + half), labels=batch(number + half)).loss / backwards
            loss.backward()
        norm = clip(max_norm, norm_type)
        optimizer.step()
        optimizer.zero_grad(set_to_none=number % 2 == 0)
        said.append((loss.item(), norm.item()))
    return said


def gradients_that_are_kept_are_clipped_as_torch_clips():
    cut = 0
    for name in ("SGD", "AdamW"):
        for share, norm_type, backwards in ((1.0, 2.0, 1), (0.9, 2.0, 3), (1.0, float("inf"), 1), (1.0, 1.0, 2), (8.0, 2.0, 2)):
            plain, staged = gpt2(), gpt2()
            optimizers = OPTIMIZERS[name](plain.parameters()), OPTIMIZERS[name](staged.parameters())
            budget = int(bytes_of(staged) * share)
            with strata.offload(staged, budget=budget, optimizer=optimizers[1], keep_gradients=True) as h:
                expected = clipped(plain, optimizers[0], lambda *words: torch.nn.utils.clip_grad_norm_(plain.parameters(), *words), range(4), 0.5,
                                   norm_type, backwards)
                assert clipped(staged, optimizers[1], h.clip_grad_norm_, range(4), 0.5, norm_type, backwards) == expected, (name, share, norm_type)
                assert same_numbers(plain, staged) and same_state(*optimizers), (name, share, norm_type)
                stats = h.stats()
                assert stats.peak_bytes <= stats.memory_bytes <= budget, (name, stats)
                cut += sum(norm > 0.5 for _, norm in expected)
                # clipped twice, and without: still torch's
                for model, optimizer, clip in ((plain, optimizers[0], lambda norm: torch.nn.utils.clip_grad_norm_(plain.parameters(), norm)),
                                               (staged, optimizers[1], h.clip_grad_norm_)):
                    model(batch(7), labels=batch(7)).loss.backward()
                    clip(0.25)
                    clip(0.125)
                    optimizer.step()
                    model.zero_grad()
                    train(model, optimizer, [8])
                    model(batch(9), labels=batch(9)).loss.backward()  # a gradient that is there when the model is given back
                assert same_numbers(plain, staged), (name, share, norm_type)
            assert all(torch.equal(one.grad, two.grad) for one, two in zip(plain.parameters(), staged.parameters()))
            assert same_numbers(plain, staged) and same_state(*optimizers), (name, share, norm_type)
    assert cut > 10, cut


def who_computes_with_a_gradient_that_is_not_there_is_told():
    def refused(kind, words, call):
        try:
            call()
        except kind as wrong:
            assert words in str(wrong), wrong
            return
        raise AssertionError(words)

    for keeps, words in ((False, "keep_gradients=True"), (True, "h.clip_grad_norm_(max_norm)")):
        model = gpt2()
        optimizer = OPTIMIZERS["AdamW"](model.parameters())
        with strata.offload(model, budget=2 * bytes_of(model), optimizer=optimizer, keep_gradients=keeps) as h:
            weight = model.transformer.h[1].mlp.c_fc.weight
            model(batch(0), labels=batch(0)).loss.backward()
            for foreach in (None, True, False):
                refused(errors.UnsupportedError, words, lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=foreach))
            refused(errors.UnsupportedError, words, lambda: torch.nn.utils.clip_grad_value_(model.parameters(), 1.0))
            scaler = torch.amp.GradScaler("cpu")
            scaler.scale(torch.ones(1))
            refused(errors.UnsupportedError, words, lambda: scaler.unscale_(optimizer))
            refused(errors.UnsupportedError, words, weight.grad.norm)
            assert weight.grad.shape == weight.shape and "gradient of 'transformer.h.1.mlp.c_fc.weight'" in repr(weight.grad), weight.grad
            if keeps:
                h.clip_grad_norm_(1.0)
                refused(errors.ConflictError, "optimizer.zero_grad()", lambda: model(batch(0), labels=batch(0)).loss.backward())
            else:
                refused(errors.ConflictError, "keep_gradients=True", lambda: h.clip_grad_norm_(1.0))
                optimizer.step()
                refused(errors.ConflictError, "optimizer.zero_grad()", lambda: model(batch(0), labels=batch(0)).loss.backward())
            optimizer.step()
            optimizer.zero_grad()
            assert weight.grad is None
            train(model, optimizer, [1])
    refused(errors.InvalidError, "optimizer=", lambda: strata.offload(gpt2(), budget="64MiB", keep_gradients=True))


class Reaching(torch.nn.Module):
    """Calls one layer, reaches into another, has a parameter of its own and a layer for later."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(64))
        self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(6))
        self.reached, self.later = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

    def forward(self, x, later=False):
        for layer in self.layers:
            x = torch.tanh(layer(x)) * self.scale
        x = torch.nn.functional.linear(x, self.reached.weight, self.reached.bias)
        return self.later(x) if later else x


def layers_that_are_not_called_are_trained_too():
    torch.manual_seed(0)
    models = Reaching(), Reaching()
    models[1].load_state_dict(models[0].state_dict())
    optimizers = [OPTIMIZERS["SGD with momentum"](model.parameters()) for model in models]
    x = torch.randn(3, 64)
    with strata.offload(models[1], budget=160 << 10, optimizer=optimizers[1]) as h:
        for later in (False, False, True, True, False):
            losses = []
            for model, optimizer in zip(models, optimizers):
                loss = model(x, later).pow(2).mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
            assert losses[0] == losses[1], (later, losses)
        assert h.stats().memory_bytes <= 160 << 10, h.stats()
        assert same_numbers(*models)
    assert same_numbers(*models) and same_state(*optimizers)
    before = [parameter.detach().clone() for parameter in models[1].parameters()]
    strata.offload(models[1], budget=60 << 10, optimizer=optimizers[1])
    try:
        models[1](x)
    except errors.TooLargeError as wrong:
        assert "not called" in str(wrong), wrong
    else:
        raise AssertionError("more than the budget is kept")
    assert all(torch.equal(parameter, wanted) for parameter, wanted in zip(models[1].parameters(), before))


def what_cannot_be_is_said():
    model = gpt2()
    optimizer = OPTIMIZERS["AdamW"](model.parameters())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for kind, wrong in ((torch.optim.LBFGS(model.parameters()), errors.UnsupportedError),
                        (torch.optim.SGD([torch.nn.Parameter(torch.zeros(3))]), errors.InvalidError)):
        try:
            strata.offload(model, budget="64MiB", optimizer=kind)
        except wrong:
            continue
        raise AssertionError(kind)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    with strata.offload(model, budget="64MiB", optimizer=optimizer):
        model(batch(0), labels=batch(0)).loss.backward()
        for call, wrong, sentence in ((lambda: model(batch(0), labels=batch(0)).loss.backward(), errors.ConflictError, "optimizer.step()"),
                                      (lambda: optimizer.step(lambda: None), errors.UnsupportedError, "closure"),
                                      (lambda: optimizer.load_state_dict({}), errors.UnsupportedError, "h.remove()")):
            try:
                call()
            except wrong as error:
                assert sentence in str(error), error
                continue
            raise AssertionError(sentence)
    # a parameter that is looked at outside of its module is visibly not there, instead of an old one
    model = gpt2()
    optimizer = OPTIMIZERS["AdamW"](model.parameters())
    with strata.offload(model, budget=bytes_of(model), optimizer=optimizer):
        train(model, optimizer, range(2))
        assert model.transformer.h[2].mlp.c_fc.weight.isnan().all() and not model.state_dict()["transformer.h.2.mlp.c_fc.weight"].isnan().any()


CHILD = """
import sys, torch, strata
sys.path.insert(0, {tests!r})
sys.argv = ["child"]
import package
package.run = lambda *tests: None
from torch_stage_train import OPTIMIZERS, bytes_of, gpt2, train
model = gpt2()
optimizer = OPTIMIZERS["AdamW"](model.parameters())
h = strata.offload(model, budget=bytes_of(model), path={path!r}, optimizer=optimizer)
print("go", flush=True)
for number in range(1000):
    train(model, optimizer, [number % 5])
    h.save()
"""


def a_crash_leaves_a_whole_file():
    """Killed at any time, the file is that of some step, whole."""
    from safetensors.torch import load_file
    model = gpt2()
    optimizer = OPTIMIZERS["AdamW"](model.parameters())
    trajectory, seen = [{name: value.clone() for name, value in model.named_parameters()}], set()
    for attempt in range(4):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weights.safetensors")
            words = CHILD.format(tests=os.path.join(package.SOURCE, "python", "tests"), path=path)
            with subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as child:
                assert child.stdout.readline() == "go\n"
                time.sleep(0.15 + 0.23 * attempt)
                assert child.poll() is None
                child.send_signal(signal.SIGKILL)
            there = load_file(path)
            with torch.no_grad():
                fresh = gpt2()
                h = strata.offload(fresh, budget="1GiB", path=path, load=True)
                h.remove()
            while not all(torch.equal(value, there[name]) for name, value in trajectory[-1].items()):
                found = [step for step, numbers in enumerate(trajectory) if all(torch.equal(value, there[name]) for name, value in numbers.items())]
                if found:
                    break
                assert len(trajectory) < 300, "the file is of no step"
                train(model, optimizer, [(len(trajectory) - 1) % 5])
                trajectory.append({name: value.detach().clone() for name, value in model.named_parameters()})
            seen.add(next(step for step, numbers in enumerate(trajectory) if all(torch.equal(value, there[name]) for name, value in numbers.items())))
            assert all(torch.equal(value, there[name]) for name, value in fresh.named_parameters())
            assert [name for name in os.listdir(folder) if not name.startswith(".strata-")] == ["weights.safetensors"], os.listdir(folder)
    return f"killed after steps {sorted(seen)}"


package.run(every_optimizer_gives_the_same_bits, state_that_was_there_goes_on, blocks_may_be_computed_again, groups_and_frozen_parameters,
            gradients_that_are_kept_are_clipped_as_torch_clips, who_computes_with_a_gradient_that_is_not_there_is_told, layers_that_are_not_called_are_trained_too,
            what_cannot_be_is_said, a_crash_leaves_a_whole_file)
