"""Drawing with a diffusers pipeline. Each task is the pipeline's own __call__, in a Turn: it stops where it calls its denoiser and at the end of each step.
Calls of several tasks that wait at the same time are computed as one batch, whatever step each is at. A task that goes on from saved latents walks through
the steps that were done without computing them, then gets its latents, its solver's memory and its random numbers back."""
from __future__ import annotations

import copy
import inspect
import io
import time
from types import SimpleNamespace
from typing import Any, Callable, Mapping, Sequence

import diffusers
import torch
from diffusers.pipelines.auto_pipeline import AutoPipelineForImage2Image
from diffusers.pipelines.pipeline_utils import DiffusionPipeline

from ..errors import Error
from . import latents as saved_latents
from .merge import ModelCall, cut, groups, join
from .solvers import scheduler_for
from .turn import Turn

DENOISERS = ("unet", "transformer", "transformer_2")
PREVIEW_S = 1.0  # at most one in so long …
PREVIEW_SHARE = 20  # … and of this part of the time
PREVIEW_SIDE = 256
BOUNDARY = "boundary"
VERSIONS = f"torch {torch.__version__}, diffusers {diffusers.__version__}"


class DiffusersRun:
    """One task; see loop.Run."""

    def __init__(self, drawer: DiffusersDrawer, task: Mapping[str, Any], init_image: bytes | None, saved: bytes | None) -> None:
        self.drawer, self.task, self.parameters = drawer, task, task["parameters"]
        self.state, self.why = "new", ""
        self.cost_ns, self.cap, self.width, self.height = 0, 0, 0, 0
        self.wanted = int(self.parameters.get("steps") or drawer.defaults.get("steps") or 0)
        self.calls_done, self.calls_total = 0, 0  # the pipeline's steps, of which a solver may have more than it was asked for
        self.latents: Any = None
        self.images: list[Any] = []
        self._preview_at, self._preview_cost = time.monotonic(), 0.0
        self._key = saved_latents.key_of(drawer.name, task, VERSIONS)
        self._skip = 0
        self._state: dict[str, Any] = {}
        if saved is not None:
            self._restore(saved)
        self.turn = Turn(lambda turn: self._draw(init_image))

    @property
    def steps(self) -> int:
        done, total = max(self.calls_done, self._skip), max(1, self.calls_total or self._state.get("total", 0))
        if self.state == "drawn" or (self.calls_total and done >= total):
            return self.wanted or done
        return done * self.wanted // total if self.wanted else done

    def _restore(self, saved: bytes) -> None:
        try:
            self._state = saved_latents.unpack(self._key, saved)
            self._skip = int(self._state["done"])
        except Exception as wrong:
            self._skip, self._state = 0, {}
            self.drawer.say(f"task {self.task['id']} begins anew; its saved latents are no good: {wrong}")

    # ---- in the turn ----

    def _draw(self, init_image: bytes | None) -> Any:
        pipe = self.drawer.pipeline_for(self.parameters, init_image)
        self.pipe = pipe
        self.generators = [torch.Generator("cpu").manual_seed(int(self.task["seed"]) + i) for i in range(int(self.parameters.get("n") or 1))]
        found = pipe(**self._arguments(pipe, init_image))
        return list(found.images if hasattr(found, "images") else found[0])

    def _arguments(self, pipe: Any, init_image: bytes | None) -> dict[str, Any]:
        names = inspect.signature(pipe.__call__).parameters
        have, n = self.parameters, len(self.generators)
        offered = {
            "prompt": have.get("prompt") or "", "negative_prompt": have.get("negative_prompt"), "num_inference_steps": self.wanted or None,
            "guidance_scale": have.get("guidance_scale"), "width": have.get("width"), "height": have.get("height"), "strength": have.get("strength"),
            "generator": self.generators if n > 1 else self.generators[0], "num_images_per_prompt": n, "output_type": "pil",
            "callback_on_step_end": self._on_step, "callback_on_step_end_tensor_inputs": ["latents"],
        }
        if "prompt" not in names:
            offered["batch_size"] = n
        if init_image is not None:
            from PIL import Image
            picture = Image.open(io.BytesIO(init_image)).convert("RGB")
            size = int(have.get("width") or picture.width), int(have.get("height") or picture.height)
            offered["image"] = picture.resize(size) if picture.size != size else picture
        else:
            offered.pop("strength")
        return {name: value for name, value in offered.items() if name in names and value is not None}

    def _on_step(self, pipe: Any, index: int, _timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        self.calls_done = index + 1
        self.calls_total = int(getattr(pipe, "num_timesteps", 0) or getattr(pipe, "_num_timesteps", 0) or self.wanted)
        self.state = "running"
        given: dict[str, Any] = {}
        if index + 1 == self._skip:
            given = {"latents": self._state["latents"].to(tensors["latents"].device, tensors["latents"].dtype)}
            saved_latents.give_memory(pipe.scheduler, self._state["memory"])
            for generator, state in zip(self.generators, self._state["random"]):
                generator.set_state(state)
            self._skip, self._state = 0, {}
        self.latents = given.get("latents", tensors["latents"])
        if index + 1 > self._skip:
            self.turn.park(BOUNDARY)
        return given

    def model_call(self, call: ModelCall) -> Any:
        """What the pipeline's denoiser returns."""
        if self._skip:  # the step was computed by another; its answer is replaced at the end of it
            sample = call.sample
            assert sample is not None
            channels = getattr(getattr(call.module, "config", None), "out_channels", None)
            answer = sample.new_zeros((sample.shape[0], channels, *sample.shape[2:])) if channels and sample.dim() == 4 else torch.zeros_like(sample)
            return (answer,) if call.kwargs.get("return_dict") is False else SimpleNamespace(sample=answer)
        answer = self.turn.park(call)
        if not self.drawer.has_steps:  # this pipeline tells of no steps: its calls are counted
            self.calls_done, self.calls_total, self.state = self.calls_done + 1, self.wanted, "running"
            self.turn.park(BOUNDARY)
        return answer

    # ---- from outside ----

    def go(self, value: Any = None, error: BaseException | None = None) -> Any:
        """Until it stops again: a ModelCall, BOUNDARY, or None when it has ended."""
        start = time.perf_counter_ns()
        current, self.drawer.current = self.drawer.current, self
        try:
            what = self.turn.resume(value, error)
        finally:
            self.drawer.current = current
        self.cost_ns += time.perf_counter_ns() - start
        if self.turn.ended:
            self._end()
        return what

    def _end(self) -> None:
        wrong = self.turn.error
        if wrong is not None:
            self.state, self.why = "broken", f"{wrong}" if isinstance(wrong, Error) else f"{type(wrong).__name__}: {wrong}"
            return
        self.state, self.images = "drawn", self.turn.value
        self.width, self.height = self.images[0].size

    def fail(self, why: str) -> None:
        self.state, self.why = "broken", why

    def pictures(self) -> list[bytes]:
        return [_png(image) for image in self.images]

    def preview(self) -> bytes | None:
        now = time.monotonic()
        if not self.drawer.previews or self.latents is None or now - self._preview_at < max(PREVIEW_S, PREVIEW_SHARE * self._preview_cost):
            return None
        try:
            png = self.drawer.preview_of(self.latents)
        except Exception as wrong:
            self.drawer.previews = False
            self.drawer.say(f"there are no previews of this pipeline: {wrong}")
            return None
        self._preview_at, self._preview_cost = time.monotonic(), time.monotonic() - now
        return png

    def save(self) -> bytes | None:
        if self.latents is None or self._skip or not self.drawer.has_steps:
            return None
        state = {"done": self.calls_done, "total": self.calls_total, "latents": self.latents.detach().cpu(),
                 "memory": {name: saved_latents.to_device(value, "cpu") for name, value in saved_latents.memory_of(self.pipe.scheduler).items()},
                 "random": [generator.get_state() for generator in self.generators]}
        return saved_latents.pack(self._key, state)

    def close(self) -> None:
        self.turn.close()
        self.latents, self.images = None, []


def _png(image: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format="PNG")
    return file.getvalue()


class DiffusersDrawer:
    """A pipeline that many runs share; see loop.Drawer."""

    def __init__(self, name: str, pipe: Any, samplers: Sequence[Mapping[str, Any]], defaults: Mapping[str, Any] | None = None,
                 say: Callable[[str], None] = lambda text: None) -> None:
        self.name, self.pipe, self.samplers, self.defaults, self.say = name, pipe, samplers, defaults or {}, say
        self.current: DiffusersRun | None = None
        self.has_steps = "callback_on_step_end" in inspect.signature(pipe.__call__).parameters
        self.previews = getattr(pipe, "vae", None) is not None
        self.batches: dict[int, int] = {}  # calls of the model, by how many tasks they were for
        self._most = 0  # tasks that fit into one call; 0: not known
        pipe.set_progress_bar_config(disable=True)
        self._image_pipe: Any = None
        self._forwards: dict[int, Any] = {}
        for module in {id(part): part for part in (getattr(pipe, part, None) for part in DENOISERS) if part is not None}.values():
            self._forwards[id(module)] = module.forward
            module.forward = self._stop_at(module)

    def _stop_at(self, module: Any) -> Callable[..., Any]:
        def forward(*args: Any, **kwargs: Any) -> Any:
            if self.current is None:
                return self._forwards[id(module)](*args, **kwargs)
            return self.current.model_call(ModelCall(module, args, kwargs))
        return forward

    def pipeline_for(self, parameters: Mapping[str, Any], init_image: bytes | None) -> Any:
        """A copy that shares everything but its scheduler: a pipeline keeps what it was called with in itself."""
        base = self.pipe
        if init_image is not None:
            if self._image_pipe is None:
                self._image_pipe = AutoPipelineForImage2Image.from_pipe(self.pipe)
                self._image_pipe.set_progress_bar_config(disable=True)
            base = self._image_pipe
        pipe = copy.copy(base)
        pipe.scheduler = scheduler_for(self.pipe.scheduler, parameters.get("scheduler"), parameters.get("schedule"), self.samplers, diffusers)
        return pipe

    def begin(self, task: Mapping[str, Any], init_image: bytes | None, saved: bytes | None) -> DiffusersRun:
        return DiffusersRun(self, task, init_image, saved)

    def advance(self, runs: Sequence[DiffusersRun], steps: int, on: Callable[[], bool]) -> None:
        goals = {id(run): run.steps + steps for run in runs}
        waiting: list[tuple[DiffusersRun, ModelCall]] = []

        def go(run: DiffusersRun, value: Any = None, error: BaseException | None = None) -> None:
            what = run.go(value, error)
            # behind its last step a run goes on to its picture
            while what == BOUNDARY and on() and (run.steps < goals[id(run)] or run.calls_done >= run.calls_total):
                what = run.go()
            if isinstance(what, ModelCall):
                waiting.append((run, what))

        for run in runs:
            if run.state in ("new", "running"):
                go(run)
        while waiting:
            on()
            together, waiting[:] = list(waiting), []
            for group in groups(together, lambda one: one[1], self._most):
                for run, answer, wrong in self._compute(group):
                    go(run, answer, wrong)

    def _compute(self, group: list[tuple[DiffusersRun, ModelCall]]) -> list[tuple[DiffusersRun, Any, BaseException | None]]:
        """One call for all of them. What fails together is called one by one: who fails alone is the one at fault."""
        calls = [call for _, call in group]
        joined = join(calls) if len(calls) > 1 else (calls[0].args, calls[0].kwargs)
        assert joined is not None
        start = time.perf_counter_ns()
        try:
            with torch.no_grad():
                answer = self._forwards[id(calls[0].module)](*joined[0], **joined[1])
        except Exception as wrong:
            if len(group) == 1:
                return [(group[0][0], None, wrong)]
            if isinstance(wrong, torch.OutOfMemoryError):
                self._most = max(1, len(group) // 2)
                torch.cuda.empty_cache()
            return [row for one in group for row in self._compute([one])]
        took, rows = time.perf_counter_ns() - start, sum(call.rows for call in calls)
        self.batches[len(group)] = self.batches.get(len(group), 0) + 1
        for run, call in group:
            run.cost_ns += took * call.rows // rows
            run.cap = self._most
        answers = cut(answer, calls) if len(calls) > 1 else [answer]
        return [(run, one, None) for (run, _), one in zip(group, answers)]

    def preview_of(self, latents: Any) -> bytes | None:
        """The first picture of the latents, small."""
        if latents.dim() != 4:
            self.previews = False
            return None
        vae = self.pipe.vae
        with torch.no_grad():
            scaled = latents[:1] / vae.config.scaling_factor + (getattr(vae.config, "shift_factor", None) or 0)
            picture = self.pipe.image_processor.postprocess(vae.decode(scaled.to(vae.dtype), return_dict=False)[0], output_type="pil")[0]
        picture.thumbnail((PREVIEW_SIDE, PREVIEW_SIDE))
        return _png(picture)


def load(folder: str, device: str | None = None, dtype: str | None = None) -> Any:
    """The pipeline of a folder (model_index.json), on the GPU if the job has one."""
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    kind = getattr(torch, dtype) if dtype else torch.float16 if device.startswith("cuda") else torch.float32
    pipe = DiffusionPipeline.from_pretrained(folder, dtype=kind, local_files_only=True)
    return pipe.to(device)


__all__ = ["DiffusersDrawer", "DiffusersRun", "load"]
