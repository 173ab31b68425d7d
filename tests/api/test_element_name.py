#!/usr/bin/env python3
"""35_2 is element 2 of array 35, in the path of every route about a job."""
from service import equal, run


def an_element_is_found_by_its_place(service):
    first = service.submit("sh", "-c", "echo $STRATA_ARRAY_TASK_ID $SLURM_ARRAY_TASK_ID", array="3-9:2,20", output=service.dir + "/%a.out")["id"]
    for place, number in ((3, first), (5, first + 1), (9, first + 3), (20, first + 4)):
        found = service.wait(f"{first}_{place}", "completed")
        equal((found["id"], found["array_index"]), (number, place))
    equal(service.output("9.out"), "9 9\n")
    equal(service.ask("GET", f"/api/v1/jobs/{first}_9/output")[0], 200)
    for wrong in (f"{first}_4", f"{first}_21", f"{first + 1}_3", "99999_1"):
        status, answer = service.ask("GET", f"/api/v1/jobs/{wrong}")
        equal((wrong, status), (wrong, 404))
    assert "has no element 21" in service.ask("GET", f"/api/v1/jobs/{first}_21")[1]["error"]["message"], answer
    for odd in ("_1", "1_", "1_x", "1__2", "1_-1"):
        equal((odd, service.ask("GET", f"/api/v1/jobs/{odd}")[0]), (odd, 404))


def it_can_be_changed_and_cancelled(service):
    first = service.submit("sleep", "60", array="1-3", hold=True)["id"]
    equal(service.api("PATCH", f"/jobs/{first}_2", {"nice": 5})["id"], first + 1)
    equal(service.api("DELETE", f"/jobs/{first}_3")["id"], first + 2)
    equal([service.job(first + i)["state"] for i in range(3)], ["queued", "queued", "cancelled"])
    service.kill()
    service.start()
    equal((service.job(f"{first}_2")["nice"], service.job(f"{first}_3")["state"]), (5, "cancelled"))


run(an_element_is_found_by_its_place, it_can_be_changed_and_cancelled)
