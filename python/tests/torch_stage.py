"""strata.offload with real models: results to the bit, memory within the budget, whatever order modules are called in."""
import doctest
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

import package

package.enter_torch()
import torch  # noqa: E402
from torch import nn  # noqa: E402

import strata  # noqa: E402
import strata.stage.gradients  # noqa: E402
import strata.stage.handle  # noqa: E402
import strata.stage.stream  # noqa: E402
from strata import errors  # noqa: E402

torch.set_num_threads(1)
EXAMPLES = os.path.join(package.SOURCE, "python", "examples")


def bytes_of(model):
    return sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())


def gpt2(**words):
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(**{"n_layer": 4, "n_embd": 128, "n_head": 4, "vocab_size": 1000, "bos_token_id": 0, "eos_token_id": 0,
                                         "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0, **words})).eval()


def tokens(seed=0, length=16):
    return torch.randint(0, 1000, (2, length), generator=torch.Generator().manual_seed(seed))


def same(one, two):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, two)
    return len(one) == len(two) and all(same(a, b) for a, b in zip(one, two))


def check(model, inputs, share, calls=3, **words):
    """Offloads, calls, compares to the bit; returns the statistics."""
    with torch.no_grad():
        expected = model(*inputs)
        numbers = {name: value.clone() for name, value in model.state_dict().items()}
        budget = int(bytes_of(model) * share)
        with strata.offload(model, budget=budget, **words) as h:
            for _ in range(calls):
                assert same(model(*inputs), expected)
            assert all(torch.equal(value, numbers[name]) for name, value in model.state_dict().items())
            stats = h.stats()
            assert stats.peak_bytes <= stats.memory_bytes <= budget == stats.budget_bytes, stats
            assert stats.written_bytes == 0 and stats.steps == calls, stats
        assert same(model(*inputs), expected)
        assert all(torch.equal(value, numbers[name]) for name, value in model.state_dict().items())
    assert not [module for module in model.modules() if "forward" in module.__dict__]
    return stats


class Logits(nn.Module):
    """A transformers model whose call returns a tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        out = self.model(*inputs)
        return out[0]


def language_models_give_the_same_bits():
    from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, ViTConfig, ViTModel
    torch.manual_seed(0)
    small = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128}
    said = []
    for name, model, inputs, share in (
            ("GPT-2", gpt2(), (tokens(),), 0.5), ("GPT-2", gpt2(), (tokens(),), 0.3),
            ("BERT", BertModel(BertConfig(vocab_size=1000, **small)).eval(), (tokens(),), 0.5),
            ("Llama", LlamaForCausalLM(LlamaConfig(vocab_size=1000, **small)).eval(), (tokens(),), 0.5),
            ("ViT", ViTModel(ViTConfig(image_size=32, patch_size=8, **small)).eval(), (torch.randn(1, 3, 32, 32),), 0.5)):
        stats = check(Logits(model), inputs, share)
        assert stats.bytes_read > 0 and stats.surprises == 0, stats
        said.append(f"{name} within {share}: {stats.units} units, {stats.bytes_read / stats.steps / stats.total_bytes:.2f} of the weights read a call")
    return "\n".join(said)


def a_unet_gives_the_same_bits():
    from diffusers import UNet2DConditionModel
    torch.manual_seed(0)
    unet = UNet2DConditionModel(sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(32, 64), cross_attention_dim=32,
                                down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
                                attention_head_dim=8).eval()
    inputs = torch.randn(2, 4, 16, 16), torch.tensor(5), torch.randn(2, 7, 32)
    for share in (0.25, 0.5, 1.5):
        stats = check(Logits(unet), inputs, share)
        assert stats.surprises == 0
    assert stats.bytes_read < 2.5 * stats.total_bytes  # each stream once, and no more


def other_architectures_give_the_same_bits():
    from transformers import CLIPConfig, CLIPModel, T5Config, T5ForConditionalGeneration
    torch.manual_seed(0)
    small = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4}
    t5 = T5ForConditionalGeneration(T5Config(vocab_size=1000, d_model=64, d_kv=16, d_ff=128, num_layers=3, num_heads=4, decoder_start_token_id=0)).eval()
    clip = CLIPModel(CLIPConfig(text_config={"vocab_size": 1000, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2, **small},
                                vision_config={"image_size": 32, "patch_size": 8, **small}, projection_dim=64)).eval()
    cnn = nn.Sequential(*(layer for _ in range(5) for layer in (nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()))).eval()
    pictures, images = torch.randn(2, 3, 32, 32), torch.randn(2, 32, 8, 8)
    with torch.no_grad():
        for model, call, share in (
                (t5, lambda model: model(input_ids=tokens(), decoder_input_ids=tokens(1)).logits, 0.6),
                (t5, lambda model: model.generate(tokens(), max_new_tokens=6, do_sample=False), 0.6),
                (clip, lambda model: model(input_ids=tokens(), pixel_values=pictures).logits_per_image, 0.5),
                (nn.LSTM(64, 64, num_layers=4, bidirectional=True).eval(), lambda model: model(images.reshape(64, 1, 64))[0], 1.2),
                (cnn, lambda model: model(images), 0.5),
                (cnn, lambda model: model(images.to(memory_format=torch.channels_last)), 0.5)):
            expected = call(model)
            with strata.offload(model, budget=int(bytes_of(model) * share)) as h:
                assert all(torch.equal(call(model), expected) for _ in range(3)), type(model)
                assert h.stats().memory_bytes <= h.budget


def what_fits_is_read_once():
    model = gpt2()
    with torch.no_grad(), strata.offload(model, budget="64MiB") as h:
        for _ in range(3):
            model(tokens())
        read = h.stats().bytes_read
        for _ in range(3):
            model(tokens())
        assert h.stats().bytes_read == read and h.stats().memory_bytes <= 64 << 20


class Odd(nn.Module):
    """What real models do: a shared block, a branch, a parameter of its own, one that is returned, one that is reached into."""

    class Learned(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.randn(1, 8, 64))

        def forward(self, x):
            return self.table[:, :x.shape[1]].expand(x.shape[0], -1, -1)

    def __init__(self):
        super().__init__()
        self.place = self.Learned()
        self.scale = nn.Parameter(torch.randn(64))
        self.shared = nn.Linear(64, 64)
        self.left = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))
        self.right = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)
        self.reached = nn.Linear(64, 64)
        self.tied = nn.Linear(64, 64, bias=True)
        self.tied.weight = self.shared.weight

    def forward(self, x, right=False, backwards=False):
        where = self.place(x)
        x = self.shared(x) * self.scale
        layers = list(self.right if right else self.left)
        for layer in reversed(layers) if backwards else layers:
            x = self.shared(torch.tanh(layer(x)))
        x = x + where + self.attention(x, x, x)[0]
        return self.tied(nn.functional.linear(x, self.reached.weight, self.reached.bias)) * self.scale


def any_order_gives_the_same_bits():
    torch.manual_seed(0)
    model, x = Odd().eval(), torch.randn(2, 8, 64)
    ways = [(False, False), (True, False), (False, True), (False, False), (True, True), (True, False)]
    with torch.no_grad():
        expected = {way: model(x, *way) for way in ways}
        parts = model.left[2](x), model.attention(x, x, x)[0]
        with strata.offload(model, budget=160 << 10) as h:
            for way in ways * 3:
                assert torch.equal(model(x, *way), expected[way]), way
            for _ in range(50):  # parts by themselves
                assert torch.equal(model.left[2](x), parts[0]) and torch.equal(model.attention(x, x, x)[0], parts[1])
            assert torch.equal(model(x), expected[ways[0]])
            stats = h.stats()
            assert stats.surprises > 0 and stats.plans > 1 and stats.memory_bytes <= 160 << 10, stats


def encoders_keep_their_fast_path():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    check(model, (torch.randn(2, 5, 64),), 0.6)


def types_stay_as_they_are():
    torch.manual_seed(0)
    for dtype in (torch.bfloat16, torch.float64):
        model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8))).to(dtype).eval()
        check(model, (torch.randn(3, 64, dtype=dtype),), 0.5)


def files_are_taken_when_they_are_there():
    from safetensors.torch import load_file, save_file
    model = gpt2()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        expected = model(tokens()).logits
        path = os.path.join(folder, "weights.safetensors")
        check(Logits(gpt2()), (tokens(),), 0.5, path=path)
        made = os.stat(path)
        check(Logits(gpt2()), (tokens(),), 0.5, path=path)
        assert os.stat(path).st_mtime_ns == made.st_mtime_ns
        assert set(load_file(path)) == {f"model.{name}" for name, _ in gpt2().named_parameters()}
        # a file of somebody else's, and a model without numbers
        theirs = os.path.join(folder, "theirs.safetensors")
        save_file({name: value.clone() for name, value in model.named_parameters()}, theirs)
        from transformers import GPT2LMHeadModel
        with torch.device("meta"):
            empty = GPT2LMHeadModel(model.config).eval()
        for name, buffer in list(empty.named_buffers()):
            assert buffer.numel() < 10, name
        with strata.offload(empty, budget="1200KiB", path=theirs):
            for _ in range(3):
                got = empty(tokens(), position_ids=torch.arange(16)[None]).logits
        assert torch.equal(got, expected)
        assert torch.equal(empty(tokens(), position_ids=torch.arange(16)[None]).logits, expected)
        # other numbers
        other = gpt2()
        other.transformer.h[0].mlp.c_fc.weight += 1
        for words, kind in (({}, errors.ConflictError), ({"load": True}, None)):
            try:
                with strata.offload(other, budget="1200KiB", path=theirs, **words):
                    assert kind is None and torch.equal(other(tokens()).logits, got)
            except errors.ConflictError as wrong:
                assert kind is errors.ConflictError and "transformer.h.0.mlp.c_fc.weight" in str(wrong), wrong
        other.transformer.h[0].mlp.c_fc.weight += 1
        with strata.offload(other, budget="1200KiB", path=theirs, load=False):
            pass
        assert torch.equal(load_file(theirs)["transformer.h.0.mlp.c_fc.weight"], other.transformer.h[0].mlp.c_fc.weight)


def files_may_lie_badly():
    """Products of one row are another kernel, whose last bits depend on where a matrix begins."""
    from safetensors.torch import save_file
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for wide, narrow in ((64, 64), (100, 37), (768, 96)):
            torch.manual_seed(0)
            model = nn.Sequential(*(nn.Linear(*sizes) for _ in range(4) for sizes in ((wide, narrow), (narrow, wide)))).eval()
            inputs = [torch.randn(rows, wide) for rows in (1, 3, 64)]
            expected = [model(one) for one in inputs]
            for note in ("", "x" * 8, "x" * 20):
                path = os.path.join(folder, f"{wide}{note}.safetensors")
                save_file({name: value.clone() for name, value in model.state_dict().items()}, path, metadata={"note": note})
                for words in ({"path": path}, {}, {"path": path, "device": "cpu"}):
                    with strata.offload(model, budget=int(bytes_of(model) * 0.9), **words) as h:
                        assert same([model(one) for one in inputs], expected) and same([model(one) for one in inputs], expected), (wide, note, words)
                        assert h.stats().memory_bytes <= h.budget


def what_is_wrong_is_said():
    model = gpt2()
    for words, kind, sentence in (({"budget": "100KiB"}, errors.TooLargeError, "are needed"), ({"budget": "a lot"}, errors.Error, "a lot"),
                                  ({"budget": "1GiB", "planner": "bset"}, errors.NotFoundError, "best"),
                                  ({"budget": "1GiB", "channel": "post"}, errors.InvalidError, "io_uring"),
                                  ({"budget": "1GiB", "path": "/nowhere/x.safetensors"}, errors.NotFoundError, "/nowhere"),
                                  ({"budget": "1GiB", "path": "/nowhere/x.safetensors", "load": True}, errors.NotFoundError, "/nowhere"),
                                  ({"budget": "1GiB", "path": os.path.join(tempfile.gettempdir(), "strata-no-such.safetensors"), "load": True},
                                   errors.InvalidError, "not there")):
        before = {name: value.clone() for name, value in model.state_dict().items()}
        try:
            strata.offload(model, **words)
        except kind as wrong:
            assert sentence in str(wrong), wrong
        else:
            raise AssertionError(words)
        assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    try:
        strata.offload(model, budget="100KiB")
    except errors.TooLargeError as wrong:
        needed = int(str(wrong).split("at least ")[1].split()[0])
    with torch.no_grad():
        expected = model(tokens()).logits
        with strata.offload(model, budget=needed) as h:  # what it says is enough
            assert torch.equal(model(tokens()).logits, expected) and torch.equal(model(tokens()).logits, expected)
            try:
                strata.offload(model, budget="1GiB")
            except errors.ConflictError:
                pass
            else:
                raise AssertionError("offloaded twice")
            h.remove()
            h.remove()
            for call, kind, sentence in ((h.save, errors.ConflictError, "before h.remove()"),  # it would write a file with nothing in it
                                         (lambda: strata.offload(len, budget="1GiB"), errors.InvalidError, "torch.nn.Module")):
                try:
                    call()
                except kind as wrong:
                    assert sentence in str(wrong), wrong
                else:
                    raise AssertionError(sentence)


def errors_of_a_model_leave_it_whole():
    class Failing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(8))

        def forward(self, x, fails=None):
            for number, layer in enumerate(self.layers):
                x = layer(x[0] if number == fails else x)
            return x if fails is None else x.fail()

    model, x = Failing().eval(), torch.randn(2, 3, 64)
    with torch.no_grad():
        expected = model(x)
        for device in (None, "cpu"):
            folder = tempfile.mkdtemp()
            path = os.path.join(folder, "weights.safetensors")
            h = strata.offload(model, budget=70 << 10, path=path, device=device)
            for fails in (0, None, 3, 7, None, None):
                try:
                    assert torch.equal(model(x, fails), expected) and fails is None
                except AttributeError:
                    assert fails is not None
            with open(path, "r+b") as file:  # a disk that fails
                file.truncate(20 << 10)
            for _ in range(2):
                try:
                    model(x)
                except strata.Error as wrong:
                    assert "cut short" in str(wrong) and path in str(wrong), wrong
                    continue
                raise AssertionError("read what is not there")
            assert h.stats().steps >= 6
            model = Failing().eval()
            expected = model(x)
            shutil.rmtree(folder)


def parameters_may_be_looked_at_anywhere():
    """In a sum over all of them, in hooks, by a parent; also when gradients go through that."""
    torch.manual_seed(0)
    models = [nn.Sequential(nn.utils.weight_norm(nn.Linear(64, 64)), nn.Linear(64, 64), nn.Tanh(), *(nn.Linear(64, 64) for _ in range(4))) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    x = torch.randn(3, 64)

    def loss(model):
        out = model(x) @ model[1].weight.t() @ model[4].weight
        return out.pow(2).mean() + 0.01 * sum(parameter.pow(2).sum() for parameter in model.parameters())

    loss(models[0]).backward()
    with strata.offload(models[1], budget=70 << 10):
        for _ in range(3):
            loss(models[1]).backward()
            assert all(torch.equal(one.grad, two.grad) for one, two in zip(models[0].parameters(), models[1].parameters()))
            models[1].zero_grad()


def what_the_program_writes_stays():
    model, other = gpt2(), gpt2()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1.5)
        expected = other(tokens()).logits
        with strata.offload(gpt2(), budget="600KiB") as h:  # before the first call, and never used
            h.model.load_state_dict(other.state_dict())
        assert torch.equal(h.model(tokens()).logits, expected)
        with strata.offload(gpt2(), budget="600KiB") as h:
            h.model.load_state_dict(other.state_dict())
            assert torch.equal(h.model(tokens()).logits, expected) and torch.equal(h.model(tokens()).logits, expected)
        with strata.offload(model, budget="600KiB") as h:
            model(tokens())
            model.load_state_dict(other.state_dict())
            for _ in range(3):
                assert torch.equal(model(tokens()).logits, expected)
            assert h.stats().written_bytes > 0
        assert torch.equal(model(tokens()).logits, expected)


def memory_is_really_given_up():
    """In a process of its own: what it takes beside a model that is there."""
    script = """
import gc, sys, torch, strata
from torch import nn
def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))
torch.set_num_threads(1)
before = anonymous()
model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(32))).eval()
there = anonymous() - before
x = torch.ones(1, 1024)
with torch.no_grad():
    model(x)
    h = strata.offload(model, budget="32MiB")
    most = 0
    for _ in range(4):
        model(x)
        gc.collect()
        most = max(most, anonymous() - before)
print(there >> 20, most >> 20, h.stats().memory_bytes >> 20)
"""
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=True)
    there, most, counted = map(int, done.stdout.split())
    assert there >= 128 and counted <= 32 and most <= 32 + 24, done.stdout
    return f"{there} MiB before, {most} within a budget of 32"


def gradients_are_those_without():
    for model, inputs in ((gpt2(), (tokens(),)), (Odd(), (torch.randn(2, 8, 64),))):
        def loss(model=model, inputs=inputs):
            out = model(*inputs)
            return (out.logits if hasattr(out, "logits") else out).pow(2).mean()
        loss().backward()
        expected = {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
        model.zero_grad()
        with strata.offload(model, budget=max(200 << 10, bytes_of(model) // 2)) as h:
            for _ in range(3):
                loss().backward()
                assert all(torch.equal(parameter.grad, expected[name]) for name, parameter in model.named_parameters() if name in expected)
                model.zero_grad()
            last = loss()
            assert h.stats().memory_bytes <= h.budget
        last.backward()  # of a model that is no longer offloaded
        assert all(torch.equal(parameter.grad, expected[name]) for name, parameter in model.named_parameters() if name in expected)


def parts_may_call_each_other():
    """With their own parameters as arguments."""
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.ModuleList(Given(64) for _ in range(4)), nn.ModuleList(Given(64) for _ in range(4))

        def forward(self, x):
            for a, b in zip(self.a, self.b):
                x = torch.tanh(a(x, b))
            return x

    class Given(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(width, width) / 8)

        def forward(self, x, other=None, weight=None):
            if other is None:
                return x @ self.weight @ weight * self.weight[0]
            return other(x @ self.weight, weight=self.weight) @ self.weight

    torch.manual_seed(0)
    model, x = Two(), torch.randn(2, 64)
    model(x).sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    for budget in (40 << 10, 80 << 10, 400 << 10):
        model = check_gradients(model, x, expected, budget)


def check_gradients(model, x, expected, budget):
    with strata.offload(model, budget=budget):
        for _ in range(3):
            model(x).sum().backward()
            assert all(torch.equal(parameter.grad, wanted) for parameter, wanted in zip(model.parameters(), expected))
            model.zero_grad()
    return model


def threads_take_turns():
    model = gpt2()
    with torch.no_grad():
        wanted = {seed: model(tokens(seed)).logits for seed in range(4)}
        wrong = []

        def call(seed):
            with torch.no_grad():
                for _ in range(5):
                    if not torch.equal(model(tokens(seed)).logits, wanted[seed]):
                        wrong.append(seed)

        with strata.offload(model, budget="600KiB"):
            threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert not wrong, wrong


def it_generates_and_is_seen():
    model = gpt2()
    words = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(tokens(), **words)
    with tempfile.TemporaryDirectory() as folder, strata.offload(model, budget="600KiB", channel="threads", cached=True) as h:
        assert h.plan() is None
        assert torch.equal(model.generate(tokens(), **words), expected)
        plan = h.plan()
        kinds = {entry.kind for entry in plan.entries}
        assert {"prefetch", "compute", "release"} <= kinds and plan.ratio >= 1 and plan.peak_bytes <= plan.budget_bytes <= 600 << 10, plan
        assert str(plan).splitlines()[0].startswith(plan.planner)
        assert h.stats().channel == "threads" and not h.stats().direct
        path = os.path.join(folder, "trace.json")
        h.trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        assert {"computing", "reading"} & {event.get("args", {}).get("name") for event in events} or len(events) > 50, events[:5]
        h.save(os.path.join(folder, "saved.safetensors"))
        from safetensors.torch import load_file
        saved = load_file(os.path.join(folder, "saved.safetensors"))
        h.remove()
        assert all(torch.equal(saved[name], parameter) for name, parameter in model.named_parameters())


def frames_may_be_on_a_device():
    """The way of a GPU, with frames that torch has in this machine's memory."""
    for make, inputs in ((lambda: Logits(gpt2()), (tokens(),)), (lambda: Odd().eval(), (torch.randn(2, 8, 64),))):
        torch.manual_seed(0)
        model = make()
        stats = check(model, inputs, 0.9, device="cpu")
        assert stats.channel == "threads" and stats.bytes_read > 0 and stats.surprises == 0, stats
    model = gpt2()
    loss = model(tokens(), labels=tokens()).loss
    loss.backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    with strata.offload(model, budget="2MiB", device="cpu") as h:
        for _ in range(3):
            model(tokens(), labels=tokens()).loss.backward()
            assert all(torch.equal(parameter.grad, wanted) for parameter, wanted in zip(model.parameters(), expected))
            model.zero_grad()
        assert h.plan().peak_bytes <= 2 << 20 and h.stats().memory_bytes <= 2 << 20
        model.load_state_dict({name: value * 2 for name, value in gpt2().state_dict().items()})
        with torch.no_grad():
            got = [model(tokens()).logits for _ in range(2)]
    with torch.no_grad():
        assert torch.equal(got[0], model(tokens()).logits) and torch.equal(got[1], got[0])
    for words, kind in (({"budget": "600KiB"}, errors.TooLargeError), ({"budget": "2MiB", "optimizer": torch.optim.SGD(model.parameters())}, errors.UnsupportedError)):
        try:
            strata.offload(model, device="cpu", **words)
        except kind:
            continue
        raise AssertionError(words)
    if torch.cuda.is_available():
        with torch.no_grad():
            there = gpt2().cuda()(tokens().cuda()).logits
            with strata.offload(gpt2(), budget="2MiB", device="cuda") as h:
                assert all(torch.equal(h.model(tokens().cuda()).logits, there) for _ in range(3))
        return "on CUDA too"
    return "no CUDA device here"


def inference_mode_leaves_no_trace():
    """Tensors that are made in it can never be trained."""
    torch.manual_seed(0)
    model, x = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8))), torch.randn(2, 64)
    expected = model(x).detach()
    model(x).sum().backward()
    wanted = [parameter.grad.clone() for parameter in model.parameters()]

    def gradients():
        model.zero_grad()
        model(x).sum().backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    for device in (None, "cpu"):
        with strata.offload(model, budget=100 << 10, device=device) as h:
            with torch.inference_mode():
                assert all(torch.equal(model(x), expected) for _ in range(3))
            assert same(gradients(), wanted)
            with torch.inference_mode():
                h.remove()
        assert same(gradients(), wanted)
        with torch.inference_mode():
            h = strata.offload(model, budget=100 << 10, device=device)
            model(x)
        assert same(gradients(), wanted)
        h.remove()


def a_pipeline_draws_the_same_picture():
    sys.path.insert(0, EXAMPLES)
    from tiny_pipeline import SIZE, pipeline
    pipe = pipeline()
    words = {"num_inference_steps": 4, "output_type": "np", **SIZE}
    expected = pipe("a cat", generator=torch.Generator().manual_seed(1), **words).images
    with strata.offload(pipe.unet, budget=bytes_of(pipe.unet) // 2) as h, strata.offload(pipe.text_encoder, budget="64MiB"), \
            strata.offload(pipe.vae, budget="64MiB"):
        assert (pipe("a cat", generator=torch.Generator().manual_seed(1), **words).images == expected).all()
        assert h.stats().steps == 4 and h.stats().surprises == 0 and h.stats().memory_bytes <= h.budget


def the_file_may_be_replaced():
    """What was opened is what is read, whatever happens at its path."""
    for device in (None, "cpu"):
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            model, path = gpt2(), os.path.join(folder, "weights.safetensors")
            expected = model(tokens()).logits
            with strata.offload(model, budget="2MiB", path=path, device=device) as h:
                h.save()  # before the first call: another order of tensors
                assert torch.equal(model(tokens()).logits, expected) and torch.equal(model(tokens()).logits, expected)
            with strata.offload(model, budget="2MiB", path=path, device=device) as h:
                os.unlink(path)
                assert torch.equal(model(tokens()).logits, expected) and torch.equal(model(tokens()).logits, expected)
                h.save()
            with strata.offload(gpt2(), budget="2MiB", path=path, device=device) as h:
                assert torch.equal(h.model(tokens()).logits, expected)


def nothing_is_left_behind():
    model = gpt2()
    with torch.no_grad():
        h = strata.offload(model, budget="600KiB")
        model(tokens())
        folder = os.path.dirname(h.path)
        assert os.path.exists(h.path)
        h.remove()
        assert not os.path.exists(folder)
    gc.collect()
    with open("/proc/self/maps", encoding="ascii") as file:
        assert "strata-offload" not in file.read()


def the_examples_run():
    done = subprocess.run([sys.executable, os.path.join(EXAMPLES, "stage_layers.py")], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                          capture_output=True, text=True, check=True)
    assert done.stdout.endswith("parameters in memory after the step: 0\nsame result: True\n"), done.stdout
    done = subprocess.run([sys.executable, os.path.join(EXAMPLES, "offload.py")], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                          capture_output=True, text=True, check=True)
    assert "same result: True" in done.stdout and "step 4: loss" in done.stdout, done.stdout


def the_docstrings_are_right():
    for module in (strata.stage.gradients, strata.stage.handle, strata.stage.stream):
        assert doctest.testmod(module).failed == 0, module


package.run(language_models_give_the_same_bits, a_unet_gives_the_same_bits, other_architectures_give_the_same_bits, what_fits_is_read_once, any_order_gives_the_same_bits,
            encoders_keep_their_fast_path, types_stay_as_they_are, files_are_taken_when_they_are_there, files_may_lie_badly, what_is_wrong_is_said,
            errors_of_a_model_leave_it_whole, parameters_may_be_looked_at_anywhere, what_the_program_writes_stays, memory_is_really_given_up, gradients_are_those_without, parts_may_call_each_other,
            threads_take_turns, it_generates_and_is_seen, frames_may_be_on_a_device, inference_mode_leaves_no_trace, a_pipeline_draws_the_same_picture,
            the_file_may_be_replaced, nothing_is_left_behind, the_examples_run, the_docstrings_are_right)
