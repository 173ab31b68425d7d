#include "test.h"
#include "trace_text.h"

#include "core/trace_int.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct strata_trace_conf conf = { 42, "strata", "virtual", 0 };

static struct strata_trace *new_trace(struct strata_memory *memory)
{
	struct strata_trace *trace;
	struct strata_error err;

	CHECK_OK(strata_trace_new(memory, &conf, &trace, &err));
	return trace;
}

static struct strata_trace_lane *add_lane(struct strata_trace *trace, uint32_t tid, size_t count)
{
	struct strata_trace_lane *lane;
	struct strata_error err;

	CHECK_OK(strata_trace_add_lane(trace,
				       &(struct strata_trace_lane_conf){
					       .tid = tid, .name = "a lane", .event_count = count },
				       &lane, &err));
	return lane;
}

/* The snapshot of the only lane. */
static struct trace_snapshot take(struct strata_trace *trace, struct strata_arena *arena)
{
	struct trace_snapshot *snapshots;
	struct strata_error err;
	size_t count;

	CHECK_OK(trace_snapshot(trace, arena, &snapshots, &count, &err));
	CHECK_INT(count, 1);
	return snapshots[0];
}

static size_t count_events(const struct trace_snapshot *snapshot)
{
	struct trace_row row;
	size_t count = 0;

	for (size_t slot = 0; slot < snapshot->slot_count; slot += row.slot_count, count++)
		trace_row_read(snapshot, slot, &row);
	return count;
}

TEST(without_a_lane_nothing_happens)
{
	strata_trace_slice(NULL, (struct strata_trace_event){ .name = "a" });
	strata_trace_counters(NULL, 1, "a", NULL, 0);
	CHECK_INT(strata_trace_close(NULL, NULL), 0);
	strata_trace_begin(NULL, 1, "a", 0, strata_trace_none());
	strata_trace_begin_copy(NULL, 1, "a", 0, strata_trace_int("n", 1));
	strata_trace_instant(NULL, 1, "a", 0, strata_trace_real("n", 1));
	strata_trace_instant_copy(NULL, 1, "a", 0, strata_trace_text("n", "1"));
	strata_trace_counter(NULL, 1, "a", strata_trace_int("n", 1));
	strata_trace_flow(NULL, 1, 7);
	strata_trace_end(NULL, 2);
	strata_trace_free(NULL);
}

TEST(events_come_back_as_they_were_added)
{
	struct strata_memory memory = { 0 }, scratch = { 0 };
	struct strata_trace *trace = new_trace(&memory);
	struct strata_trace_lane *lane = add_lane(trace, 7, 100);
	struct strata_arena arena;
	struct trace_row row;
	char name[] = "train the model";
	size_t slot = 0;

	strata_trace_begin_copy(lane, -5, name, UINT64_MAX, strata_trace_text("user", "ada"));
	memset(name, 'x', sizeof(name) - 1);
	strata_trace_counter(lane, 6, "queue", strata_trace_real("length", 0.25));
	strata_trace_end(lane, INT64_MAX);
	strata_arena_init(&arena, &scratch, 0);
	struct trace_snapshot snapshot = take(trace, &arena);

	CHECK_INT(snapshot.tid, 7);
	CHECK_TEXT(snapshot.name, "a lane");
	CHECK_INT(snapshot.dropped_count, 0);
	trace_row_read(&snapshot, slot, &row);
	CHECK_INT(row.event.kind, STRATA_TRACE_BEGIN);
	CHECK_INT(row.event.time_ns, -5);
	CHECK_TEXT(row.event.name, "train the model");
	CHECK(row.event.flow == UINT64_MAX);
	CHECK_TEXT(row.event.args[0].key, "user");
	CHECK_TEXT(row.event.args[0].text, "ada");
	trace_row_read(&snapshot, slot += row.slot_count, &row);
	CHECK_INT(row.event.kind, STRATA_TRACE_COUNTER);
	CHECK_TEXT(row.event.name, "queue");
	CHECK_NEAR(row.event.args[0].real, 0.25, 0);
	trace_row_read(&snapshot, slot += row.slot_count, &row);
	CHECK_INT(row.event.kind, STRATA_TRACE_END);
	CHECK_INT(row.event.time_ns, INT64_MAX);
	CHECK_INT(slot + row.slot_count, snapshot.slot_count);
	strata_arena_fini(&arena);
	strata_trace_free(trace);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_lane_keeps_exactly_its_newest_events)
{
	for (int added = 0; added <= 25; added++) {
		struct strata_memory memory = { 0 }, scratch = { 0 };
		struct strata_trace *trace = new_trace(&memory);
		struct strata_trace_lane *lane = add_lane(trace, 1, 8);
		struct strata_arena arena;
		struct trace_row row;

		for (int i = 0; i < added; i++)
			strata_trace_instant(lane, i, "i", 0, strata_trace_none());
		strata_arena_init(&arena, &scratch, 0);
		struct trace_snapshot snapshot = take(trace, &arena);
		int kept = added < 8 ? added : 8;

		CHECK_INT(snapshot.slot_count, kept);
		CHECK_INT(snapshot.dropped_count, added - kept);
		for (int i = 0; i < kept; i++) {
			trace_row_read(&snapshot, (size_t)i, &row);
			CHECK_INT(row.event.time_ns, added - kept + i);
		}
		strata_arena_fini(&arena);
		strata_trace_free(trace);
	}
}

/* Texts of every length, in a ring so small that they wrap all the time: whatever comes back is whole, consecutive up
 * to the last one, and what is missing is counted. */
TEST(texts_wrap_with_their_events)
{
	struct strata_memory memory = { 0 }, scratch = { 0 };
	struct strata_trace *trace = new_trace(&memory);
	struct strata_trace_lane *lane = add_lane(trace, 1, 13);
	char name[400], text[400];

	for (int i = 0; i < 400; i++) {
		struct strata_arena arena;
		struct trace_row row;
		int name_length = i * 7 % 131, text_length = i * 11 % 131;

		snprintf(name, sizeof(name), "%-*d", name_length, i);
		snprintf(text, sizeof(text), "%*d", text_length, i);
		strata_trace_begin_copy(lane, i, name, 0,
					i % 3 ? strata_trace_text("t", text) : strata_trace_none());
		strata_arena_init(&arena, &scratch, 0);
		struct trace_snapshot snapshot = take(trace, &arena);
		int at = (int)snapshot.dropped_count;

		CHECK_INT(count_events(&snapshot) + snapshot.dropped_count, i + 1);
		CHECK(count_events(&snapshot) >= 13 / 7);
		for (size_t slot = 0; slot < snapshot.slot_count; slot += row.slot_count, at++) {
			trace_row_read(&snapshot, slot, &row);
			CHECK_INT(row.event.time_ns, at);
			CHECK_INT(atoi(row.event.name), at);
			CHECK(row.event.arg_count == 0 || atoi(row.event.args[0].text) == at ||
			      at * 11 % 131 > 120);
		}
		strata_arena_fini(&arena);
	}
	strata_trace_free(trace);
}

TEST(long_texts_are_cut_between_characters)
{
	struct strata_memory memory = { 0 }, scratch = { 0 };
	struct strata_trace *trace = new_trace(&memory);
	struct strata_trace_lane *lane = add_lane(trace, 1, 30);
	char text[STRATA_TRACE_TEXT_BYTES_MAX + 2];
	struct strata_arena arena;
	struct trace_row row;

	memset(text, 'a', sizeof(text));
	text[STRATA_TRACE_TEXT_BYTES_MAX] = '\0';
	strata_trace_instant_copy(lane, 1, text, 0, strata_trace_none());
	text[STRATA_TRACE_TEXT_BYTES_MAX] = 'a';
	text[STRATA_TRACE_TEXT_BYTES_MAX + 1] = '\0';
	strata_trace_instant_copy(lane, 2, text, 0, strata_trace_none());
	memcpy(text + STRATA_TRACE_TEXT_BYTES_MAX - 2, "€", 3);
	strata_trace_instant_copy(lane, 3, text, 0, strata_trace_none());
	strata_trace_instant_copy(lane, 4, "", 0, strata_trace_text("t", ""));
	strata_arena_init(&arena, &scratch, 0);
	struct trace_snapshot snapshot = take(trace, &arena);
	size_t lengths[] = { 120, 120, 118, 0 }, slot = 0;

	for (int i = 0; i < 4; i++, slot += row.slot_count) {
		trace_row_read(&snapshot, slot, &row);
		CHECK_INT(strlen(row.event.name), lengths[i]);
	}
	CHECK_TEXT(row.event.args[0].text, "");
	strata_arena_fini(&arena);
	strata_trace_free(trace);
}

TEST(lanes_have_limits)
{
	struct strata_memory memory = { 0 };
	struct strata_trace *trace = new_trace(&memory);
	struct strata_trace_lane *lane = NULL;
	struct strata_error err;

	CHECK_ERROR(strata_trace_add_lane(trace,
					  &(struct strata_trace_lane_conf){
						  .tid = 1, .name = "a", .event_count = 0 },
					  &lane, &err),
		    -EINVAL, "0 events");
	CHECK_ERROR(strata_trace_add_lane(trace,
					  &(struct strata_trace_lane_conf){
						  .tid = 1,
						  .name = "a",
						  .event_count = STRATA_TRACE_LANE_EVENTS_MAX + 1 },
					  &lane, &err),
		    -EINVAL, "16777217 events; expected 1 to 16777216");
	CHECK(!lane);
	CHECK_OK(strata_trace_add_lane(
		trace,
		&(struct strata_trace_lane_conf){
			.tid = 1, .name = "a", .event_count = STRATA_TRACE_LANE_EVENTS_MAX },
		&lane, &err));
	strata_trace_free(trace);
	trace = new_trace(&memory);
	for (uint32_t i = 0; i < STRATA_TRACE_LANE_COUNT_MAX; i++)
		CHECK_OK(strata_trace_add_lane(
			trace,
			&(struct strata_trace_lane_conf){ .tid = i, .name = "a", .event_count = 1 },
			&lane, &err));
	CHECK_ERROR(strata_trace_add_lane(trace,
					  &(struct strata_trace_lane_conf){ .tid = UINT32_MAX,
									    .name = "a",
									    .event_count = 1 },
					  &lane, &err),
		    -E2BIG, "4096");
	strata_trace_free(trace);

	trace = new_trace(&memory);
	CHECK_OK(strata_trace_add_lane(trace,
				       &(struct strata_trace_lane_conf){
					       .tid = 3, .name = "the decider", .event_count = 1 },
				       &lane, &err));
	CHECK_ERROR(strata_trace_add_lane(trace,
					  &(struct strata_trace_lane_conf){
						  .tid = 3, .name = "b", .event_count = 1 },
					  &lane, &err),
		    -EEXIST, "the decider");
	memory.limit_bytes = memory.used_bytes + 100000;
	CHECK_ERROR(strata_trace_add_lane(trace,
					  &(struct strata_trace_lane_conf){
						  .tid = 4, .name = "b", .event_count = 3000 },
					  &lane, &err),
		    -ENOMEM, "memory");
	CHECK_OK(strata_trace_add_lane(
		trace,
		&(struct strata_trace_lane_conf){ .tid = 4, .name = "b", .event_count = 1000 },
		&lane, &err));
	strata_trace_free(trace);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_trace_needs_its_names)
{
	struct strata_memory memory = { 0 };
	struct strata_trace *trace;
	struct strata_error err;

	CHECK_ERROR(strata_trace_new(&memory, &(struct strata_trace_conf){ 1, NULL, "a", 0 },
				     &trace, &err),
		    -EINVAL, "process name");
	CHECK_ERROR(strata_trace_new(&memory, &(struct strata_trace_conf){ 1, "a", NULL, 0 },
				     &trace, &err),
		    -EINVAL, "clock name");
}

/* ---- reading while threads write ---- */

enum { WRITERS = 2, LIVE_ROUNDS = 100, ROUNDS_MAX = 1000000 };

struct writer {
	struct strata_trace_lane *lane;
	atomic_bool *stop;
	pthread_t thread;
};

/* Every field of an event follows from its number, so that a mixture of two shows. */
static void *write_events(void *context)
{
	struct writer *writer = context;
	char name[64];

	for (int64_t i = 0; !atomic_load(writer->stop); i++) {
		if (i % 5 == 0) {
			snprintf(name, sizeof(name), "%0*lld", (int)(20 + i % 40), (long long)i);
			strata_trace_begin_copy(writer->lane, i, name, (uint64_t)i,
						strata_trace_text("t", name));
		} else {
			strata_trace_begin(writer->lane, i, "static", (uint64_t)i,
					   strata_trace_int("i", i));
		}
	}
	return NULL;
}

static void check_rows(const struct trace_snapshot *snapshot)
{
	int64_t at = (int64_t)snapshot->dropped_count;
	struct trace_row row;

	for (size_t slot = 0; slot < snapshot->slot_count; slot += row.slot_count, at++) {
		trace_row_read(snapshot, slot, &row);
		CHECK_INT(row.event.kind, STRATA_TRACE_BEGIN);
		CHECK_INT(row.event.time_ns, at);
		CHECK_INT(row.event.flow, at);
		if (at % 5 == 0) {
			CHECK_INT(strlen(row.event.name), 20 + at % 40);
			CHECK_INT(atoll(row.event.name), at);
			CHECK_TEXT(row.event.args[0].text, row.event.name);
		} else {
			CHECK_TEXT(row.event.name, "static");
			CHECK_INT(row.event.args[0].integer, at);
		}
	}
}

TEST(lanes_are_read_while_their_threads_write)
{
	struct strata_memory memory = { 0 }, scratch = { 0 };
	struct strata_trace *trace = new_trace(&memory);
	struct writer writers[WRITERS];
	struct strata_arena arena;
	struct strata_error err;
	atomic_bool stop = false;
	uint64_t dropped = 0;
	int live = 0; /* rounds in which the writer moved on and something was left to read */

	strata_arena_init(&arena, &scratch, 0);
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] =
			(struct writer){ .lane = add_lane(trace, i, i ? 5000 : 60), .stop = &stop };
		CHECK_INT(pthread_create(&writers[i].thread, NULL, write_events, &writers[i]), 0);
	}
	for (int round = 0; live < LIVE_ROUNDS && round < ROUNDS_MAX; round++) {
		struct trace_snapshot *snapshots;
		size_t count;

		CHECK_OK(trace_snapshot(trace, &arena, &snapshots, &count, &err));
		for (size_t i = 0; i < count; i++)
			check_rows(&snapshots[i]);
		live += snapshots[1].dropped_count > dropped && snapshots[1].slot_count > 0;
		dropped = snapshots[1].dropped_count;
		strata_arena_reset(&arena);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	CHECK_INT(live, LIVE_ROUNDS);
	strata_arena_fini(&arena);
	strata_trace_free(trace);
}

static int make_trace(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_trace *trace = NULL;
	struct strata_trace_lane *lane = NULL;
	int rc = strata_trace_new(memory, &conf, &trace, err);

	(void)context;
	if (rc == 0)
		rc = strata_trace_add_lane(trace,
					   &(struct strata_trace_lane_conf){
						   .tid = 1, .name = "a", .event_count = 10 },
					   &lane, err);
	CHECK(rc == 0 || !lane);
	strata_trace_free(trace);
	return rc;
}

TEST(running_out_of_memory_leaves_nothing_behind)
{
	CHECK_INT(test_every_allocation(make_trace, NULL), 6);
}

/* ---- straight into a file ---- */

static int write_file(struct trace_text *text, struct strata_error *ret_err)
{
	static const struct strata_trace_conf cluster = { .pid = 1,
							  .process_name = "cluster",
							  .clock_name = "virtual" };
	struct strata_memory memory = { 0 };
	struct strata_trace_sink sink = { trace_text_write, text };
	const struct strata_trace_arg args[] = { strata_trace_text("user", "\"u\""),
						 strata_trace_int("gpus", 8) };
	const struct strata_trace_arg counts[] = { strata_trace_int("waiting", 3),
						   strata_trace_int("running", 1) };
	struct strata_trace_event slice = { .time_ns = 1500,
					    .end_ns = 4000,
					    .name = "job 7",
					    .flow = 7,
					    .flow_first = true,
					    .args = args,
					    .arg_count = 2 };
	struct strata_trace_lane *curves, *one, *two;
	struct strata_trace *trace;
	struct strata_error err;

	CHECK_OK(strata_trace_open(&memory, &cluster, &sink, &trace, &err));
	CHECK_OK(strata_trace_add_lane(trace, &(struct strata_trace_lane_conf){ .tid = 0 }, &curves,
				       &err));
	CHECK_OK(strata_trace_add_lane(
		trace,
		&(struct strata_trace_lane_conf){
			.pid = 2, .tid = 1, .name = "jobs 1", .process_name = "n1" },
		&one, &err));
	strata_trace_slice(one, slice);
	CHECK_OK(strata_trace_add_lane(
		trace, &(struct strata_trace_lane_conf){ .pid = 2, .tid = 2 }, &two, &err));
	slice = (struct strata_trace_event){
		.time_ns = 1500, .end_ns = 1500, .name = "job 7", .flow = 7
	};
	strata_trace_slice(two, slice);
	slice.flow = 0;
	strata_trace_slice(two, slice);
	strata_trace_counters(curves, 1500, "jobs", counts, 2);
	int rc = strata_trace_close(trace, ret_err);

	CHECK_INT(memory.used_bytes, 0);
	return rc;
}

TEST(events_are_written_as_they_come)
{
	struct trace_text text = { 0 };
	struct strata_error err;

	CHECK_OK(write_file(&text, &err));
	CHECK_TEXT(
		text.text,
		"{\"otherData\":{\"source\":\"strata " STRATA_VERSION
		"\",\"clock\":\"virtual\",\"dropped\":0},\n\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"cluster\"}}"
		",\n"
		"{\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\",\"args\":{\"name\":\"n1\"}},\n"
		"{\"ph\":\"M\",\"pid\":2,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"jobs 1\"}},\n"
		"{\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":1.500,\"dur\":2.500,\"name\":\"job 7\","
		"\"args\":{\"flow\":7,\"user\":\"\\\"u\\\"\",\"gpus\":8}},\n"
		"{\"ph\":\"s\",\"pid\":2,\"tid\":1,\"ts\":1.500,\"id\":\"0x7\",\"cat\":\"strata\","
		"\"name\":\"flow\"},\n"
		"{\"ph\":\"X\",\"pid\":2,\"tid\":2,\"ts\":1.500,\"dur\":0.000,\"name\":\"job "
		"7\",\"args\":{\"flow\":7}},\n"
		"{\"ph\":\"t\",\"pid\":2,\"tid\":2,\"ts\":1.500,\"id\":\"0x7\",\"cat\":\"strata\","
		"\"name\":\"flow\"},\n"
		"{\"ph\":\"X\",\"pid\":2,\"tid\":2,\"ts\":1.500,\"dur\":0.000,\"name\":\"job "
		"7\"},\n"
		"{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":1.500,\"name\":\"jobs\",\"args\":{"
		"\"waiting\":3,\"running\":1}}\n]}");
	trace_text_fini(&text);
}

TEST(a_sink_that_fails_is_heard_of_at_the_end)
{
	struct trace_text text = { .fail_at = 1 };
	struct strata_error err;

	CHECK_ERROR(write_file(&text, &err), -ENOSPC,
		    "the trace could not be written: No space left");
	trace_text_fini(&text);
}

/* The files of a simulator and of a service can be looked at together. */
TEST(a_merge_takes_it)
{
	struct trace_text text = { 0 }, merged = { 0 };
	struct strata_trace_merged result;
	struct strata_memory memory = { 0 };
	struct strata_error err;

	CHECK_OK(write_file(&text, &err));
	struct trace_reader reader = { text.text, text.length, 0, 0, 0 };
	struct strata_trace_input input = { "sim.json", trace_text_read, &reader };
	struct strata_trace_sink sink = { trace_text_write, &merged };

	CHECK_OK(strata_trace_merge(&input, 1, &memory, &sink, &result, &err));
	CHECK_INT(result.process_count, 2);
	CHECK_INT(result.event_count, 9);
	trace_text_fini(&text);
	trace_text_fini(&merged);
}

/* A file that cannot even be begun leaves nothing behind, nor does a lane that cannot be added. */
static int make_file(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_trace_sink sink = { trace_text_write, context };
	struct strata_trace_lane *lane = NULL;
	struct strata_trace *trace = NULL;
	int rc = strata_trace_open(memory, &conf, &sink, &trace, err);

	if (rc == 0)
		rc = strata_trace_add_lane(
			trace, &(struct strata_trace_lane_conf){ .tid = 1, .name = "a" }, &lane,
			err);
	int ended = strata_trace_close(trace, err);

	return rc ? rc : ended;
}

TEST(a_file_without_memory_is_refused)
{
	struct trace_text text = { 0 };

	CHECK_INT(test_every_allocation(make_file, &text), 5);
	trace_text_fini(&text);
}
