#!/usr/bin/env python3
"""strata.submit and strata.map: functions of a module as jobs of a real service; with cloudpickle also those of this very file (python-torch_functions)."""
import concurrent.futures
import os
import sys
import tempfile
import time
import traceback

import client_env
from client_env import raises

CLOUD = "cloud" in sys.argv
if CLOUD:
    client_env.enter_torch()
else:
    sys.modules["cloudpickle"] = None  # as if it were not installed

import strata  # noqa: E402
from service import equal, run  # noqa: E402
from strata import functions  # noqa: E402

MODULE = tempfile.mkdtemp(prefix="strata-functions-")
sys.path.insert(0, MODULE)
with open(os.path.join(MODULE, "work.py"), "w") as file:
    file.write("""
import os, sys, time
def add(a, b=0):
    print("adding", a, b)
    return a + b
def fail(word):
    raise KeyError(word)
def die():
    print("last words", flush=True)
    os.kill(os.getpid(), 9)
def leave():
    sys.exit(3)
def unsendable():
    return lambda: 1
def forever():
    print("begun", flush=True)
    time.sleep(600)
def environment():
    return os.environ["CUDA_VISIBLE_DEVICES"], int(os.environ["STRATA_JOB_ID"])
class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a}{b}")
def odd():
    raise Odd(1, 2)
""")
import work  # noqa: E402


def calls(service):
    return {"client": strata.Client(service.socket), "directory": os.path.join(service.dir, "calls"), "job": {"working_dir": service.dir}}


def a_function_is_a_job_and_its_result_comes_back(service):
    future = strata.submit(work.add, 40, b=2, gpus=1, **calls(service))
    equal(future.result(30), 42)
    equal((future.done(), future.cancelled(), future.exception(), future.job.name, future.job.gpus), (True, False, None, "add", 1))
    equal("".join(future.logs()), "adding 40 2\n")
    gpus, job = strata.submit(work.environment, gpus=2, **calls(service)).result(30)
    equal((gpus, job), ("0,1", future.job_id + 1))
    assert "completed" in future._repr_html_()
    where = os.path.dirname(future._path)
    equal(oct(os.stat(where).st_mode & 0o777), "0o700")
    del future
    equal(os.path.exists(where), False)


def an_exception_comes_back_with_its_traceback(service):
    wrong = raises(KeyError, strata.submit(work.fail, "lost", **calls(service)).result, 30)
    equal(wrong.args, ("lost",))
    text = "".join(traceback.format_exception(wrong))
    assert "work.py" in text and "raise KeyError(word)" in text, text
    wrong = raises(RuntimeError, strata.submit(work.odd, **calls(service)).result, 30)  # it cannot be pickled, so its sentence comes
    equal(str(wrong), "Odd: 12")
    wrong = raises(Exception, strata.submit(work.unsendable, **calls(service)).result, 30) if not CLOUD else None
    assert CLOUD or "cannot be sent" in str(wrong), wrong


def a_job_that_leaves_no_result_says_why(service):
    wrong = raises(functions.JobFailed, strata.submit(work.die, **calls(service)).result, 30)
    assert "last words" in str(wrong) and wrong.job.exit_signal == 9, wrong
    assert "exit(3)" in str(raises(functions.JobFailed, strata.submit(work.leave, **calls(service)).result, 30))


def what_no_node_has_is_refused_at_once(service):
    wrong = raises(strata.errors.ImpossibleError, strata.submit, work.add, 1, gpus=99, **calls(service))
    assert "It asks for 99 GPUs; all nodes together have 12" in str(wrong), wrong
    assert isinstance(wrong, ValueError)


def another_python_is_refused(service):
    where = functions._prepare((work.add, (1,), {}), None, service.dir + "/calls")
    with open(where + "/about.json") as file:
        text = file.read()
    with open(where + "/about.json", "w") as file:
        file.write(text.replace('"python": [3, ', '"python": [2, '))
    it = strata.Client(service.socket)
    job = it.submit([sys.executable, functions._run_function.__file__, where], working_dir=service.dir)
    future = functions.Future(it, job, where + "/result")
    future._settle(it.wait(job, 30))
    assert "sent by Python 2." in str(raises(RuntimeError, future.result, 0))


def a_future_can_be_cancelled(service):
    future = strata.submit(work.forever, **calls(service))
    equal(next(future.logs()), "begun\n")
    equal(str(raises(concurrent.futures.TimeoutError, future.result, 0.05)), f"job {future.job_id} is running after 0.05 s")
    equal((future.cancel(), future.cancelled()), (True, True))
    raises(concurrent.futures.CancelledError, future.result)
    equal(strata.Client(service.socket).wait(future.job_id, 30).state, "cancelled")


def map_is_one_array(service):
    futures = strata.map(work.add, range(12), range(0, 120, 10), parallel=6, cpus_per_task=0.5, **calls(service))
    finished, waiting = concurrent.futures.wait(futures, 60)
    equal((len(finished), len(waiting)), (12, 0))
    equal([future.result() for future in futures], [11 * i for i in range(12)])
    equal(len({future.job.array_id for future in futures}), 1)
    equal(strata.map(work.add, [], **calls(service)), [])
    mixed = strata.map(work.fail, ["a", "b"], **calls(service))
    equal([future.exception(30).args for future in mixed], [("a",), ("b",)])


def what_cannot_be_sent_is_said_at_once(service):
    wrong = raises(TypeError, strata.submit, lambda: 1, **calls(service))
    assert "cloudpickle" in str(wrong), wrong
    equal(str(raises(TypeError, strata.submit, 3, **calls(service))), "3 is no function; expected one, and its arguments after it")
    equal(strata.Client(service.socket).jobs().rows, [])
    raises(strata.Error, strata.submit, work.add, 1, **{**calls(service), "job": {"gpus": -1}})
    equal(os.listdir(service.dir + "/calls"), [])


def closures_and_arrays_are_sent_too(service):
    import numpy
    scale = 3
    future = strata.submit(lambda array: array * scale, numpy.arange(4), **calls(service))
    equal(future.result(60).tolist(), [0, 3, 6, 9])

    class Wrong(Exception):
        pass

    def fail():
        raise Wrong("of a class that only the caller has")
    raises(Wrong, strata.submit(fail, **calls(service)).result, 60)
    futures = strata.map(lambda x: (x, time.sleep(0)), range(6), **calls(service))
    equal([future.result(60)[0] for future in futures], list(range(6)))


PLAIN = [a_function_is_a_job_and_its_result_comes_back, an_exception_comes_back_with_its_traceback, a_job_that_leaves_no_result_says_why,
         what_no_node_has_is_refused_at_once, another_python_is_refused, a_future_can_be_cancelled, map_is_one_array, what_cannot_be_sent_is_said_at_once]
run(*([closures_and_arrays_are_sent_too, an_exception_comes_back_with_its_traceback, map_is_one_array] if CLOUD else PLAIN))
