#include "small_cluster.h"

#include "sim/rerun.h"

#include <errno.h>

static struct buf record;
static bool with_states = true;

static void note(void *context, const struct strata_event *event)
{
	struct recording_line line = { .event = *event };

	(void)context;
	if (event->kind == STRATA_EVENT_PASS && with_states)
		line.digest = strata_cluster_digest(small);
	recording_add(&record, &line);
}

/* A service's life on two nodes: `jobs` of one core for a hundred seconds each, one that is cancelled, one that is refused. */
static void live(uint64_t jobs)
{
	struct recording_line begin = { .begins = true, .begin = { .order = "fair_share" } };

	recording_add(&record, &begin);
	small_conf = (struct strata_cluster_conf){ .told = note };
	small_open("fair_share", "easy", 2, 2);
	small_conf = (struct strata_cluster_conf){ 0 };
	for (uint64_t id = 1; id <= jobs; id++)
		small_submit(small_request(id, 1, 100), 1);
	CHECK_OK(strata_cluster_cancel(small, jobs, 2 * SECOND, &err));
	CHECK_ERROR(strata_cluster_cancel(small, 999, 2 * SECOND, &err), -ESRCH, "no job 999");
	small_pass(3);
	small_end(1, 60);
	small_pass(60);
	strata_cluster_free(small);
	small = NULL;
	strata_arena_fini(&small_arena);
}

static struct rerun_result result;

static void rerun(void)
{
	rerun_fini(&result);
	rerun_init(&result, &small_memory);
	CHECK_OK(rerun_run(record.text, record.length, &small_memory, &result, &err));
}

static void open_record(void)
{
	rerun_init(&result, &small_memory);
	buf_init(&record, &small_memory, 0);
}

static void close_record(void)
{
	rerun_fini(&result);
	buf_fini(&record);
	CHECK_INT(small_memory.used_bytes, 0);
}

TEST(what_was_decided_is_decided_again)
{
	open_record();
	live(20);
	live(5);
	rerun();
	CHECK_INT(result.clusters, 2);
	CHECK_INT(result.passes, 4);
	CHECK_INT(result.digests, 4);
	CHECK_INT(result.refused, 2);
	CHECK_INT(result.starts, 17 + 4); /* sixteen cores and one that becomes free; all of four */
	CHECK_INT(result.differing, 0);
	CHECK_INT(result.torn, 0);
	close_record();
}

TEST(another_decision_is_noticed)
{
	open_record();
	live(20);
	live(5);
	char *start = strstr(record.text, "\"job\":16");

	CHECK(start != NULL);
	start[7] = '9';
	rerun();
	CHECK_INT(result.differing, 1);
	CHECK_INT(result.clusters, 2);
	CHECK_INT(result.passes, 3); /* the first is followed no further, the second is all right */
	CHECK(strstr(result.recorded.text, "\"job\":19") != NULL);
	CHECK(strstr(result.decided.text, "\"job\":16") != NULL);
	close_record();
}

TEST(another_state_is_noticed_before_it_decides)
{
	open_record();
	live(20);
	char *limit = strstr(record.text, "\"time_limit_ns\":100000000000");

	limit[strlen("\"time_limit_ns\":")] = '2';
	rerun();
	CHECK_INT(result.differing, 1);
	close_record();
}

TEST(a_line_that_was_cut_off_is_passed_over)
{
	open_record();
	live(5);
	record.length -= 10;
	record.text[record.length] = '\0';
	rerun();
	CHECK_INT(result.torn, 1);
	CHECK_INT(result.passes, 1);
	buf_add_char(&record, '\n');
	live(5);
	rerun();
	CHECK_INT(result.torn, 1);
	CHECK_INT(result.clusters, 2);
	CHECK_INT(result.differing, 0);
	close_record();
}

static void check_refused(const char *text, int code, const char *words)
{
	rerun_init(&result, &small_memory);
	CHECK_ERROR(rerun_run(text, strlen(text), &small_memory, &result, &err), code, words);
	rerun_fini(&result);
}

TEST(what_is_no_record_is_refused)
{
	check_refused("", -EINVAL, "the record is empty");
	check_refused("hello", -EINVAL, "line 1: not valid JSON");
	check_refused("{\"event\":\"pass\"}\n{\"event\":\"pass\"}\n", -EINVAL,
		      "line 1: the record has no line 'begin' before this");
	check_refused("{\"event\":\"begin\",\"format\":1}\nhello\n{\"event\":\"settle\"}\n",
		      -EINVAL, "line 2: not valid JSON");
	check_refused(
		"{\"event\":\"begin\",\"format\":1,\"order\":\"fif\"}\n{\"event\":\"settle\"}\n",
		-ENOENT, "line 1: there is no order 'fif'");
}

static int rerun_once(struct strata_memory *memory, void *context, struct strata_error *why)
{
	struct rerun_result own;

	(void)context;
	rerun_init(&own, memory);
	int rc = rerun_run(record.text, record.length, memory, &own, why);

	/* jansson takes lack of memory in a string for bad syntax; a pass without memory decides less */
	if ((rc == -EINVAL && strstr(why->text, "not valid JSON")) || own.torn || own.differing)
		rc = strata_fail_memory(why);
	rerun_fini(&own);
	return rc;
}

TEST(lack_of_memory_loses_nothing)
{
	open_record();
	with_states = false; /* long numbers make jansson abort when it has no memory for them */
	live(3);
	with_states = true;
	test_every_allocation(rerun_once, NULL);
	close_record();
}
