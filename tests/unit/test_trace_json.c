#include "test.h"
#include "trace_text.h"

#include "core/trace_int.h"

#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

static const struct strata_trace_conf conf = { 42, "strata \"daemon\"", "virtual", 0 };

/* A trace with two lanes, and what became of it. */
struct bench {
	struct strata_memory memory, scratch;
	struct strata_trace *trace;
	struct strata_trace_lane *lanes[2];
	struct trace_text sink;
	json_t *file;
};

static void bench_init(struct bench *bench, size_t event_count)
{
	struct strata_error err;

	*bench = (struct bench){ 0 };
	CHECK_OK(strata_trace_new(&bench->memory, &conf, &bench->trace, &err));
	CHECK_OK(strata_trace_add_lane(
		bench->trace,
		&(struct strata_trace_lane_conf){
			.tid = 1, .name = "decider", .event_count = event_count },
		&bench->lanes[0], &err));
	CHECK_OK(strata_trace_add_lane(
		bench->trace,
		&(struct strata_trace_lane_conf){
			.tid = 2, .name = "store", .event_count = event_count },
		&bench->lanes[1], &err));
}

static void bench_fini(struct bench *bench)
{
	json_decref(bench->file);
	trace_text_fini(&bench->sink);
	strata_trace_free(bench->trace);
	CHECK_INT(bench->memory.used_bytes, 0);
}

static int write_trace(struct bench *bench, int64_t since_ns, struct strata_error *err)
{
	struct strata_trace_sink sink = { trace_text_write, &bench->sink };
	struct strata_arena arena;

	strata_arena_init(&arena, &bench->scratch, 0);
	int rc = strata_trace_write(bench->trace, since_ns, &arena, &sink, err);

	strata_arena_fini(&arena);
	return rc;
}

/* Writes the trace and parses the file. */
static json_t *events_of(struct bench *bench, int64_t since_ns)
{
	struct strata_error err;
	json_error_t why;

	trace_text_fini(&bench->sink);
	json_decref(bench->file);
	CHECK_OK(write_trace(bench, since_ns, &err));
	bench->file =
		json_loadb(bench->sink.text, bench->sink.length, JSON_REJECT_DUPLICATES, &why);
	if (!bench->file)
		test_fail(__FILE__, __LINE__, "not JSON: %s in\n%s", why.text, bench->sink.text);
	return json_object_get(bench->file, "traceEvents");
}

/* The line of the file that holds the event, without the comma. */
static void check_lines(struct bench *bench, const char *const *want)
{
	char *text = bench->sink.text, *line = strtok(text, "\n");

	for (size_t i = 0; line; line = strtok(NULL, "\n"), i++) {
		size_t length = strlen(line);

		if (line[length - 1] == ',')
			line[length - 1] = '\0';
		CHECK_TEXT(line, want[i]);
	}
}

TEST(a_file_has_every_kind_of_event)
{
	struct bench bench;
	const char *const want[] = {
		"{\"otherData\":{\"source\":\"strata " STRATA_VERSION
		"\",\"clock\":\"virtual\",\"dropped\":0}",
		"\"traceEvents\":[",
		"{\"ph\":\"M\",\"pid\":42,\"name\":\"process_name\",\"args\":{\"name\":\"strata "
		"\\\"daemon\\\"\"}}",
		"{\"ph\":\"M\",\"pid\":42,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"decider\"}}",
		"{\"ph\":\"B\",\"pid\":42,\"tid\":1,\"ts\":0.001,\"name\":\"pass\"}",
		"{\"ph\":\"i\",\"pid\":42,\"tid\":1,\"ts\":0.999,\"s\":\"t\",\"name\":\"start "
		"train.sh\",\"args\":{\"flow\":7,\"gpus\":8}}",
		"{\"ph\":\"s\",\"pid\":42,\"tid\":1,\"ts\":0.999,\"id\":\"0x7\",\"cat\":\"strata\","
		"\"name\":\"flow\"}",
		"{\"ph\":\"C\",\"pid\":42,\"tid\":1,\"ts\":1.000,\"name\":\"queue\",\"args\":{"
		"\"length\":-3}}",
		"{\"ph\":\"C\",\"pid\":42,\"tid\":1,\"ts\":1.000,\"name\":\"queue\",\"args\":{"
		"\"load\":0.25}}",
		"{\"ph\":\"E\",\"pid\":42,\"tid\":1,\"ts\":1753000000123456.789}",
		"{\"ph\":\"M\",\"pid\":42,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"store\"}}",
		"{\"ph\":\"B\",\"pid\":42,\"tid\":2,\"ts\":1.500,\"name\":\"commit\",\"args\":{"
		"\"flow\":7,\"user\":\"ada\"}}",
		"{\"ph\":\"t\",\"pid\":42,\"tid\":2,\"ts\":1.500,\"id\":\"0x7\",\"cat\":\"strata\","
		"\"name\":\"flow\"}",
		"{\"ph\":\"s\",\"pid\":42,\"tid\":2,\"ts\":1.600,\"id\":\"0xffffffffffffffff\","
		"\"cat\":\"strata\",\"name\":\"flow\"}",
		"]}",
	};

	bench_init(&bench, 100);
	strata_trace_begin(bench.lanes[0], 1, "pass", 0, strata_trace_none());
	strata_trace_instant_copy(bench.lanes[0], 999, "start train.sh", 7,
				  strata_trace_int("gpus", 8));
	strata_trace_counter(bench.lanes[0], 1000, "queue", strata_trace_int("length", -3));
	strata_trace_counter(bench.lanes[0], 1000, "queue", strata_trace_real("load", 0.25));
	strata_trace_end(bench.lanes[0], 1753000000123456789);
	strata_trace_begin(bench.lanes[1], 1500, "commit", 7, strata_trace_text("user", "ada"));
	strata_trace_flow(bench.lanes[1], 1600, UINT64_MAX);
	CHECK_INT(json_array_size(events_of(&bench, INT64_MIN)), 12);
	check_lines(&bench, want);
	bench_fini(&bench);
}

static const json_t *event_at(const json_t *events, size_t index, const char *phase, double time_us)
{
	const json_t *event = json_array_get(events, index);

	CHECK(event);
	CHECK_TEXT(json_string_value(json_object_get(event, "ph")), phase);
	CHECK_NEAR(json_real_value(json_object_get(event, "ts")), time_us, 1e-9);
	return event;
}

TEST(a_flow_begins_once_and_where_it_is_earliest)
{
	struct bench bench;

	bench_init(&bench, 100);
	strata_trace_instant(bench.lanes[0], 5000, "late", 9, strata_trace_none());
	strata_trace_instant(bench.lanes[0], 6000, "later", 9, strata_trace_none());
	strata_trace_instant(bench.lanes[1], 1000, "early", 9, strata_trace_none());
	strata_trace_instant(bench.lanes[1], 1000, "as early", 9, strata_trace_none());
	strata_trace_instant(bench.lanes[1], 1000, "another", UINT64_MAX, strata_trace_none());
	json_t *events = events_of(&bench, INT64_MIN);

	CHECK_INT(json_array_size(events), 13);
	event_at(events, 2, "i", 5);
	event_at(events, 3, "t", 5);
	event_at(events, 5, "t", 6);
	event_at(events, 7, "i", 1);
	event_at(events, 8, "s", 1);
	event_at(events, 10, "t", 1);
	CHECK_TEXT(json_string_value(json_object_get(
			   json_object_get(event_at(events, 11, "i", 1), "args"), "flow")),
		   "18446744073709551615");
	event_at(events, 12, "s", 1);

	events = events_of(&bench, 5500); /* the begin that is left out is made up for */
	CHECK_INT(json_array_size(events), 5);
	event_at(events, 3, "s", 6);
	bench_fini(&bench);
}

TEST(slices_are_whole_or_open_at_the_end)
{
	struct bench bench;

	bench_init(&bench, 100);
	strata_trace_end(bench.lanes[0], 1000); /* of a slice that was overwritten */
	strata_trace_flow(bench.lanes[0], 1000, 3);
	strata_trace_begin(bench.lanes[0], 2000, "a", 0, strata_trace_none());
	strata_trace_begin(bench.lanes[0], 3000, "b", 0, strata_trace_none());
	strata_trace_end(bench.lanes[0], 4000);
	strata_trace_end(bench.lanes[0], 5000);
	strata_trace_end(bench.lanes[0], 6000);
	strata_trace_begin(bench.lanes[0], 7000, "open", 0, strata_trace_none());
	json_t *events = events_of(&bench, INT64_MIN);

	CHECK_INT(json_array_size(events), 8);
	event_at(events, 2, "B", 2);
	event_at(events, 3, "B", 3);
	event_at(events, 4, "E", 4);
	event_at(events, 5, "E", 5);
	event_at(events, 6, "B", 7);

	events = events_of(&bench, 3000); /* "a" began before: its end goes too */
	CHECK_INT(json_array_size(events), 6);
	event_at(events, 2, "B", 3);
	event_at(events, 3, "E", 4);
	event_at(events, 4, "B", 7);
	CHECK_INT(json_array_size(events_of(&bench, 7001)), 3);
	bench_fini(&bench);
}

TEST(a_wrapped_lane_says_how_much_it_dropped)
{
	struct bench bench;

	bench_init(&bench, 10);
	for (int i = 0; i < 100; i++) {
		strata_trace_begin(bench.lanes[0], i * 2000, "a", 0, strata_trace_none());
		strata_trace_end(bench.lanes[0], i * 2000 + 1000);
	}
	strata_trace_begin(bench.lanes[0], 200000, "a", 0, strata_trace_none());
	json_t *events = events_of(&bench, INT64_MIN);

	/* ten are left: an end without its begin, four slices, one that is open */
	CHECK_INT(json_array_size(events), 12);
	event_at(events, 2, "B", 192);
	event_at(events, 10, "B", 200);
	CHECK_INT(json_integer_value(
			  json_object_get(json_object_get(bench.file, "otherData"), "dropped")),
		  191);
	bench_fini(&bench);
}

TEST(times_of_a_lane_never_go_back_in_the_file)
{
	struct bench bench;

	bench_init(&bench, 100);
	strata_trace_begin(bench.lanes[0], -1, "a", 0, strata_trace_none());
	strata_trace_begin(bench.lanes[0], 9000, "b", 0, strata_trace_none());
	strata_trace_end(bench.lanes[0], 2000);
	strata_trace_end(bench.lanes[0], 10000);
	json_t *events = events_of(&bench, INT64_MIN);

	event_at(events, 2, "B", -0.001);
	event_at(events, 3, "B", 9);
	event_at(events, 4, "E", 9);
	event_at(events, 5, "E", 10);

	events = events_of(&bench, 5000); /* an end that went back is not older than its begin */
	CHECK_INT(json_array_size(events), 5);
	event_at(events, 3, "E", 9);
	bench_fini(&bench);
}

TEST(extreme_times_are_written)
{
	struct bench bench;

	bench_init(&bench, 100);
	strata_trace_begin(bench.lanes[0], INT64_MIN, "a", 0, strata_trace_none());
	strata_trace_end(bench.lanes[0], INT64_MAX);
	events_of(&bench, INT64_MIN);
	CHECK(strstr(bench.sink.text, "\"ts\":-9223372036854775.808,"));
	CHECK(strstr(bench.sink.text, "\"ts\":9223372036854775.807}"));
	bench_fini(&bench);
}

/* A process counts in a clock that never goes back; its file is in one that others have too. */
TEST(times_in_the_file_are_of_the_clock_that_it_names)
{
	struct bench bench;
	const struct strata_trace_conf live = {
		.pid = 1, .process_name = "a", .clock_name = "realtime", .offset_ns = 1000000
	};
	struct strata_error err;

	bench_init(&bench, 10);
	strata_trace_free(bench.trace);
	CHECK_OK(strata_trace_new(&bench.memory, &live, &bench.trace, &err));
	CHECK_OK(strata_trace_add_lane(
		bench.trace,
		&(struct strata_trace_lane_conf){ .tid = 1, .name = "a", .event_count = 10 },
		&bench.lanes[0], &err));
	strata_trace_slice(bench.lanes[0],
			   (struct strata_trace_event){
				   .time_ns = 2000, .end_ns = 5000, .name = "s", .flow = 3 });
	strata_trace_instant(bench.lanes[0], INT64_MAX, "late", 0, strata_trace_none());
	json_t *events = events_of(&bench, INT64_MIN);

	CHECK_INT(json_array_size(events), 5);
	CHECK_NEAR(json_real_value(json_object_get(event_at(events, 2, "X", 1002), "dur")), 3, 0);
	event_at(events, 3, "s", 1002);
	CHECK(strstr(bench.sink.text, "\"ts\":9223372036854775.807,"));
	CHECK_INT(json_array_size(events_of(&bench, 1005000)), 5); /* it ended then */
	CHECK_INT(json_array_size(events_of(&bench, 1005001)), 3);
	bench_fini(&bench);
}

TEST(a_slice_stays_where_it_was_and_the_rest_ascends)
{
	struct bench bench;

	bench_init(&bench, 10);
	strata_trace_instant(bench.lanes[0], 3000, "within", 0, strata_trace_none());
	strata_trace_slice(bench.lanes[0], (struct strata_trace_event){
						   .time_ns = 1000, .end_ns = 9000, .name = "s" });
	strata_trace_instant(bench.lanes[0], 4000, "late", 0, strata_trace_none());
	strata_trace_slice(
		bench.lanes[0],
		(struct strata_trace_event){ .time_ns = 20000, .end_ns = 19000, .name = "back" });
	json_t *events = events_of(&bench, INT64_MIN);

	event_at(events, 2, "i", 3);
	event_at(events, 3, "X", 1);
	event_at(events, 4, "i", 9);
	CHECK_NEAR(json_real_value(json_object_get(event_at(events, 5, "X", 20), "dur")), 0, 0);
	bench_fini(&bench);
}

TEST(any_bytes_give_valid_json)
{
	struct {
		const char *text, *want;
	} cases[] = {
		{ "plain äß€😀", "plain äß€😀" },
		{ "quote \" back \\ slash /", "quote \" back \\ slash /" },
		{ "\b\f\n\r\t\x01\x1f\x7f", "\b\f\n\r\t\x01\x1f\x7f" },
		{ "a\xFF", "a\xEF\xBF\xBD" },                 /* never in UTF-8 */
		{ "\xC3", "\xEF\xBF\xBD" },                   /* cut at the end */
		{ "\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD" },   /* cut at the end */
		{ "\xE2\x82x", "\xEF\xBF\xBD\xEF\xBF\xBDx" }, /* cut in the middle */
		{ "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD" },   /* overlong */
		{ "\xE0\x80\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" }, /* surrogate */
		{ "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "\x80", "\xEF\xBF\xBD" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench;

		bench_init(&bench, 10);
		strata_trace_instant_copy(bench.lanes[0], 1, cases[i].text, 0,
					  strata_trace_text(cases[i].text, cases[i].text));
		const json_t *event = event_at(events_of(&bench, INT64_MIN), 2, "i", 0.001);

		CHECK_TEXT(json_string_value(json_object_get(event, "name")), cases[i].want);
		CHECK_TEXT(json_string_value(
				   json_object_get(json_object_get(event, "args"), cases[i].want)),
			   cases[i].want);
		CHECK(!memchr(bench.sink.text, 0x7F, bench.sink.length)); /* Perfetto refuses it */
		bench_fini(&bench);
	}
}

TEST(every_single_byte_and_pair_can_be_a_name)
{
	for (int first = 1; first < 256; first++) {
		struct bench bench;
		char name[3] = { (char)first };

		bench_init(&bench, 1000);
		for (int second = 0; second < 256; second++) {
			name[1] = (char)second;
			strata_trace_instant_copy(bench.lanes[0], 1, name, 0, strata_trace_none());
		}
		CHECK_INT(json_array_size(events_of(&bench, INT64_MIN)), 3 + 256);
		bench_fini(&bench);
	}
}

TEST(numbers_are_exact_and_never_break_the_file)
{
	const double reals[] = { 0.1, -1e300, 5e-324, 1e15, 123456789.125, -0.0, NAN, INFINITY };
	struct bench bench;

	bench_init(&bench, 100);
	setlocale(LC_ALL, "de_DE.UTF-8"); /* a comma for the point, where it is installed */
	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
		strata_trace_instant(bench.lanes[0], 1, "i", 0, strata_trace_real("x", reals[i]));
	strata_trace_instant(bench.lanes[0], 1, "i", 0, strata_trace_int("x", INT64_MIN));
	strata_trace_counter(bench.lanes[0], 1, "left out", strata_trace_real("x", NAN));
	strata_trace_counter(bench.lanes[0], 1, "left out", strata_trace_text("x", "y"));
	strata_trace_counter(bench.lanes[0], 1, "left out", strata_trace_none());
	json_t *events = events_of(&bench, INT64_MIN);

	setlocale(LC_ALL, "C");
	CHECK_INT(json_array_size(events), 3 + 9);
	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
		json_t *value = json_object_get(
			json_object_get(json_array_get(events, 2 + i), "args"), "x");

		if (isfinite(reals[i]))
			CHECK(json_number_value(value) == reals[i]);
		else
			CHECK(json_is_null(value));
	}
	CHECK_INT(json_integer_value(json_object_get(
			  json_object_get(json_array_get(events, 10), "args"), "x")),
		  INT64_MIN);
	bench_fini(&bench);
}

TEST(a_sink_that_fails_ends_the_writing)
{
	struct strata_error err;
	struct bench bench;

	bench_init(&bench, 10000);
	for (int i = 0; i < 10000; i++)
		strata_trace_instant(bench.lanes[0], i, "an instant", 5, strata_trace_none());
	bench.sink.fail_at = 2;
	CHECK_ERROR(write_trace(&bench, INT64_MIN, &err), -ENOSPC,
		    "could not be written: No space left");
	CHECK_INT(bench.sink.calls, 2);
	bench_fini(&bench);
}

/* ---- what a reader relies on, whatever was traced ---- */

enum { FLOWS = 6 };

struct reader {
	double time_us[3]; /* of each lane: the latest event */
	int depth[3];      /* open slices */
	bool at_slice[3];  /* the last event was a slice's begin, an instant, or a flow of either */
	double begin_us[FLOWS]; /* of each flow: its s */
	int begins[FLOWS];
};

/* Takes one event in as a viewer does: lane by lane, slices on a stack. */
static void read_event(struct reader *reader, const json_t *event)
{
	const char *phase = json_string_value(json_object_get(event, "ph"));
	const char *id = json_string_value(json_object_get(event, "id"));
	double time_us = json_real_value(json_object_get(event, "ts"));
	int lane = (int)json_integer_value(json_object_get(event, "tid"));

	CHECK(phase && lane <= 2);
	if (phase[0] == 'M')
		return;
	CHECK(time_us >= reader->time_us[lane]);
	reader->time_us[lane] = time_us;
	reader->depth[lane] += (phase[0] == 'B') - (phase[0] == 'E');
	CHECK(reader->depth[lane] >= 0);
	if (phase[0] == 's' || phase[0] == 't') {
		CHECK(reader->at_slice[lane] ||
		      reader->depth[lane] > 0); /* it has something to bind to */
		long flow = strtol(id, NULL, 16);

		reader->begins[flow] += phase[0] == 's';
		if (phase[0] == 's')
			reader->begin_us[flow] = time_us;
	} else {
		reader->at_slice[lane] = phase[0] == 'B' || phase[0] == 'i';
	}
}

static void check_flows(const struct reader *reader, const json_t *events)
{
	size_t index;
	json_t *event;

	json_array_foreach((json_t *)events, index, event)
	{
		const char *id = json_string_value(json_object_get(event, "id"));
		long flow = id ? strtol(id, NULL, 16) : 0;

		CHECK(!id || reader->begins[flow] == 1);
		CHECK(!id ||
		      json_real_value(json_object_get(event, "ts")) >= reader->begin_us[flow]);
	}
}

static uint32_t chance(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static void trace_something(struct bench *bench, uint64_t *state, int64_t *now_ns)
{
	struct strata_trace_lane *lane = bench->lanes[chance(state) % 2];
	uint64_t flow = chance(state) % FLOWS;

	*now_ns += (int)(chance(state) % 2000) - 300;
	switch (chance(state) % 7) {
	case 0:
		strata_trace_begin(lane, *now_ns, "slice", flow, strata_trace_none());
		break;
	case 1:
		strata_trace_begin_copy(lane, *now_ns, "a copied name that takes two places or so",
					flow, strata_trace_text("t", "x"));
		break;
	case 2:
		strata_trace_instant(lane, *now_ns, "instant", flow, strata_trace_int("i", 1));
		break;
	case 3:
		strata_trace_counter(lane, *now_ns, "counter", strata_trace_int("c", 1));
		break;
	case 4:
		strata_trace_flow(lane, *now_ns, flow);
		break;
	default:
		strata_trace_end(lane, *now_ns);
	}
}

TEST(slices_nest_and_flows_hold_together_whatever_is_traced)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t state = seed;
		int64_t now_ns = 0;
		struct reader reader = { { -1e300, -1e300, -1e300 } };
		struct bench bench;
		size_t index;
		json_t *event;

		bench_init(&bench, 1 + chance(&state) % 60);
		for (uint32_t i = chance(&state) % 300; i > 0; i--)
			trace_something(&bench, &state, &now_ns);
		json_t *events = events_of(
			&bench,
			seed % 3 ? INT64_MIN
				 : (int64_t)(chance(&state) % (1 + (uint64_t)llabs(now_ns))));

		json_array_foreach(events, index, event) read_event(&reader, event);
		check_flows(&reader, events);
		bench_fini(&bench);
	}
}

/* ---- a live daemon ---- */

struct live {
	struct strata_trace_lane *lane;
	atomic_bool *stop;
};

static void *work(void *context)
{
	struct live *live = context;

	for (int64_t i = 0; !atomic_load(live->stop); i += 10) {
		strata_trace_begin_copy(live->lane, i, "a job", (uint64_t)i % 50,
					strata_trace_text("user", "ada"));
		strata_trace_end(live->lane, i + 5);
	}
	return NULL;
}

TEST(a_file_is_written_while_threads_work)
{
	atomic_bool stop = false;
	pthread_t threads[2];
	struct live lives[2];
	struct bench bench;

	bench_init(&bench, 500);
	for (int i = 0; i < 2; i++) {
		lives[i] = (struct live){ bench.lanes[i], &stop };
		CHECK_INT(pthread_create(&threads[i], NULL, work, &lives[i]), 0);
	}
	for (int i = 0; i < 20; i++)
		CHECK(json_array_size(events_of(&bench, INT64_MIN)) >= 3);
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	bench_fini(&bench);
}

static int write_out(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct bench *bench = context;
	struct strata_trace_sink sink = { trace_text_write, &bench->sink };
	struct strata_arena arena;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_trace_write(bench->trace, INT64_MIN, &arena, &sink, err);

	strata_arena_fini(&arena);
	return rc;
}

TEST(running_out_of_memory_is_reported)
{
	struct bench bench;

	bench_init(&bench, 10);
	strata_trace_instant(bench.lanes[0], 1, "a", 5, strata_trace_none());
	CHECK_INT(test_every_allocation(write_out, &bench), 5);
	bench_fini(&bench);
}
