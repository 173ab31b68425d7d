"""The job's side of strata.submit: loads a call, runs it, leaves what came of it. Standard library only, and run as a file, so that the job needs
neither this package on its path nor anything else but what the function itself imports."""
import json
import os
import pickle
import sys
import traceback


def result_name(directory):
    index = os.environ.get("SLURM_ARRAY_TASK_ID")
    return os.path.join(directory, f"result.{index}" if index else "result")


def write(path, data):
    """Whole or not at all: who reads it sees no half."""
    part = f"{path}.{os.getpid()}.part"
    with open(part, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def dumps(value):
    """With what the call came by: who sent it has it as well."""
    return sys.modules.get("cloudpickle", pickle).dumps(value)


def describe(wrong):
    """An exception as it can be sent: itself if it survives, else its sentence; and its traceback as text."""
    text = "".join(traceback.format_exception(type(wrong), wrong, wrong.__traceback__))
    wrong = wrong.with_traceback(None)
    try:
        pickle.loads(dumps(wrong))
    except Exception:
        wrong = RuntimeError(f"{type(wrong).__name__}: {wrong}")
    return "error", wrong, text


def run(directory):
    with open(os.path.join(directory, "about.json"), encoding="utf-8") as file:
        about = json.load(file)
    if list(sys.version_info[:2]) != about["python"]:
        here, there = (".".join(map(str, version)) for version in (sys.version_info[:2], about["python"]))
        raise RuntimeError(f"the function was sent by Python {there}; the job has Python {here}")
    sys.path[:] = about["path"]
    if about["pickler"] == "cloudpickle":
        import cloudpickle  # noqa: F401  for dumps()
    with open(os.path.join(directory, "call"), "rb") as file:
        call = pickle.load(file)
    index = os.environ.get("SLURM_ARRAY_TASK_ID")
    if about["items"] is None:
        function, args, kwargs = call
    else:
        function, kwargs = call
        with open(os.path.join(directory, f"item.{index}"), "rb") as file:
            args = pickle.load(file)
    return function(*args, **kwargs)


def main(directory):
    try:
        found = ("value", run(directory))
        try:
            data = dumps(found)
        except Exception as wrong:
            raise TypeError(f"the function's result, {type(found[1]).__name__}, cannot be sent: {wrong}") from wrong
        code = 0
    except SystemExit as end:
        data, code = dumps(("exit", end.code)), end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as wrong:
        traceback.print_exc()
        data, code = dumps(describe(wrong)), 1
    write(result_name(directory), data)
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.path.pop(0)  # the package's own directory: its modules are named like what they work with
    sys.exit(main(sys.argv[1]))
