#include "test.h"

#include "client/chart.h"
#include "trace_text.h"

#include <errno.h>

enum { SECOND = 1000000000 };

static struct strata_memory memory;
static struct strata_error err;
static struct chart chart;
static struct trace_text text;

static void add(const char *job)
{
	json_t *json = json_loads(job, 0, NULL);

	CHECK(json);
	CHECK_OK(chart_add(&chart, json, &err));
	json_decref(json);
}

/* Every event of the kind with this name, as "pid/tid@start+dur"; the file is checked to be JSON. */
static json_t *events_of(const char *key, const char *value)
{
	json_t *json = json_loads(text.text, 0, NULL), *event, *found = json_array();
	size_t i;

	CHECK(json);
	json_array_foreach(json_object_get(json, "traceEvents"), i, event)
	{
		const char *got = json_string_value(json_object_get(event, key));

		if (got && strcmp(got, value) == 0)
			json_array_append(found, event);
	}
	json_decref(json);
	return found;
}

static size_t count_of(const char *key, const char *value)
{
	json_t *found = events_of(key, value);
	size_t count = json_array_size(found);

	json_decref(found);
	return count;
}

static int draw(const char *passes)
{
	json_t *list = passes ? json_loads(passes, 0, NULL) : NULL;
	struct strata_trace_sink sink = { trace_text_write, &text };

	trace_text_fini(&text);
	int rc = chart_write(&chart, list, &sink, &err);

	json_decref(list);
	return rc;
}

static void start(void)
{
	chart_fini(&chart);
	chart_init(&chart, &memory, INT64_C(100) * SECOND, INT64_C(200) * SECOND);
}

#define JOB(id, submitted, started, ended, rest)                                                 \
	"{\"id\":" id                                                                            \
	",\"name\":\"train\",\"user\":\"ann\",\"state\":\"x\",\"cpus\":4,\"gpus\":2,"            \
	"\"submitted_at\":" submitted ",\"started_at\":" started ",\"ended_at\":" ended "," rest \
	"}"
#define AT(seconds) "\"1970-01-01T00:" seconds "Z\""

TEST(a_job_is_on_each_of_its_gpus)
{
	start();
	add(JOB("17", AT("01:50"), AT("02:00"), AT("02:10"),
		"\"node_names\":[\"n1\",\"n2\"],\"gpu_ids\":{\"n1\":[0,3],\"n2\":[]}"));
	CHECK_OK(draw(NULL));
	CHECK_INT(count_of("name", "17 train"), 4); /* its submission, two GPUs, one of CPUs */
	CHECK_INT(count_of("name", "pass"), 0);
	CHECK(strstr(text.text, "\"GPU 0\"") && strstr(text.text, "\"GPU 3\""));
	CHECK(strstr(text.text, "\"CPUs\"") && strstr(text.text, "\"n1\""));
	CHECK(strstr(text.text, "\"wait_s\":10"));
	CHECK_INT(count_of("ph", "s"), 1); /* one arrow, from the submission to the start */
	CHECK_INT(count_of("ph", "t") + count_of("ph", "f"), 1);
}

TEST(events_know_where_a_job_was)
{
	json_t *event = json_loads("{\"kind\":\"job.scheduled\",\"job\":17,\"about\":{\"gpu_ids\":"
				   "{\"n5\":[2],\"n6\":[]}}}",
				   0, NULL);

	start();
	add(JOB("17", AT("01:50"), AT("02:00"), AT("02:10"), "\"node_names\":[],\"gpu_ids\":{}"));
	CHECK_OK(chart_add_event(&chart, event, &err));
	CHECK_OK(chart_add_event(&chart, event, &err)); /* placed anew: the last counts */
	json_decref(event);
	CHECK_OK(draw(NULL));
	CHECK_INT(count_of("name", "17 train"), 3);
	CHECK(strstr(text.text, "\"n5\"") && strstr(text.text, "\"GPU 2\""));
}

TEST(jobs_at_the_same_time_are_on_tracks_of_their_own)
{
	start();
	add(JOB("1", AT("02:00"), AT("02:00"), AT("02:30"),
		"\"node_names\":[\"n1\"],\"gpu_ids\":{}"));
	add(JOB("2", AT("02:00"), AT("02:10"), "null", "\"node_names\":[\"n1\"],\"gpu_ids\":{}"));
	add(JOB("3", AT("02:00"), AT("02:30"), AT("02:40"),
		"\"node_names\":[\"n1\"],\"gpu_ids\":{}"));
	CHECK_OK(draw(NULL));
	CHECK(strstr(text.text, "\"CPUs\"") && strstr(text.text, "\"CPUs (2)\""));
	CHECK(!strstr(text.text, "\"CPUs (3)\"")); /* the third takes the first's place */
}

TEST(only_what_belongs_to_the_time_is_shown)
{
	start();
	add(JOB("1", AT("01:00"), AT("01:10"), AT("01:39"), "\"node_names\":[\"n1\"]"));
	CHECK_INT(chart.count, 0);
	add(JOB("2", AT("01:00"), AT("01:10"), AT("01:45"), "\"node_names\":[\"n1\"]"));
	add(JOB("3", AT("01:50"), "null", "null", "\"node_names\":[]"));
	CHECK_INT(chart.count, 2);
	CHECK_OK(draw(
		"[{\"at\":" AT("01:30") ",\"took_s\":1,\"started\":1,\"waiting\":2},"
					"{\"at\":" AT("01:45") ",\"took_s\":0.5,"
							       "\"started\":1,\"waiting\":2}]"));
	CHECK_INT(count_of("name", "2 train"), 1); /* it came before */
	CHECK_INT(count_of("name", "3 train"), 1); /* it waits */
	CHECK_INT(count_of("name", "pass"), 1);
}

TEST(curves_count_who_waits_and_who_runs)
{
	json_t *curve;

	start();
	add(JOB("1", AT("01:50"), AT("02:00"), AT("02:10"), "\"node_names\":[\"n1\"]"));
	add(JOB("2", AT("01:50"), "null", AT("02:05"), "\"node_names\":[]")); /* cancelled */
	CHECK_OK(draw(NULL));
	curve = events_of("name", "jobs");
	CHECK_INT(json_array_size(curve), 4);
	static const int want[4][2] = { { 2, 0 }, { 1, 1 }, { 0, 1 }, { 0, 0 } };

	for (size_t i = 0; i < 4; i++) {
		const json_t *args = json_object_get(json_array_get(curve, i), "args");

		CHECK_INT(json_number_value(json_object_get(args, "waiting")), want[i][0]);
		CHECK_INT(json_number_value(json_object_get(args, "running")), want[i][1]);
	}
	json_decref(curve);
}

TEST(a_sink_that_fails_is_told_of)
{
	struct strata_trace_sink sink = { trace_text_write, &text };

	start();
	trace_text_fini(&text);
	text.fail_at = 1;
	CHECK_INT(chart_write(&chart, NULL, &sink, &err), -ENOSPC);
}

TEST(the_service_s_own_trace_is_beside_the_jobs)
{
	json_t *service = json_loads(
		"{\"otherData\":{\"clock\":\"realtime\"},\"traceEvents\":[{\"ph\":\"X\",\"name\":"
		"\"commit\",\"pid\":1,\"tid\":2,\"ts\":120000000,\"dur\":5}]}",
		0, NULL);
	struct strata_trace_sink sink = { trace_text_write, &text };

	start();
	add(JOB("17", AT("01:50"), AT("02:00"), AT("02:10"),
		"\"node_names\":[\"n1\"],\"gpu_ids\":{}"));
	json_t *event = json_pack("{s:s,s:i,s:{s:s}}", "kind", "job.started", "job", 17, "about",
				  "started_at", "1970-01-01T00:02:00.25Z");

	CHECK_OK(chart_add_event(&chart, event, &err));
	json_decref(event);
	trace_text_fini(&text);
	CHECK_OK(chart_write_with(&chart, NULL, &(struct chart_trace){ "service", service }, 1,
				  &sink, &err));
	CHECK_INT(count_of("name", "commit"), 1);
	CHECK_INT(count_of("name", "17 train"), 2);
	json_t *slices = events_of("name", "17 train");

	CHECK_NEAR(json_number_value(json_object_get(json_array_get(slices, 1), "ts")), 120250000,
		   0);
	json_decref(slices);
	json_decref(service);
}

static int make(struct strata_memory *own, void *context, struct strata_error *error)
{
	struct trace_text sunk = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &sunk };
	struct chart one;

	chart_init(&one, own, 0, SECOND);
	json_t *event = json_pack("{s:s,s:i,s:{s:{s:[i]}}}", "kind", "job.scheduled", "job", 1,
				  "about", "gpu_ids", "n1", 3);
	int rc = chart_add(&one, context, error);

	if (rc == 0 && !event)
		rc = strata_fail_memory(error);
	if (rc == 0)
		rc = chart_add_event(&one, event, error);
	json_decref(event);

	if (rc == 0)
		rc = chart_write(&one, NULL, &sink, error);
	chart_fini(&one);
	trace_text_fini(&sunk);
	return rc;
}

TEST(lack_of_memory_is_survived)
{
	json_t *job = json_loads(JOB("1", AT("01:50"), AT("02:00"), AT("02:10"),
				     "\"node_names\":[\"n1\"],\"gpu_ids\":{\"n1\":[0,1]}"),
				 0, NULL);

	test_every_allocation(make, job);
	json_decref(job);
	chart_fini(&chart);
	trace_text_fini(&text);
	CHECK_INT(memory.used_bytes, 0);
}
