#include "stream_sample.h"
#include "trace_text.h"

#include <jansson.h>

static struct strata_error err;
static const int64_t sizes[] = { 30000, 100, 8192, 50001, 20000, 4096, 33333, 12000 };
enum { COUNT = sizeof(sizes) / sizeof(sizes[0]), BUDGET = 80000, FIRST_TID = 5, LANES = 300 };

static const struct strata_trace_conf conf = { .pid = 7,
					       .process_name = "host",
					       .clock_name = "monotonic" };

/* What a file has: slices of each track by its title, and their bytes. */
struct seen {
	int computing, waiting;
	int64_t read_bytes, written_bytes;
};

static struct seen look(const struct trace_text *text)
{
	const char *titles[LANES] = { 0 };
	double free_us[LANES] = { 0 };
	struct seen seen = { 0 };
	json_t *file = json_loadb(text->text, text->length, JSON_REJECT_DUPLICATES, NULL), *event;
	size_t i;

	CHECK(file);
	json_array_foreach(json_object_get(file, "traceEvents"), i, event)
	{
		json_int_t tid = json_integer_value(json_object_get(event, "tid"));
		json_t *args = json_object_get(event, "args");
		int64_t bytes = json_integer_value(json_object_get(args, "bytes"));
		const char *phase = json_string_value(json_object_get(event, "ph"));

		if (phase[0] == 'M' && tid)
			titles[tid] = json_string_value(json_object_get(args, "name"));
		if (phase[0] != 'X')
			continue;
		CHECK(tid >= FIRST_TID && tid < FIRST_TID + 2 * STRATA_STREAM_TRACE_TIDS);
		double start_us = json_real_value(json_object_get(event, "ts"));

		/* slices of a lane lie apart; doubles of microseconds are good to a nanosecond */
		CHECK(start_us > free_us[tid] - 0.002);
		free_us[tid] = start_us + json_real_value(json_object_get(event, "dur"));
		seen.computing += strcmp(titles[tid], "computing") == 0;
		seen.waiting += strcmp(titles[tid], "waiting") == 0;
		seen.read_bytes += strcmp(titles[tid], "reading") == 0 ? bytes : 0;
		seen.written_bytes += strcmp(titles[tid], "writing") == 0 ? bytes : 0;
	}
	json_decref(file);
	return seen;
}

TEST(a_trace_shows_what_the_stream_does_while_it_is_on)
{
	struct sample sample;
	struct strata_memory memory = { 0 };
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct strata_stream_metrics before, after;
	struct strata_trace *trace;

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	CHECK_OK(strata_trace_open(&memory, &conf, &sink, &trace, &err));
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	CHECK_OK(sample_step(&sample, &err));
	strata_stream_metrics(sample.stream, &before);
	CHECK_OK(strata_stream_trace(sample.stream, trace, FIRST_TID, 0, &err));
	CHECK_OK(sample_step(&sample, &err));
	CHECK_OK(strata_stream_trace(sample.stream, NULL, 0, 0, &err));
	strata_stream_metrics(sample.stream, &after);
	CHECK_OK(sample_step(&sample, &err));
	CHECK_OK(strata_trace_close(trace, &err));
	struct seen seen = look(&text);

	CHECK_INT(seen.computing, COUNT);
	CHECK_INT(seen.waiting > 0, after.wait_ns > before.wait_ns);
	CHECK_INT(seen.read_bytes, after.bytes_read - before.bytes_read);
	CHECK(seen.read_bytes > 0);
	CHECK_INT(seen.written_bytes, 0);
	sample_free(&sample);
	trace_text_fini(&text);
	CHECK_INT(memory.used_bytes, 0);
}

/* The same into rings, and of another stretch of time on lanes of its own. */
TEST(a_trace_in_memory_takes_several_stretches)
{
	struct sample sample;
	struct strata_memory memory = { 0 };
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct strata_trace *trace;
	struct strata_arena arena;

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	CHECK_OK(strata_trace_new(&memory, &conf, &trace, &err));
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	for (int i = 0; i < 2; i++) {
		CHECK_OK(strata_stream_trace(sample.stream, trace,
					     FIRST_TID + (uint32_t)i * STRATA_STREAM_TRACE_TIDS,
					     1000, &err));
		CHECK_OK(sample_step(&sample, &err));
		CHECK_OK(strata_stream_trace(sample.stream, NULL, 0, 0, &err));
		CHECK_OK(sample_step(&sample, &err));
	}
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_trace_write(trace, INT64_MIN, &arena, &sink, &err));
	strata_arena_fini(&arena);
	CHECK_INT(look(&text).computing, 2 * COUNT);
	sample_free(&sample);
	strata_trace_free(trace);
	trace_text_fini(&text);
}

TEST(a_thread_that_has_a_lane_already_is_refused)
{
	struct sample sample;
	struct strata_memory memory = { 0 };
	struct strata_trace_lane *lane;
	struct strata_trace *trace;

	sample_make(&sample, sizes, COUNT, BUDGET, 1);
	CHECK_OK(strata_trace_new(&memory, &conf, &trace, &err));
	CHECK_OK(strata_trace_add_lane(trace,
				       &(struct strata_trace_lane_conf){ .tid = FIRST_TID + 1,
									 .name = "b",
									 .event_count = 1 },
				       &lane, &err));
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	CHECK_ERROR(strata_stream_trace(sample.stream, trace, FIRST_TID, 10, &err), -EEXIST,
		    "thread 6");
	CHECK_OK(sample_step(&sample, &err));
	sample_free(&sample);
	strata_trace_free(trace);
}
