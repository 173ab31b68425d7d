#include "test.h"
#include "trace_text.h"

#include "sim/pool_gantt.h"

#include <jansson.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static int64_t integer(const json_t *event, const char *key)
{
	return json_integer_value(json_object_get(event, key));
}

TEST(tasks_are_slices_of_their_workers)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct pool_gantt_task a = { .number = 0, .user = "ann", .steps = 30 };
	struct pool_gantt_task b = {
		.number = 1, .user = "bob", .arrival_ns = SECOND, .steps = 30
	};
	struct pool_gantt *gantt;
	size_t i, slices = 0, curves = 0;
	json_t *event;

	CHECK_OK(pool_gantt_open(&memory, 2, &sink, &gantt, &err));
	pool_gantt_set(gantt, 0, &a, 1, 0);
	pool_gantt_set(gantt, 0, (struct pool_gantt_task[]){ a, b }, 2, 2 * SECOND);
	pool_gantt_set(gantt, 0, &b, 1, 5 * SECOND); /* the first is done */
	a.steps_done = 10;
	pool_gantt_set(gantt, 1, &a, 1, 5 * SECOND); /* or elsewhere */
	pool_gantt_count(gantt, 3, 2, 5 * SECOND);
	pool_gantt_count(gantt, 3, 2, 6 * SECOND); /* nothing new */
	pool_gantt_set(gantt, 0, NULL, 0, 9 * SECOND);
	pool_gantt_set(gantt, 1, NULL, 0, 9 * SECOND);
	CHECK_OK(pool_gantt_close(gantt, &err));
	CHECK_INT(memory.used_bytes, 0);
	json_t *file = json_loadb(text.text, text.length, JSON_REJECT_DUPLICATES, NULL);
	static const int64_t wanted[3][4] = { /* pid, tid, from, for, in µs */
					      { 2, 1, 0, 5000000 },
					      { 2, 2, 2000000, 7000000 },
					      { 3, 1, 5000000, 4000000 }
	};

	CHECK(file);
	json_array_foreach(json_object_get(file, "traceEvents"), i, event)
	{
		const char *phase = json_string_value(json_object_get(event, "ph"));

		curves += strcmp(phase, "C") == 0;
		if (strcmp(phase, "X") != 0)
			continue;
		CHECK(slices < 3);
		CHECK_INT(integer(event, "pid"), wanted[slices][0]);
		CHECK_INT(integer(event, "tid"), wanted[slices][1]);
		CHECK_NEAR(json_number_value(json_object_get(event, "ts")),
			   (double)wanted[slices][2], 0.001);
		CHECK_NEAR(json_number_value(json_object_get(event, "dur")),
			   (double)wanted[slices][3], 0.001);
		slices++;
	}
	CHECK_INT(slices, 3);
	CHECK_INT(curves, 1);
	json_decref(file);
	trace_text_fini(&text);
	CHECK_OK(pool_gantt_close(NULL, &err));
}
