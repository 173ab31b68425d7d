"""A training loop that can be interrupted: it continues from the newest checkpoint, and saves one when it is told to end.

Replace State and step() by your model; with torch, save() is torch.save(state_dict, file)."""
import argparse
import json
import os
import signal
import sys
import time

told = False


def tell(number, frame):
    global told
    told = True


def step(state):
    """One step of training."""
    time.sleep(0.002)
    state["loss"] = 1.0 / (1 + state["step"])
    state["step"] += 1


def save(state):
    """Written under another name and renamed: what is there is whole, whatever happens. Names that begin with a dot do not count."""
    directory = os.environ.get("STRATA_CHECKPOINT_DIR", ".")
    new = os.path.join(directory, ".new")
    with open(new, "w", encoding="utf-8") as file:
        json.dump(state, file)
    os.replace(new, os.path.join(directory, "state.json"))


def load():
    path = os.environ.get("STRATA_CHECKPOINT")
    if not path:
        return {"step": 0, "loss": None}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--save-every", type=int, default=500)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, tell)  # preempted, or out of time: there are some seconds to save
    state = load()
    print(f"begins at step {state['step']}", flush=True)
    while state["step"] < args.steps:
        step(state)
        if told or state["step"] % args.save_every == 0:
            save(state)
            print(f"step {state['step']}: loss {state['loss']:.4f}, saved", flush=True)
        if told:
            sys.exit(0)
    print(f"done after {state['step']} steps")


main()
