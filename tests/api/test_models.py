#!/usr/bin/env python3
"""Models: made, changed, paused and removed by operators, and kept."""
import signal
import threading
import time

from fake_worker import Worker, fake_service, generate
from service import equal, run_with


def a_model_is_made_changed_and_removed(service):
    equal([one["name"] for one in service.api("GET", "/models")["models"]], ["digits"])
    made = service.api("PUT", "/models/big", {"folder": "/models/big", "gpus": 1, "memory": "12G", "workers_max": 4, "solver": "euler",
                                              "steps": 30, "width": 1024, "height": 512, "guidance_scale": 7}, 201)
    equal((made["gpus"], made["memory_bytes"], made["defaults"]["solver"], made["policy"]), (1, 12 << 30, "euler", "fair"))
    asked = generate(service, model="big")
    equal(asked["parameters"], {"prompt": "a seven", "steps": 30, "seed": asked["seed"], "n": 1, "scheduler": "euler", "width": 1024, "height": 512,
                                "guidance_scale": 7.0})
    service.kill()
    service.start()
    equal(service.api("GET", "/models/big")["defaults"]["steps"], 30)
    equal(service.ask("DELETE", "/api/v1/models/big")[0], 409)
    equal(service.ask("PUT", "/api/v1/models/big", {"folder": "/models/big", "batch": 8})[0], 409)
    service.api("PUT", "/models/big", {"folder": "/models/big", "steps": 5, "workers_max": 0})
    equal(generate(service, model="big")["steps"], 5)


def what_is_no_model_is_said(service):
    for name, body, word in [("-x", {"folder": "/m"}, "name of a model"), ("m", {}, "folder"), ("m", {"folder": "m"}, "absolute"),
                             ("m", {"folder": "/m", "backend": "abacus"}, "backend"), ("m", {"folder": "/m", "workers_min": 2}, "workers_max"),
                             ("m", {"folder": "/m", "batch": 33}, "32"), ("n" * 129, {"folder": "/m"}, "128")]:
        status, answer = service.ask("PUT", f"/api/v1/models/{name}", body)
        equal((name, body, status), (name, body, 400))
        assert word in answer["error"]["message"], answer
    equal(service.ask("GET", "/api/v1/models/m")[0], 404)
    equal(service.ask("DELETE", "/api/v1/models/m")[0], 404)
    equal(service.api("PUT", "/models/m", {"folder": "/m", "batch": 32, "workers_max": 0}, 201)["batch"], 32)
    service.api("DELETE", "/models/m")
    equal(service.ask("GET", "/api/v1/models/m")[0], 404)


def a_paused_model_waits(service):
    generate(service)
    worker = Worker(service)
    equal(service.api("POST", "/models/digits/pause")["paused"], True)
    equal(worker.pick()["tasks"], [])
    assert "paused" in service.api("GET", "/tasks/1/why")["text"]
    service.kill()
    service.start()
    equal(worker.pick()["tasks"], [])
    service.api("POST", "/models/digits/resume")
    equal(len(worker.pick(5000)["tasks"]), 1)


def a_family_brings_its_defaults(service):
    made = service.api("PUT", "/models/xl", {"folder": "/models/xl", "family": "SD XL", "workers_max": 0}, 201)
    equal((made["family"], made["defaults"]["solver"], made["defaults"]["steps"], made["defaults"]["width"], made["defaults"]["guidance_scale"]),
          ("sdxl", "euler:timestep_spacing=leading", 50, 1024, 5.0))
    made = generate(service, model="xl")
    got = service.api("GET", f"/tasks/{made['id']}")["parameters"]
    equal((got["scheduler"], got["steps"], got["width"], got["height"], got["guidance_scale"]),
          ("euler:timestep_spacing=leading", 50, 1024, 1024, 5.0))
    made = generate(service, model="xl", steps=3, scheduler="ddim", width=64, guidance_scale=1)
    got = service.api("GET", f"/tasks/{made['id']}")["parameters"]
    equal((got["scheduler"], got["steps"], got["width"], got["guidance_scale"]), ("ddim", 3, 64, 1.0))
    status, answer = service.ask("PUT", "/api/v1/models/y", {"folder": "/y", "family": "sdxxl"})
    equal((status, answer["error"]["message"]), (404, "there is no model family 'sdxxl'; did you mean 'sdxl'?"))
    equal(service.api("GET", "/models/digits")["defaults"]["steps"], 12)  # its own


def one_is_the_default(service):
    equal(service.api("GET", "/models/digits")["default"], True)
    service.api("PUT", "/models/other", {"folder": "/other", "workers_max": 0}, 201)
    service.api("POST", "/models/other/default", {})
    service.kill()
    service.start()
    equal({one["name"]: one["default"] for one in service.api("GET", "/models")["models"]}, {"digits": False, "other": True})
    equal(generate(service)["model"], "other")
    service.api("POST", "/models/digits/default", {})
    equal({one["name"]: one["default"] for one in service.api("GET", "/models")["models"]}, {"digits": True, "other": False})


def what_a_step_needs_is_kept(service):
    generate(service, width=28, height=28, steps=8)
    worker = Worker(service)
    worker.pick(1000)
    rows = [{"id": 1, "kind": "steps", "steps": 4, "cost_ns": 2 * 10**9}]
    equal(worker.ask("POST", "/done", {"rows": rows})[0], 200)
    worker.finish()
    model = service.api("GET", "/models/digits")
    equal([(row["width"], row["images"]) for row in model["measured"]], [(28, 1)])
    assert 0.3 < model["measured"][0]["seconds_per_step"] < 0.6, model["measured"]
    service.api("POST", "/models/digits/pause", {})  # which writes its row
    service.kill()
    service.start()
    equal(service.api("GET", "/models/digits")["measured"], model["measured"])


def there_are_no_more_than_allowed(service):
    for number in range(1, 1000):
        service.api("PUT", f"/models/m{number}", {"folder": "/m", "workers_max": 0}, 201)
    status, answer = service.ask("PUT", "/api/v1/models/m1000", {"folder": "/m"})
    equal((status, answer["error"]["message"]), (429, "there are 1000 models, and may be no more"))
    service.api("PUT", "/models/m7", {"folder": "/other", "workers_max": 0})  # changing one is no more
    service.api("DELETE", "/models/m7")
    service.api("PUT", "/models/m1000", {"folder": "/m", "workers_max": 0}, 201)


def one_goes_when_its_last_task_is_forgotten(service):
    """Cancelling its last task and removing the model may be of one round: it is in use until the end of it."""
    for _ in range(20):
        service.api("PUT", "/models/other", {"folder": "/none", "workers_max": 0}, 201)
        task = generate(service, model="other")["id"]
        works = [threading.Thread(target=service.ask, args=("DELETE", f"/api/v1{path}")) for path in (f"/tasks/{task}", "/models/other", "/models/other")]
        service.process.send_signal(signal.SIGSTOP)  # so that they come together
        for work in works:
            work.start()
            time.sleep(0.01)
        service.process.send_signal(signal.SIGCONT)
        for work in works:
            work.join()
        service.ask("DELETE", "/api/v1/models/other")
        equal(service.api("GET", f"/tasks/{task}")["status"], "cancelled")


def accounts_have_tasks_and_not_their_workers(service):
    service.api("PUT", "/models/digits", {"gpus": 1, "cpus": 2, "batch": 1})
    token = service.api("POST", "/tokens", {"user": "daemon", "role": "user"}, 201)["token"]
    for _ in range(2):
        service.api("POST", "/generate", {"prompt": "a one", "steps": 4}, 201, token=token)
    worker = Worker(service)
    for _ in range(2):
        worker.pick(1000)
        worker.report("steps", 1, cost_ns=1800 * 10**9)
        worker.pick()
        worker.finish()
    want = [("daemon", 0, 2, 3600.002)]
    for _ in range(2):
        rows = service.api("GET", "/accounting")["rows"]
        equal([(row["user"], row["jobs"], row["tasks"], round(row["task_seconds"], 6)) for row in rows], want)
        equal((round(rows[0]["gpu_hours"], 3), round(rows[0]["cpu_hours"], 3)), (1, 2))
        service.ask("DELETE", f"/api/v1/jobs/{worker.job}")
        service.wait(worker.job, "cancelled")  # the worker has ended
        service.kill()
        service.start()
    equal(service.api("GET", "/accounting?since=now%2B1hour")["rows"], [])
    equal([row["tasks"] for row in service.api("GET", "/accounting?by=account")["rows"]], [2])


run_with(fake_service, a_family_brings_its_defaults, one_is_the_default, what_a_step_needs_is_kept, there_are_no_more_than_allowed,
         one_goes_when_its_last_task_is_forgotten, accounts_have_tasks_and_not_their_workers, a_model_is_made_changed_and_removed, what_is_no_model_is_said, a_paused_model_waits)
