#include "test.h"
#include "trace_text.h"

#include "sim/gantt.h"

#include <jansson.h>

#define SECOND INT64_C(1000000000)

static const struct strata_node_conf pool = { .name = "pool", .cpu_milli = 8000 };
static const struct machine flat = { &pool, 1, .flat = true, .capacity = 8 };
static const struct strata_node_conf nodes[] = {
	{ .name = "n0", .cpu_milli = 8000, .gpu_count = 2, .gpu_type = "T4" },
	{ .name = "n1", .cpu_milli = 8000, .gpu_count = 2, .gpu_type = "T4" },
};
static const struct machine gpus = { nodes, 2, .gpu_count = 4, .capacity = 4000 };

static struct gantt_job job(uint64_t id, int64_t user, int64_t start_s,
			    const struct strata_piece *pieces, size_t count)
{
	return (struct gantt_job){ .id = id,
				   .number = (int64_t)id,
				   .user = user,
				   .submit_ns = 0,
				   .start_ns = start_s * SECOND,
				   .pieces = pieces,
				   .piece_count = count };
}

/* The events of a phase, in the file's order. */
static json_t *events(const struct trace_text *text, const char *phase)
{
	json_t *file = json_loadb(text->text, text->length, JSON_REJECT_DUPLICATES, NULL),
	       *found = json_array(), *event;
	size_t i;

	CHECK(file);
	json_array_foreach(json_object_get(file, "traceEvents"), i,
			   event) if (strcmp(json_string_value(json_object_get(event, "ph")),
					     phase) == 0) json_array_append(found, event);
	json_decref(file);
	return found;
}

static int64_t integer(const json_t *event, const char *key)
{
	return json_integer_value(json_object_get(event, key));
}

static const char *name_of(const json_t *event)
{
	return json_string_value(json_object_get(json_object_get(event, "args"), "name"));
}

TEST(users_of_a_pool_have_tracks_and_jobs_take_the_first_that_is_free)
{
	const struct strata_piece piece = { .tasks = 1, .cpu_milli = 2000 };
	struct gantt_job one = job(1, 7, 1, &piece, 1), two = job(2, 7, 2, &piece, 1),
			 three = job(3, 9, 2, &piece, 1), four = job(4, 7, 5, &piece, 1);
	struct strata_memory memory = { 0 };
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct gantt *gantt;
	struct strata_error err;

	CHECK_OK(gantt_open(&memory, &flat, &sink, &gantt, &err));
	CHECK_OK(gantt_start(gantt, &one, &err));
	CHECK_OK(gantt_start(gantt, &two, &err));
	CHECK_OK(gantt_start(gantt, &three, &err));
	gantt_end(gantt, &one, 5 * SECOND);
	CHECK_OK(gantt_start(gantt, &four, &err));
	gantt_end(gantt, &two, 6 * SECOND);
	gantt_end(gantt, &three, 6 * SECOND);
	gantt_end(gantt, &four, 6 * SECOND);
	CHECK_OK(gantt_close(gantt, &err));
	CHECK_INT(memory.used_bytes, 0);
	json_t *slices = events(&text, "X"), *names = events(&text, "M"),
	       *flows = events(&text, "s");

	CHECK_INT(json_array_size(slices), 4);
	CHECK_INT(json_array_size(flows), 4);
	CHECK_TEXT(name_of(json_array_get(names, 0)), "cluster");
	CHECK_TEXT(name_of(json_array_get(names, 1)), "user 7");
	static const int64_t pids[] = { 2, 2, 3, 2 }, tids[] = { 1, 2, 1, 1 };

	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(integer(json_array_get(slices, i), "pid"), pids[i]);
		CHECK_INT(integer(json_array_get(slices, i), "tid"), tids[i]);
	}
	const json_t *first = json_array_get(slices, 0), *args = json_object_get(first, "args");

	CHECK_TEXT(json_string_value(json_object_get(first, "name")), "job 1");
	CHECK_NEAR(json_real_value(json_object_get(first, "dur")), 4e6, 0);
	CHECK_INT(integer(args, "flow"), 1);
	CHECK_INT(integer(args, "user"), 7);
	CHECK_INT(integer(args, "procs"), 2);
	CHECK_NEAR(json_number_value(json_object_get(args, "wait_s")), 1, 0);
	json_decref(slices);
	json_decref(names);
	json_decref(flows);
	trace_text_fini(&text);
}

TEST(a_job_on_several_nodes_is_one_flow)
{
	const struct strata_piece pieces[] = { { .node = 1, .gpu_mask = 3, .gpu_milli = 1000 },
					       { .node = 0, .gpu_mask = 1, .gpu_milli = 1000 } };
	const struct strata_piece share = { .node = 0, .gpu_mask = 2, .gpu_milli = 250 };
	struct gantt_job gang = job(1, 7, 0, pieces, 2), small = job(2, 7, 0, &share, 1);
	struct strata_memory memory = { 0 };
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct gantt *gantt;
	struct strata_error err;

	CHECK_OK(gantt_open(&memory, &gpus, &sink, &gantt, &err));
	CHECK_OK(gantt_start(gantt, &gang, &err));
	CHECK_OK(gantt_start(gantt, &small, &err));
	gantt_end(gantt, &gang, SECOND);
	gantt_end(gantt, &small, SECOND);
	CHECK_OK(gantt_close(gantt, &err));
	CHECK_INT(memory.used_bytes, 0);
	json_t *slices = events(&text, "X"), *names = events(&text, "M"),
	       *first = events(&text, "s"), *next = events(&text, "t");

	CHECK_TEXT(name_of(json_array_get(names, 1)), "n1 (2 x T4)");
	CHECK_INT(json_array_size(slices), 3);
	CHECK_INT(json_array_size(first), 2);
	CHECK_INT(json_array_size(next), 1);
	const json_t *args = json_object_get(json_array_get(slices, 2), "args");

	CHECK_NEAR(json_number_value(json_object_get(args, "gpus")), 0.25, 0);
	json_decref(slices);
	json_decref(names);
	json_decref(first);
	json_decref(next);
	trace_text_fini(&text);
}

TEST(a_job_that_runs_again_goes_on_with_its_flow)
{
	const struct strata_piece piece = { .node = 0, .gpu_mask = 1, .gpu_milli = 1000 };
	struct gantt_job first = job(1, 7, 0, &piece, 1), second = job(1, 7, 5, &piece, 1);
	struct strata_memory memory = { 0 };
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct gantt *gantt;
	struct strata_error err;

	second.again = true;
	CHECK_OK(gantt_open(&memory, &gpus, &sink, &gantt, &err));
	CHECK_OK(gantt_start(gantt, &first, &err));
	gantt_end(gantt, &first, SECOND);
	CHECK_OK(gantt_start(gantt, &second, &err));
	gantt_end(gantt, &second, 6 * SECOND);
	CHECK_OK(gantt_close(gantt, &err));
	json_t *starts = events(&text, "s"), *next = events(&text, "t");

	CHECK_INT(json_array_size(starts), 1);
	CHECK_INT(json_array_size(next), 1);
	json_decref(starts);
	json_decref(next);
	trace_text_fini(&text);
}

TEST(curves_have_a_point_where_they_change)
{
	struct strata_cluster_metrics metrics = { .jobs = { [STRATA_JOB_QUEUED] = 2,
							    [STRATA_JOB_PREEMPTED] = 1,
							    [STRATA_JOB_RUNNING] = 4 },
						  .gpu_milli = 4000,
						  .gpu_milli_free = 3500 };
	struct strata_memory memory = { 0 };
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct gantt *gantt;
	struct strata_error err;

	CHECK_OK(gantt_open(&memory, &gpus, &sink, &gantt, &err));
	gantt_count(gantt, &metrics, 0);
	gantt_count(gantt, &metrics, SECOND);
	metrics.gpu_milli_free = 0;
	gantt_count(gantt, &metrics, 2 * SECOND);
	CHECK_OK(gantt_close(gantt, &err));
	json_t *counters = events(&text, "C");

	CHECK_INT(json_array_size(counters), 3);
	CHECK_INT(integer(json_object_get(json_array_get(counters, 0), "args"), "waiting"), 3);
	CHECK_INT(integer(json_object_get(json_array_get(counters, 0), "args"), "running"), 4);
	CHECK_NEAR(json_number_value(json_object_get(
			   json_object_get(json_array_get(counters, 1), "args"), "gpus")),
		   0.5, 0);
	json_decref(counters);
	trace_text_fini(&text);
}

TEST(a_full_disk_is_heard_of_when_it_is_closed)
{
	struct strata_memory memory = { 0 };
	struct trace_text text = { .fail_at = 1 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct gantt *gantt;
	struct strata_error err;

	CHECK_OK(gantt_open(&memory, &flat, &sink, &gantt, &err));
	CHECK_ERROR(gantt_close(gantt, &err), -ENOSPC, "the trace could not be written");
	CHECK_OK(gantt_close(NULL, &err));
	CHECK_INT(memory.used_bytes, 0);
	trace_text_fini(&text);
}

static int draw(struct strata_memory *memory, void *context, struct strata_error *err)
{
	const struct strata_piece pieces[] = { { .node = 0 }, { .node = 1 } };
	const struct machine *machine = context;
	struct gantt_job one = job(1, 7, 0, pieces, machine->node_count),
			 two = job(2, 9, 0, pieces, 1);
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct gantt *gantt;
	int rc = gantt_open(memory, machine, &sink, &gantt, err);

	if (rc)
		return rc;
	rc = gantt_start(gantt, &one, err);
	if (rc == 0)
		rc = gantt_start(gantt, &two, err);
	if (rc == 0)
		gantt_end(gantt, &one, 5);
	int closed = gantt_close(gantt, NULL);

	trace_text_fini(&text);
	return rc ? rc : closed;
}

TEST(running_out_of_memory_is_reported)
{
	test_every_allocation(draw, (void *)&flat);
	test_every_allocation(draw, (void *)&gpus);
}
