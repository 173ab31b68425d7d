#!/usr/bin/env python3
"""As many tasks as there may be: 100,000 that have not ended."""
from fake_worker import fake_service, generate
from service import arguments, equal, run_with


@arguments("--task-queue-max", "100000")
def there_are_no_more_tasks_than_allowed(service):
    """Of all users together; one more is refused whoever asks, until one has ended. A list is taken as a whole or not at all."""
    service.api("POST", "/models/digits/pause", {})
    most, at_once = 100000, 256
    for first in range(0, most - 1, at_once):
        service.api("POST", "/generate", {"requests": [{"prompt": "x", "steps": 1}] * min(at_once, most - 1 - first)}, 201)
    answer = service.api("POST", "/generate", {"requests": [{"prompt": "x"}] * 2}, 429)
    assert "the queue is full: 100000 tasks have not ended" in answer["error"]["message"], answer
    equal(generate(service)["position"], most)
    token = service.api("POST", "/tokens", {"user": "daemon", "role": "user"}, 201)["token"]
    equal(service.ask("POST", "/api/v1/generate", {"prompt": "x"}, token=token)[0], 429)
    service.api("DELETE", "/tasks/5")
    generate(service)
    generate(service, status=429)


run_with(fake_service, there_are_no_more_tasks_than_allowed)
