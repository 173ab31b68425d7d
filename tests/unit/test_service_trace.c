/* The service's own trace: what its lanes hold, and how much of it. */
#include "test.h"
#include "trace_text.h"

#include "server/service_trace.h"

#include <strata/limits.h>

#include <jansson.h>

static struct strata_error err;

static json_t *written(struct service_trace *trace)
{
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_trace_write(trace->trace, INT64_MIN, &arena, &sink, &err));
	strata_arena_fini(&arena);
	json_t *json = json_loads(text.text, 0, NULL);

	CHECK(json);
	trace_text_fini(&text);
	return json;
}

static json_t *find(json_t *file, const char *name)
{
	json_t *event;
	size_t i;

	json_array_foreach(json_object_get(file, "traceEvents"), i,
			   event) if (strcmp(json_string_value(json_object_get(event, "name")),
					     name) == 0) return event;
	return NULL;
}

TEST(reports_are_on_the_clock_of_everybody)
{
	struct service_trace trace = { 0 };
	int64_t then_ns = env_now_ns(env_system(), ENV_REALTIME) - 5000000000;

	CHECK_OK(service_trace_open(&trace, env_system(), &err));
	int64_t start_ns = service_trace_now_ns(&trace);

	service_trace_slice(&trace, trace.store, "commit", start_ns, 0,
			    strata_trace_int("changes", 3));
	service_trace_report(&trace, "started", 17, then_ns, strata_trace_int("attempt", 1));
	json_t *file = written(&trace);
	json_t *commit = find(file, "commit"), *started = find(file, "started");
	double now_us = (double)env_now_ns(env_system(), ENV_REALTIME) / 1e3;

	CHECK_INT(json_integer_value(json_object_get(json_object_get(commit, "args"), "changes")),
		  3);
	CHECK_NEAR(json_number_value(json_object_get(commit, "ts")), now_us, 1e6);
	CHECK_NEAR(json_number_value(json_object_get(started, "ts")), (double)then_ns / 1e3, 2e3);
	CHECK_TEXT(json_string_value(json_object_get(json_object_get(file, "otherData"), "clock")),
		   "realtime");
	json_decref(file);
	service_trace_close(&trace);
	CHECK_INT(trace.memory.used_bytes, 0);
}

TEST(a_lane_keeps_so_many_events)
{
	for (int more = 0; more < 2; more++) {
		struct service_trace trace = { 0 };

		CHECK_OK(service_trace_open(&trace, env_system(), &err));
		for (int i = 0; i < STRATA_SERVICE_TRACE_EVENTS + more; i++)
			service_trace_report(&trace, i ? "more" : "first", 0, 0,
					     strata_trace_none());
		json_t *file = written(&trace);

		CHECK_INT(find(file, "first") != NULL, !more);
		CHECK_INT(json_integer_value(
				  json_object_get(json_object_get(file, "otherData"), "dropped")),
			  more);
		json_decref(file);
		service_trace_close(&trace);
	}
}

TEST(before_it_is_open_nothing_is_traced)
{
	struct service_trace trace = { 0 };

	service_trace_slice(&trace, trace.store, "commit", service_trace_now_ns(&trace), 0,
			    strata_trace_none());
	service_trace_report(&trace, "started", 17, 5, strata_trace_none());
	service_trace_close(&trace);
}
