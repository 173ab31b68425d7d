/*
 * A channel slowed down to a rate, for measurements that say something. Requests go to the inner channel at once; here each gets the time at
 * which a channel of the rate would be done with it, and is handed back then, in order. Limits of the kernel's give credit for time in which
 * nothing was asked for, which makes a loader that waits look as good as one that does not.
 */
#include "stream/channel.h"

#include "core/int128.h"

#include <errno.h>
#include <time.h>

struct paced {
	struct channel base;
	struct strata_memory *memory;
	struct channel *inner;
	int64_t bytes_per_s;
	int64_t busy_until_ns;
	uint64_t asked, given; /* turns of requests */
	struct request *held;  /* done by the inner channel, by turn */
};

static int64_t time_of(const struct paced *paced, size_t bytes)
{
	return (int64_t)((uint128)bytes * 1000000000u / (uint64_t)paced->bytes_per_s);
}

static void paced_submit(struct channel *channel, struct request *list)
{
	struct paced *paced = (struct paced *)channel;
	int64_t now = channel_now_ns();

	if (paced->busy_until_ns < now)
		paced->busy_until_ns = now;
	for (struct request *request = list; request; request = request->next) {
		request->turn = paced->asked++;
		request->paced_begin_ns = paced->busy_until_ns;
		paced->busy_until_ns += time_of(paced, request->bytes);
		request->paced_end_ns = paced->busy_until_ns;
	}
	channel_submit(paced->inner, list);
}

static void hold(struct paced *paced, struct request *request)
{
	struct request **at = &paced->held;

	while (*at && (*at)->turn < request->turn)
		at = &(*at)->next;
	request->next = *at;
	*at = request;
}

static void sleep_until(int64_t time_ns)
{
	struct timespec until = { time_ns / 1000000000, time_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* The first in turn, if it is with us and its time has come; with `wait`, waits for both. */
static struct request *paced_reap(struct channel *channel, bool wait)
{
	struct paced *paced = (struct paced *)channel;
	struct request *done;

	while ((done = channel_reap(paced->inner, false)))
		hold(paced, done);
	while (wait && paced->given < paced->asked &&
	       !(paced->held && paced->held->turn == paced->given))
		hold(paced, channel_reap(paced->inner, true));
	struct request *first = paced->held;

	if (!first || first->turn != paced->given)
		return NULL;
	if (first->paced_end_ns > channel_now_ns()) {
		if (!wait)
			return NULL;
		sleep_until(first->paced_end_ns);
	}
	paced->held = first->next;
	paced->given++;
	first->next = NULL;
	first->begin_ns = first->paced_begin_ns;
	if (first->end_ns < first->paced_end_ns)
		first->end_ns = first->paced_end_ns;
	return first;
}

static void paced_close(struct channel *channel)
{
	struct paced *paced = (struct paced *)channel;

	channel_close(paced->inner);
	strata_memory_put(paced->memory, paced, sizeof(*paced));
}

static const struct channel_class paced_class = { "paced", paced_submit, paced_reap, paced_close };

int channel_paced_open(struct channel *inner, int64_t bytes_per_s, struct strata_memory *memory,
		       struct channel **ret_channel, struct strata_error *err)
{
	struct paced *paced = strata_memory_get(memory, sizeof(*paced));

	if (!paced)
		return strata_fail_memory(err);
	*paced = (struct paced){ .base = { &paced_class },
				 .memory = memory,
				 .inner = inner,
				 .bytes_per_s = bytes_per_s };
	*ret_channel = &paced->base;
	return 0;
}
