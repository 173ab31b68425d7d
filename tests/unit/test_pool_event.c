/* Everything that a pool is told reaches its listener, and told to another pool it does the same. */
#include "pool_play.h"

#include "random.h"

#include <errno.h>

static struct strata_memory twin_memory;
static struct strata_pool *twin;
static size_t heard[STRATA_POOL_EVENT_KIND_COUNT];
static size_t differing;

/* What one pool hears is done to the other; picks must come out equal. */
static void tell_twin(void *context, const struct strata_pool_event *event)
{
	struct strata_error why = { 0 };
	struct strata_batch batch = { 0 };

	(void)context;
	heard[event->kind]++;
	int rc = strata_pool_tell(twin, event, &batch, &why);

	CHECK(rc != -ENOMEM);
	if (event->kind != STRATA_POOL_EVENT_PICK)
		return;
	differing += memcmp(&batch.tasks, &event->batch->tasks, sizeof(batch.tasks)) != 0 ||
		     batch.number != event->batch->number || batch.wait != event->batch->wait;
}

static void open_twins(const char *policy)
{
	struct strata_pool_conf conf = { .batch_max = 4,
					 .preempt = true,
					 .lease_ns = 30 * SECOND,
					 .policy = play_spec(policy) };

	CHECK_OK(strata_pool_new(&conf, &twin_memory, &twin, &err));
	conf.told = tell_twin;
	play_open(policy, &conf);
	memset(heard, 0, sizeof(heard));
	differing = 0;
}

static void close_twins(void)
{
	strata_pool_free(twin);
	twin = NULL;
	play_close();
	CHECK_INT(twin_memory.used_bytes, 0);
}

static void live(uint64_t *random, uint64_t *tasks, size_t *count, uint64_t worker,
		 int64_t now_ns)
{
	static const char *const users[] = { "ann", "ben", "cem" };
	struct strata_task_request request = play_request(users[random_below(random, 3)], 3);
	struct strata_position position;
	uint64_t task;

	request.shape = random_below(random, 2);
	request.account = random_below(random, 2) ? "lab" : NULL;
	request.priority = (int64_t)random_below(random, 12); /* 11 is refused */
	request.deadline_ns = now_ns + 500 * SECOND;
	strata_pool_earliest(pool, &request, now_ns);
	if (strata_pool_add(pool, &request, now_ns, &task, NULL) == 0)
		tasks[(*count)++] = task;
	if (*count == 0)
		return;
	task = tasks[random_below(random, *count)];
	if (random_below(random, 4) == 0)
		strata_pool_cancel(pool, task, now_ns, NULL);
	if (random_below(random, 4) == 0)
		strata_pool_set_priority(pool, task, (int64_t)random_below(random, 11), now_ns,
					 NULL);
	strata_pool_forget(pool, task, NULL);
	strata_pool_position(pool, tasks[*count - 1], now_ns + 1, &position, NULL);
	struct strata_ask ask = { .worker = worker, .free_bytes = -1 };
	struct strata_batch batch;

	if (strata_pool_pick(pool, &ask, now_ns + 2, &batch, NULL, NULL) || batch.count == 0)
		return;
	play_done(&batch, random_below(random, 3) ? STRATA_DONE_BACK : STRATA_DONE_FINISHED, 0,
		  SECOND, now_ns + 3);
}

TEST(a_pool_that_is_told_the_same_is_the_same)
{
	static const char *const policies[] = { "fifo",     "priority", "fair:within=priority",
						"round_robin", "shortest", "deadline",
						"resource_aware" };

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		uint64_t random = 7 + i;
		uint64_t tasks[300];
		size_t count = 0;

		open_twins(policies[i]);
		strata_pool_set_account(pool, "lab", 2, NULL);
		strata_pool_set_user(pool, "ann", NULL, 3, NULL, NULL);
		strata_pool_charge(pool, "ben", NULL, SECOND, 0, NULL);
		strata_pool_set_cap(pool, 0, 1, 4, &err);
		uint64_t worker = play_worker(0, 0), lost = play_worker(0, 0);

		play_pick(lost, 1, NULL);
		for (int64_t now = 1; now <= 200; now++) {
			live(&random, tasks, &count, worker, now * SECOND);
			strata_pool_beat(pool, worker, now * SECOND + 4, &err);
		}
		CHECK_INT(strata_pool_expire(pool, 210 * SECOND), 1);
		CHECK_OK(strata_pool_remove_worker(pool, worker, 211 * SECOND, &err));
		CHECK_INT(differing, 0);
		CHECK(strata_pool_digest(pool) == strata_pool_digest(twin));
		for (int kind = 0; kind < STRATA_POOL_EVENT_KIND_COUNT; kind++)
			CHECK((heard[kind] > 0) == (kind != STRATA_POOL_EVENT_APPLY));
		close_twins();
	}
}

TEST(what_was_decided_elsewhere_is_heard_of_too)
{
	open_twins("fifo");
	uint64_t worker = play_worker(0, 0);
	struct strata_batch batch = { .number = 1,
				      .now_ns = 5,
				      .worker = worker,
				      .until_ns = INT64_MAX,
				      .steps = 1,
				      .count = 1 };

	play_add("ann", 3, 0);
	batch.tasks[0] = play_add("ben", 3, 1);
	CHECK_OK(strata_pool_apply(pool, &batch, &err));
	CHECK_INT(heard[STRATA_POOL_EVENT_APPLY], 1);
	CHECK(strata_pool_digest(pool) == strata_pool_digest(twin));
	close_twins();
}

TEST(events_have_names_of_their_own)
{
	for (int i = 0; i < STRATA_POOL_EVENT_KIND_COUNT; i++)
		for (int j = 0; j < i; j++)
			CHECK(strcmp(strata_pool_event_name((enum strata_pool_event_kind)i),
				     strata_pool_event_name((enum strata_pool_event_kind)j)) != 0);
	CHECK_TEXT(strata_pool_event_name((enum strata_pool_event_kind)99), "unknown");
	play_open("fifo", NULL);
	CHECK_ERROR(strata_pool_tell(pool,
				     &(struct strata_pool_event){
					     .kind = (enum strata_pool_event_kind)99 },
				     NULL, &err),
		    -EINVAL, "there is no event 99");
	play_close();
}
