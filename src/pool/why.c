/* Why a task waits, for programs and for people. */
#include "pool/pool_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static const struct {
	const char *name, *words;
} waits[STRATA_WAIT_COUNT] = {
	[STRATA_WAIT_NONE] = { "none", "it does not wait" },
	[STRATA_WAIT_EMPTY] = { "empty", "nothing is in line" },
	[STRATA_WAIT_BEHIND] = { "behind", "others are before it" },
	[STRATA_WAIT_RUNNING] = { "running", "its user has as many tasks running as allowed" },
	[STRATA_WAIT_COST] = { "cost", "its user has used what is allowed in this window" },
	[STRATA_WAIT_MEMORY] = { "memory", "it does not fit into the memory that is free" },
	[STRATA_WAIT_IMPOSSIBLE] = { "impossible", "it needs more memory than any worker has" },
	[STRATA_WAIT_BATCH] = { "batch", "it waits for others to share a batch with" },
	[STRATA_WAIT_WORKER] = { "worker", "there is no worker" },
	[STRATA_WAIT_BUSY] = { "busy", "it is next, and every worker is busy" },
};

const char *strata_wait_name(enum strata_wait wait)
{
	return (unsigned)wait < STRATA_WAIT_COUNT ? waits[wait].name : "unknown";
}

const char *strata_wait_words(enum strata_wait wait)
{
	return (unsigned)wait < STRATA_WAIT_COUNT ? waits[wait].words : "";
}

/* Whether a worker has room for it now, and whether any could have. Stops at the first that has. */
static enum strata_wait look_at_workers(const struct strata_pool *pool, const struct task *task)
{
	const struct worker *worker = pool->silent;
	bool possible = false, idle = false;

	if (!worker)
		return STRATA_WAIT_WORKER;
	do {
		int64_t memory_mib = worker->memory_mib ? worker->memory_mib : INT64_MAX;

		possible |= task->memory_mib <= memory_mib;
		idle |= worker->count == 0;
		if (worker->count == 0 && task->memory_mib <= memory_mib)
			return STRATA_WAIT_NONE;
		worker = worker->after;
	} while (worker != pool->silent);
	if (!possible)
		return STRATA_WAIT_IMPOSSIBLE;
	return idle ? STRATA_WAIT_MEMORY : STRATA_WAIT_BUSY;
}

int strata_pool_why(struct strata_pool *pool, uint64_t task, int64_t now_ns,
		    struct strata_why *ret_why, struct strata_error *err)
{
	const struct task *found = task_at(pool, task, err);
	struct strata_why why = { .until_ns = INT64_MAX };
	struct strata_position position;

	if (!found)
		return -ESTALE;
	pool_ask(pool, now_ns);
	if (!task_waits(found)) {
		*ret_why = why;
		return 0;
	}
	if (pool->hooks && pool->hooks->blocked)
		why.wait = pool->hooks->blocked(pool, found, &why.until_ns);
	enum strata_wait workers = look_at_workers(pool, found);
	int rc = strata_pool_position(pool, task, now_ns, &position, err);

	if (rc)
		return rc;
	why.ahead = position.ahead;
	why.error = position.error;
	if (why.wait == STRATA_WAIT_NONE &&
	    (workers == STRATA_WAIT_WORKER || workers == STRATA_WAIT_IMPOSSIBLE))
		why.wait = workers;
	if (why.wait == STRATA_WAIT_NONE && position.ahead > 0)
		why.wait = STRATA_WAIT_BEHIND;
	if (why.wait == STRATA_WAIT_NONE && workers == STRATA_WAIT_NONE &&
	    pool->batch_until_ns > pool->now_ns && pool->batch_until_ns != INT64_MAX) {
		why.wait = STRATA_WAIT_BATCH;
		why.until_ns = pool->batch_until_ns;
	}
	if (why.wait == STRATA_WAIT_NONE)
		why.wait = workers;
	*ret_why = why;
	return 0;
}

char *strata_why_print(const struct strata_why *why, int64_t now_ns, char *ret_text, size_t room)
{
	char form[STRATA_FORM_BYTES];

	if (why->wait == STRATA_WAIT_BEHIND && why->error > 0)
		snprintf(ret_text, room,
			 "behind about %" PRIu64 " tasks (give or take %" PRIu64 ")", why->ahead,
			 why->error);
	else if (why->wait == STRATA_WAIT_BEHIND)
		snprintf(ret_text, room, "behind %" PRIu64 " task%s", why->ahead,
			 why->ahead == 1 ? "" : "s");
	else if (why->until_ns != INT64_MAX && why->until_ns > now_ns)
		snprintf(ret_text, room, "%s, for %s more", strata_wait_words(why->wait),
			 strata_duration_print_short(why->until_ns - now_ns, form));
	else
		snprintf(ret_text, room, "%s", strata_wait_words(why->wait));
	return ret_text;
}

int64_t strata_pool_earliest(struct strata_pool *pool, const struct strata_task_request *request,
			     int64_t now_ns)
{
	int64_t cost_ns = request->cost_ns;
	struct batch_key *shape;

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_EARLIEST,
						    .now_ns = now_ns,
						    .request = request });
	pool_tick(pool, now_ns);
	if (!pool->hooks || !pool->hooks->earliest)
		return INT64_MIN;
	if (cost_ns == 0 && batch_key_get(pool, request->model, request->shape, &shape, NULL) == 0)
		cost_ns = shape_expect(shape, request->steps);
	return pool->hooks->earliest(pool, cost_ns);
}
