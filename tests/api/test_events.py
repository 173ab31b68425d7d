#!/usr/bin/env python3
"""What happened, as a page and as it happens."""
import json

from service import equal, next_event, run


def events_come_as_they_happen(service):
    connection, answer = service.follow("/events")
    equal(answer.getheader("Content-Type"), "text/event-stream; charset=utf-8")
    job = service.submit("true")["id"]
    service.wait(job, "completed")
    seen = []
    while not seen or seen[-1]["event"] != "job.ended":
        event = next_event(answer)
        about = json.loads(event["data"])
        equal((about["kind"], str(about["sequence"])), (event["event"], event["id"]))
        seen.append(event)
    equal([event["event"] for event in seen][:2], ["job.submitted", "job.scheduled"])
    connection.close()


def a_stream_goes_on_where_it_was(service):
    jobs = [service.submit("true", hold=True)["id"] for _ in range(3)]
    pages = service.api("GET", "/events?format=json")["events"]
    for how in ({"path": f"/events?after={pages[0]['sequence']}"}, {"path": "/events", "headers": {"Last-Event-ID": str(pages[0]["sequence"])}}):
        connection, answer = service.follow(**how)
        equal([json.loads(next_event(answer)["data"])["job"] for _ in range(2)], jobs[1:])
        connection.close()
    service.kill()
    service.start()  # also over a restart
    connection, answer = service.follow("/events?after=0")
    equal([json.loads(next_event(answer)["data"]) for _ in pages], pages)
    connection.close()
    equal(service.ask("GET", "/api/v1/events", headers={"Last-Event-ID": "x"})[0], 400)
    equal(service.api("GET", "/events?format=json&last=2")["events"], pages[-2:])
    equal(service.api("GET", "/events?format=json&last=99")["events"], pages)


def many_are_all_there_and_in_order(service):
    for _ in range(3):
        service.api("POST", "/jobs", {"jobs": [{"command": ["true"], "hold": True}] * 100}, 201)
    ids = [job["id"] for job in service.api("GET", "/queue?limit=300")["jobs"]]
    for job in ids:
        service.api("PATCH", f"/jobs/{job}", {"nice": 1})
    connection, answer = service.follow("/events?after=0")
    numbers = [int(next_event(answer)["id"]) for _ in range(303)]
    equal(numbers, list(range(1, 304)))
    connection.close()


run(events_come_as_they_happen, a_stream_goes_on_where_it_was, many_are_all_there_and_in_order)
