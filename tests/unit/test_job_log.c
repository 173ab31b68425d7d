#include "test.h"

#include "client/job_log.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct history history;
static const struct openb_node nodes[] = { { "n1", "a100", 8000, 1024, 4 },
					   { "n2", "", 16000, 2048, 0 } };

static void start(void)
{
	history_fini(&history);
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	history_init(&history, &memory, &arena);
}

static int add(const char *text)
{
	json_t *job = json_loads(text, 0, NULL);
	int rc = history_add(&history, job, &err);

	json_decref(job);
	return rc;
}

static const char *written(void)
{
	struct strata_swf swf;
	const char *text;
	size_t length;

	CHECK_OK(history_finish(&history, nodes, 2, &swf, &err));
	CHECK_OK(strata_swf_write(&swf, &arena, &text, &length, &err));
	return text;
}

#define FIRST                                                                                    \
	"{\"id\":7,\"user\":\"ann\",\"account\":\"lab\",\"partition\":null,\"state\":"           \
	"\"completed\","                                                                         \
	"\"priority\":\"high\",\"cpus\":4,\"gpus\":2,\"gpu_type\":\"a100\",\"memory_bytes\":"    \
	"3145728,"                                                                               \
	"\"node_names\":[],\"nodes\":2,\"time_limit_s\":60,\"submitted_at\":\"2026-01-01T00:00:" \
	"10Z\","                                                                                 \
	"\"started_at\":\"2026-01-01T00:00:15.5Z\",\"ended_at\":\"2026-01-01T00:00:25.7Z\"}"
#define SECOND                                                                                \
	"{\"id\":5,\"user\":\"bob\",\"state\":\"failed\",\"priority\":\"normal\",\"cpus\":1," \
	"\"gpus\":1,"                                                                         \
	"\"gpu_share\":0.25,\"memory_bytes\":0,\"node_names\":[\"n1\"],\"time_limit_s\":30,"  \
	"\"submitted_at\":\"2026-01-01T00:00:00Z\",\"started_at\":\"2026-01-01T00:00:00Z\","  \
	"\"ended_at\":\"2026-01-01T00:00:00Z\"}"

TEST(jobs_become_rows_in_order_of_submission)
{
	start();
	CHECK_OK(add(FIRST));
	CHECK_OK(add(SECOND));
	const char *text = written();

	CHECK(strstr(text, "; UnixStartTime: 1767225600\n"));
	CHECK(strstr(text, "; MaxProcs: 24\n"));
	CHECK(strstr(text, "; Queue: 3 high\n"));
	CHECK(strstr(text, "; User: 1 ann\n; User: 2 bob\n; Group: 1 lab\n"));
	CHECK(strstr(text, "; Demand: 1 nodes=2:gpus=1:"));
	CHECK(strstr(text, "gpu_models=a100\n"));
	CHECK(strstr(text, "\n5 0 0 1 1 -1 -1 1 30 -1 0 2 -1 2 2 -1 -1 -1\n"
			   "7 10 5 11 4 -1 -1 4 60 -1 1 1 1 1 3 -1 -1 -1\n"));
}

TEST(what_was_asked_of_each_node_comes_back)
{
	struct strata_swf swf;
	struct swf_demand *demands;
	size_t count;

	start();
	CHECK_OK(add(FIRST));
	CHECK_OK(add(FIRST)); /* the same again is the same demand */
	CHECK_OK(add(SECOND));
	CHECK_OK(history_finish(&history, nodes, 2, &swf, &err));
	CHECK_OK(swf_demand_read(&swf, &arena, &demands, &count, &err));
	CHECK_INT(count, 2);
	CHECK_INT(demands[0].nodes, 2);
	CHECK_INT(demands[0].gpus, 1);
	CHECK_INT(demands[0].cpu_milli, 2000);
	CHECK_INT(demands[0].memory_mib, 2);
	CHECK_INT(demands[1].gpus, 1);
	CHECK_INT(demands[1].gpu_milli, 250);
}

TEST(gpus_that_no_node_has_make_it_several)
{
	struct strata_swf swf;
	struct swf_demand *demands;
	size_t count;

	start();
	history.gpus_max = 4;
	CHECK_OK(add(
		"{\"id\":7,\"nodes\":1,\"cpus\":2,\"gpus\":8,\"submitted_at\":\"2026-01-01T00:00:"
		"10Z\","
		"\"started_at\":\"2026-01-01T00:00:15Z\",\"ended_at\":\"2026-01-01T00:00:25Z\"}"));
	CHECK_OK(history_finish(&history, nodes, 2, &swf, &err));
	CHECK_OK(swf_demand_read(&swf, &arena, &demands, &count, &err));
	CHECK_INT(demands[0].nodes, 2);
	CHECK_INT(demands[0].gpus, 4);
}

TEST(what_has_not_run_to_an_end_is_left_out)
{
	start();
	CHECK_OK(add("{\"id\":1,\"submitted_at\":\"2026-01-01T00:00:00Z\",\"started_at\":null}"));
	CHECK_OK(add("{\"id\":2,\"submitted_at\":\"2026-01-01T00:00:00Z\","
		     "\"started_at\":\"2026-01-01T00:00:01Z\",\"ended_at\":null}"));
	CHECK_INT(history.left_out, 2);
	CHECK_INT(history.count, 0);
	CHECK(strstr(written(), "; MaxJobs: 0\n"));
	CHECK_ERROR(add("{\"id\":1}"), -EBADMSG, "without an id or a time");
}

TEST(nodes_are_a_simulators)
{
	json_t *answer = json_loads("{\"nodes\":[{\"name\":\"n1\",\"cpus\":8,\"memory_bytes\":"
				    "2097152,\"gpus\":4,\"gpu_type\":null}]}",
				    0, NULL);
	struct openb_node *rows;
	size_t count;

	start();
	CHECK_OK(history_nodes(answer, &arena, &rows, &count, &err));
	json_decref(answer);
	CHECK_INT(count, 1);
	CHECK_TEXT(rows[0].name, "n1");
	CHECK_TEXT(rows[0].gpu_model, "");
	CHECK_INT(rows[0].cpu_milli, 8000);
	CHECK_INT(rows[0].memory_mib, 2);
	CHECK_INT(rows[0].gpu_count, 4);
}

static int make(struct strata_memory *own, void *context, struct strata_error *error)
{
	struct strata_arena scratch;
	struct history one;
	struct strata_swf swf;

	strata_arena_init(&scratch, own, 0);
	history_init(&one, own, &scratch);
	int rc = history_add(&one, context, error);

	if (rc == 0)
		rc = history_finish(&one, nodes, 2, &swf, error);
	history_fini(&one);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(lack_of_memory_is_survived)
{
	json_t *job = json_loads(FIRST, 0, NULL);

	test_every_allocation(make, job);
	json_decref(job);
	history_fini(&history);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
