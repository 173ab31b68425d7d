"""The pipeline that tasks are drawn with."""
from __future__ import annotations

from typing import Any, Optional

from ..errors import InvalidError
from .generator import DiffusionGenerator

__all__ = ["DiffusionBackend"]


def _argument(args: Any, *names: str) -> Any:
    for name in names:
        value = args.get(name) if isinstance(args, dict) else getattr(args, name, None)
        if value is not None:
            return value
    return None


class DiffusionBackend:
    """A pipeline and its generator. args is a pipeline, the folder or name of one, or anything with such an attribute or key:
    `pipeline`, or `model` (also `ckpt_dir`, `model_path`), with `device` and `dtype` if they are to be others than the pipeline's."""

    def __init__(self, args: Any) -> None:
        self.args = args
        self.pipeline = self._load(args)
        device, dtype = (_argument(args, name) if not callable(args) and not isinstance(args, str) else None for name in ("device", "dtype"))
        if device is not None or dtype is not None:
            self.pipeline = self.pipeline.to(*[word for word in (device, dtype) if word is not None])
        self.generator: Optional[DiffusionGenerator] = DiffusionGenerator(self.pipeline)

    @staticmethod
    def _load(args: Any) -> Any:
        from diffusers.pipelines.pipeline_utils import DiffusionPipeline
        if isinstance(args, DiffusionPipeline):
            return args
        if isinstance(args, str):
            return DiffusionPipeline.from_pretrained(args)
        pipeline = _argument(args, "pipeline")
        if pipeline is not None:
            return pipeline
        model = _argument(args, "model", "ckpt_dir", "model_path")
        if model is None:
            raise InvalidError("the arguments name no pipeline and no model; expected one of them", field="model")
        return DiffusionPipeline.from_pretrained(str(model))
