/* Pools of a record, decided over: the same comes out, and what was changed in the record is noticed. */
#include "pool_play.h"

#include "sim/rerun.h"

#include <errno.h>

static struct buf record;
static struct rerun_result result;
static const char *name;

static void note(void *context, const struct strata_pool_event *event)
{
	struct recording_line line = { .pool = name, .pool_event = *event };

	(void)context;
	if (event->kind == STRATA_POOL_EVENT_PICK)
		line.digest = strata_pool_digest(pool);
	recording_add(&record, &line);
}

static void begin_service(void)
{
	struct recording_line line = { .begins = true, .begin = { .order = "fifo" } };

	recording_add(&record, &line);
}

/* Two users' tasks, one cancelled, one put first, a worker that is lost. */
static void live(const char *pool_name)
{
	struct recording_line line = { .begins = true,
				       .pool = pool_name,
				       .pool_begin = { .policy = "fair:within=priority",
						       .conf = { .batch_max = 2,
								 .lease_ns = 30 * SECOND } } };
	struct strata_pool_conf conf = line.pool_begin.conf;
	uint64_t tasks[6];

	name = pool_name;
	recording_add(&record, &line);
	conf.told = note;
	play_open("fair:within=priority", &conf);
	CHECK_OK(strata_pool_set_cap(pool, 0, 0, 2, &err));
	CHECK_OK(strata_pool_set_user(pool, "ann", NULL, 2, &(struct strata_quota){ .running_max = 5 },
				      &err));
	uint64_t worker = play_worker(0, 0), lost = play_worker(0, 0);

	for (int i = 0; i < 6; i++)
		tasks[i] = play_add(i % 2 ? "ann" : "ben", 2, i);
	CHECK_OK(strata_pool_cancel(pool, tasks[3], 10, &err));
	CHECK_ERROR(strata_pool_cancel(pool, tasks[3], 11, &err), -EALREADY, "cancelled already");
	CHECK_OK(strata_pool_set_priority(pool, tasks[5], 9, 12, &err));
	play_pick(lost, 13, NULL);
	for (int64_t now = 20; !strata_pool_all_finished(pool) && now < 60; now++) {
		struct strata_batch batch = play_pick(worker, now * SECOND, NULL);

		if (batch.count)
			play_done(&batch, STRATA_DONE_FINISHED, 1, SECOND, now * SECOND + 1);
		strata_pool_expire(pool, now * SECOND + 2);
	}
	CHECK(strata_pool_all_finished(pool));
	CHECK_OK(strata_pool_forget(pool, tasks[0], &err));
}

static void rerun(void)
{
	rerun_fini(&result);
	rerun_init(&result, &play_memory);
	CHECK_OK(rerun_run(record.text, record.length, &play_memory, &result, &err));
}

static void open_record(void)
{
	rerun_init(&result, &play_memory);
	buf_init(&record, &play_memory, 0);
	begin_service();
}

static void close_record(void)
{
	rerun_fini(&result);
	buf_fini(&record);
	play_close();
}

TEST(what_pools_decided_is_decided_again)
{
	open_record();
	live("digits");
	live("faces");
	live("digits"); /* another one of that name */
	begin_service();
	live("digits");
	rerun();
	CHECK_INT(result.differing, 0);
	CHECK_INT(result.pools, 4);
	CHECK_INT(result.clusters, 2);
	CHECK_INT(result.tasks, 24);
	CHECK_INT(result.refused, 4);
	CHECK(result.batches >= 4 * 3 && result.picks > result.batches);
	CHECK_INT(result.digests, result.picks);
	close_record();
}

/* The n-th place of a text in the record becomes other bytes of the same length. */
static void tamper(const char *what, const char *with)
{
	char *at = strstr(record.text, what);

	CHECK(at != NULL && strlen(what) == strlen(with));
	memcpy(at, with, strlen(with));
	rerun();
	memcpy(at, what, strlen(what));
}

TEST(what_was_changed_is_noticed_and_the_other_pools_go_on)
{
	open_record();
	live("digits");
	live("faces");
	tamper("\"priority\":9", "\"priority\":4");
	CHECK_INT(result.differing, 1);
	CHECK_INT(result.pools, 2);
	CHECK(strstr(result.recorded.text, "\"pool\":\"digits\"") != NULL);
	CHECK(strcmp(result.recorded.text, result.decided.text) != 0);
	tamper("\"user\":\"ben\"", "\"user\":\"ann\"");
	CHECK_INT(result.differing, 1);
	tamper("\"cost_ns\":1000000000}", "\"cost_ns\":2000000000}");
	CHECK_INT(result.differing, 1);
	tamper("\"policy\":\"fair:within=priority\"", "\"policy\":\"fair:within=shortest\"");
	CHECK_INT(result.pools, 2);
	rerun();
	CHECK_INT(result.differing, 0);
	close_record();
}

static void check_refused(const char *text, int code, const char *words)
{
	rerun_init(&result, &play_memory);
	CHECK_ERROR(rerun_run(text, strlen(text), &play_memory, &result, &err), code, words);
	rerun_fini(&result);
}

#define BEGIN "{\"event\":\"begin\",\"format\":1}\n"
#define POOL "{\"event\":\"pool_begin\",\"pool\":\"p\"}\n"
#define END "{\"event\":\"settle\"}\n"
TEST(what_is_no_record_of_a_pool_is_refused)
{
	check_refused(POOL END, -EINVAL, "line 1: the record has no line 'begin' before this");
	check_refused(BEGIN "{\"event\":\"pool_clock\",\"pool\":\"p\"}\n" END, -EINVAL,
		      "line 2: the pool p has no line 'pool_begin'");
	check_refused(BEGIN "{\"event\":\"pool_clock\"}\n" END, -EINVAL,
		      "line 2: there is no name of a pool");
	check_refused(BEGIN "{\"event\":\"pool_dance\",\"pool\":\"p\"}\n" END, -EINVAL,
		      "line 2: there is no event 'dance'");
	check_refused(BEGIN POOL "{\"event\":\"pool_pick\",\"pool\":\"p\"}\n" END, -EINVAL,
		      "line 3: nobody asked for this batch");
	check_refused(BEGIN POOL "{\"event\":\"pool_add\",\"pool\":\"p\"}\n" END, -EINVAL,
		      "line 3: there is no request of a task");
	check_refused(BEGIN POOL "{\"event\":\"pool_user\",\"pool\":\"p\"}\n" END, -EINVAL,
		      "line 3: there is no name");
	check_refused(BEGIN POOL "{\"event\":\"pool_apply\",\"pool\":\"p\"}\n" END, -EINVAL,
		      "line 3: there is no batch");
	check_refused(BEGIN "{\"event\":\"pool_begin\",\"pool\":\"p\",\"policy\":\"fif\"}\n" END,
		      -ENOENT, "line 2: there is no policy 'fif'");
	check_refused(BEGIN POOL
		      "{\"event\":\"pool_pick\",\"pool\":\"p\",\"ask\":{\"models\":[1,\"x\"]}}\n" END,
		      -EINVAL, "line 3: models is not a list of whole numbers");
	CHECK_INT(play_memory.used_bytes, 0);
}

/* Short numbers: long ones make jansson abort when it has no memory for them. */
static const char small[] =
	BEGIN POOL
	"{\"event\":\"pool_cap\",\"pool\":\"p\",\"cap\":2}\n"
	"{\"event\":\"pool_add\",\"pool\":\"p\",\"now_ns\":1,\"request\":{\"user\":\"a\"}}\n"
	"{\"event\":\"pool_add_worker\",\"pool\":\"p\",\"now_ns\":2}\n"
	"{\"event\":\"pool_pick\",\"pool\":\"p\",\"now_ns\":3,\"ask\":{\"worker\":1,\"models\":[7]}}\n";

static int rerun_once(struct strata_memory *memory, void *context, struct strata_error *why)
{
	struct rerun_result own;

	(void)context;
	rerun_init(&own, memory);
	int rc = rerun_run(small, sizeof(small) - 1, memory, &own, why);

	/* jansson takes lack of memory for bad syntax, or leaves letters out */
	if (rc == -EINVAL || rc == -ENOENT || own.torn || own.tasks != 1)
		rc = strata_fail_memory(why);
	rerun_fini(&own);
	return rc;
}

TEST(lack_of_memory_loses_nothing)
{
	CHECK(test_every_allocation(rerun_once, NULL) > 20);
}
