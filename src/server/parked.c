/* The list of parked.h. It is as long as there are workers that have nothing to do and callers that
 * wait, and is gone through once a round. */
#include "server/parked.h"

#include "server/http.h"

#include <microhttpd.h>

bool parked_add(struct decider *decider, struct request *request, int64_t wait_ns,
		bool (*look)(struct decider *decider, struct request *request, bool due))
{
	struct parked *parked = strata_arena_get(&request->arena, sizeof(*parked));

	if (!parked)
		return false;
	*parked = (struct parked){ .request = request,
				   .due_ns = env_now_ns(decider->env, ENV_MONOTONIC) + wait_ns,
				   .look = look,
				   .next = decider->parked };
	if (decider->parked)
		decider->parked->previous = parked;
	decider->parked = parked;
	request->parked = true;
	return true;
}

/* From here on it is answered like any other; the request owns what it is listed with. */
static void leave(struct decider *decider, struct parked *parked)
{
	struct request *request = parked->request;

	*(parked->previous ? &parked->previous->next : &decider->parked) = parked->next;
	if (parked->next)
		parked->next->previous = parked->previous;
	request->parked = false;
	if (request->durable && !decider->batch.held)
		batch_wait(decider, request);
	else
		http_answered(request);
}

void parked_look(struct decider *decider)
{
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);
	struct parked *next;

	for (struct parked *parked = decider->parked; parked; parked = next) {
		next = parked->next;
		if (parked->look(decider, parked->request, parked->due_ns <= now_ns))
			leave(decider, parked);
	}
}

int64_t parked_due_ns(const struct decider *decider)
{
	int64_t due_ns = INT64_MAX;

	for (const struct parked *parked = decider->parked; parked; parked = parked->next)
		if (parked->due_ns < due_ns)
			due_ns = parked->due_ns;
	return due_ns;
}

void parked_end(struct decider *decider, const char *why)
{
	while (decider->parked) {
		struct parked *parked = decider->parked;

		parked->request->durable = false;
		request_refuse(parked->request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable", "%s",
			       why);
		leave(decider, parked);
	}
}
