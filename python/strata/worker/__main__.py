"""python -m strata.worker --model NAME: from the job's variables to a worker that runs. Ends as `strata worker` does: 4 when the service refuses it, 5 when it
cannot be reached."""
from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import traceback
from dataclasses import replace

from ..client import Client
from ..client.find import find, find_token
from ..errors import Error
from .api import Api, is_away, is_shut_out
from .beat import Beat
from .loop import Loop

REFUSED, UNREACHABLE = 4, 5


def say(text: str) -> None:
    print(f"strata.worker: {text}", file=sys.stderr, flush=True)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m strata.worker", description="Draws the pictures of a model's tasks with a diffusers pipeline, as a "
                                     "job of the service, which starts workers itself.")
    parser.add_argument("--model", required=True, metavar="NAME", help="whose tasks: a model that the service knows")
    parser.add_argument("--folder", metavar="DIR", help="where the pipeline is; as the service has it when left out")
    parser.add_argument("--device", help="cuda, cuda:1, cpu …; the job's GPU when left out, else cpu")
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"), help="float16 on a GPU and float32 elsewhere when left out")
    parser.add_argument("--call-limit", type=float, default=600, metavar="SECONDS", help="a call of the model that takes longer hangs: its tasks go to another")
    parser.add_argument("--away", type=float, default=600, metavar="SECONDS", help="it ends when the service is away for longer")
    return parser.parse_args(words)


def work(options: argparse.Namespace, ending: threading.Event) -> None:
    # the token of the job counts, on the socket too
    client = Client(place=replace(find(), token=find_token()))
    api = Api(client)
    model = api.model(options.model)
    folder = options.folder or model.get("folder")
    if not folder or not os.path.exists(os.path.join(folder, "model_index.json")):
        raise SystemExit(f"strata.worker: model {options.model}: {folder or 'no folder'} is not a pipeline of diffusers (model_index.json)")
    from .pipeline import DiffusersDrawer, load
    drawer = DiffusersDrawer(options.model, load(folder, options.device, options.dtype), api.samplers(), model, say)
    beat = Beat(api, options.call_limit, say).start()
    try:
        Loop(api, drawer, beat, ending.is_set, say, options.away, pause=lambda seconds: ending.wait(seconds) and None).run()  # type: ignore[arg-type]
    finally:
        beat.stop()


def main() -> int:
    options = arguments()
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    try:
        work(options, ending)
        return 0
    except Error as wrong:
        say(str(wrong))
        return UNREACHABLE if is_away(wrong) else REFUSED if is_shut_out(wrong) else 1
    except (ImportError, OSError, ValueError) as wrong:
        traceback.print_exc()
        say(f"{type(wrong).__name__}: {wrong}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
