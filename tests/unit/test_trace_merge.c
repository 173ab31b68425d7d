#include "test.h"
#include "trace_text.h"

#include <strata/limits.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

enum { FILES_MAX = 8 };

/* A merge of texts. */
struct bench {
	struct strata_memory memory;
	struct trace_reader readers[FILES_MAX];
	struct strata_trace_input inputs[FILES_MAX];
	size_t count;
	struct trace_text sink;
	struct strata_trace_merged merged;
	json_t *file;
};

static void add_bytes(struct bench *bench, const char *text, size_t length)
{
	static const char *const names[] = { "a.json", "b.json", "c.json", "d.json",
					     "e.json", "f.json", "g.json", "h.json" };

	bench->readers[bench->count] = (struct trace_reader){ text, length, .step = 7 };
	bench->inputs[bench->count] = (struct strata_trace_input){ names[bench->count],
								   trace_text_read,
								   &bench->readers[bench->count] };
	bench->count++;
}

static void add(struct bench *bench, const char *text)
{
	add_bytes(bench, text, strlen(text));
}

static int merge(struct bench *bench, struct strata_error *err)
{
	struct strata_trace_sink sink = { trace_text_write, &bench->sink };
	int rc = strata_trace_merge(bench->inputs, bench->count, &bench->memory, &sink,
				    &bench->merged, err);

	CHECK_INT(bench->memory.used_bytes, 0);
	return rc;
}

static void fini(struct bench *bench)
{
	json_decref(bench->file);
	trace_text_fini(&bench->sink);
	*bench = (struct bench){ 0 };
}

/* Merges and parses; the events. */
static json_t *merged_events(struct bench *bench)
{
	struct strata_error err;
	json_error_t why;

	CHECK_OK(merge(bench, &err));
	bench->file = json_loadb(bench->sink.text, bench->sink.length,
				 JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	if (!bench->file)
		test_fail(__FILE__, __LINE__, "not JSON: %s in\n%s", why.text, bench->sink.text);
	return json_object_get(bench->file, "traceEvents");
}

static json_t *member(const json_t *events, size_t index, const char *key)
{
	return json_object_get(json_array_get(events, index), key);
}

static json_t *file_row(const struct bench *bench, size_t index)
{
	return json_array_get(json_object_get(json_object_get(bench->file, "otherData"), "files"),
			      index);
}

TEST(both_forms_are_merged_into_one_file)
{
	struct bench bench = { 0 };

	add(&bench,
	    "{\"otherData\":{\"clock\":\"realtime\",\"dropped\":2},\"displayTimeUnit\":\"ms\","
	    "\"traceEvents\":[{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":"
	    "\"x\"}},"
	    "{\"ph\":\"B\",\"ts\":1753000000123456.789,\"pid\":1,\"tid\":1,\"name\":\"a\"}]}");
	add(&bench, " [ {\"ph\":\"E\",\"ts\":2,\"pid\":2,\"tid\":1} "
		    ",\n{\"ph\":\"i\",\"ts\":3,\"pid\":2} ] ");
	json_t *events = merged_events(&bench);

	CHECK_INT(json_array_size(events), 4);
	CHECK(strstr(bench.sink.text, "\"ts\":1753000000123456.789,")); /* every nanosecond */
	CHECK_TEXT(json_string_value(member(events, 0, "ph")), "M");
	CHECK_TEXT(json_string_value(member(events, 3, "ph")), "i");
	CHECK_INT(bench.merged.event_count, 4);
	CHECK_INT(bench.merged.process_count, 2);
	CHECK_INT(bench.merged.renumbered_count, 0);
	CHECK(!bench.merged.clocks_differ);
	json_t *other = json_object_get(bench.file, "otherData");

	CHECK_TEXT(json_string_value(json_object_get(other, "clock")), "realtime");
	CHECK_INT(json_integer_value(json_object_get(other, "dropped")), 2);
	CHECK_TEXT(json_string_value(json_object_get(file_row(&bench, 0), "file")), "a.json");
	json_t *kept = json_object_get(file_row(&bench, 0), "members");

	CHECK_TEXT(json_string_value(json_object_get(kept, "displayTimeUnit")), "ms");
	CHECK_TEXT(json_string_value(json_object_get(json_object_get(kept, "otherData"), "clock")),
		   "realtime");
	CHECK_INT(json_object_size(json_object_get(file_row(&bench, 1), "members")), 0);
	fini(&bench);
}

TEST(process_ids_that_collide_are_renumbered_throughout_their_file)
{
	struct bench bench = { 0 };

	add(&bench, "[{\"ph\":\"M\",\"pid\":5},{\"ph\":\"M\",\"pid\":\"Spans\"},{\"ph\":\"M\"}]");
	add(&bench, "[{\"ph\":\"M\",\"args\":{\"pid\":5},\"pid\":5 "
		    ",\"name\":\"process_name\"},{\"ph\":\"i\",\"pid\": 5,\"ts\":1},"
		    "{\"ph\":\"i\",\"pid\":6,\"ts\":1},{\"ph\":\"i\",\"ts\":1,\"pid\":\"Spans\"},{"
		    "\"ph\":\"M\"},"
		    "{\"ph\":\"i\",\"ts\":1,\"pid\":0}]");
	add(&bench, "[{\"ph\":\"i\",\"ts\":1,\"pid\":5.0},{\"ph\":\"M\",\"pid\":5}]");
	json_t *events = merged_events(&bench);

	CHECK_INT(json_integer_value(member(events, 0, "pid")), 5);
	CHECK(!member(events, 2, "pid"));
	CHECK_INT(json_integer_value(member(events, 3, "pid")), 4194305);
	CHECK_INT(json_integer_value(json_object_get(member(events, 3, "args"), "pid")), 5);
	CHECK_INT(json_integer_value(member(events, 4, "pid")), 4194305);
	CHECK_INT(json_integer_value(member(events, 5, "pid")), 6);
	CHECK_TEXT(json_string_value(member(events, 6, "pid")), "Spans #2");
	CHECK_INT(json_integer_value(member(events, 7, "pid")),
		  4194306); /* no id: readers take 0 */
	CHECK_INT(json_integer_value(member(events, 8, "pid")), 4194306);
	CHECK_INT(json_integer_value(member(events, 9, "pid")), 4194307);
	CHECK_INT(json_integer_value(member(events, 10, "pid")), 4194307);
	CHECK_INT(bench.merged.renumbered_count, 4);
	CHECK_INT(bench.merged.process_count, 8);
	json_t *pairs = json_object_get(file_row(&bench, 1), "renumbered");

	CHECK_INT(json_array_size(pairs), 3);
	CHECK_INT(json_integer_value(json_array_get(json_array_get(pairs, 0), 0)), 5);
	CHECK_INT(json_integer_value(json_array_get(json_array_get(pairs, 0), 1)), 4194305);
	fini(&bench);
}

TEST(text_ids_are_compared_as_texts_and_limited)
{
	struct bench bench = { 0 };
	struct strata_error err;
	char text[400];

	add(&bench, "[{\"ph\":\"M\",\"pid\":\"a/\"}]");
	add(&bench, "[{\"ph\":\"M\",\"pid\":\"\\u0061\\/\"},{\"ph\":\"M\",\"pid\":\"a/\"}]");
	json_t *events = merged_events(&bench);

	CHECK_TEXT(json_string_value(member(events, 1, "pid")), "a/ #2");
	CHECK_TEXT(json_string_value(member(events, 2, "pid")), "a/ #2");
	fini(&bench);
	for (int over = 0; over < 2; over++) {
		sprintf(text, "[{\"ph\":\"M\",\"pid\":\"%0*d\"}]", STRATA_NAME_BYTES_MAX - 2 + over,
			0);
		add(&bench, text);
		add(&bench, text);
		if (over)
			CHECK_ERROR(merge(&bench, &err), -E2BIG,
				    "byte 1: \"pid\" is longer than 128 bytes");
		else
			CHECK_INT(json_array_size(merged_events(&bench)), 2);
		fini(&bench);
	}
}

#define FLOW(phase, id, pid)                 \
	"{\"ph\":\"" phase "\",\"id\":\"" id \
	"\",\"cat\":\"strata\",\"name\":\"flow\",\"ts\":1,\"pid\":" pid "}"

TEST(a_flow_that_an_earlier_file_began_is_continued)
{
	struct bench bench = { 0 };

	add(&bench, "[" FLOW("s", "0x11", "1") "," FLOW("t", "0x12", "1") "]");
	add(&bench, "[" FLOW("s", "0x11", "1") "," FLOW(
			    "s", "0x12", "1") ","
					      "{\"ph\":\"s\",\"id\":\"0x11\",\"cat\":\"other\","
					      "\"name\":\"flow\",\"ts\":1}]");
	add(&bench,
	    "[" FLOW("s", "0x12", "9") "," FLOW("s", "0x13", "9") "," FLOW("s", "0x13", "9") "]");
	json_t *events = merged_events(&bench);
	const char *want = "stt"
			   "ss"
			   "tss";

	for (size_t i = 0; want[i]; i++)
		CHECK_INT(json_string_value(member(events, i, "ph"))[0], want[i]);
	CHECK_INT(json_integer_value(member(events, 2, "pid")),
		  4194305); /* both patches in one event */
	CHECK_TEXT(json_string_value(member(events, 2, "id")), "0x11");
	fini(&bench);
}

TEST(clocks_that_differ_are_reported)
{
	struct bench bench = { 0 };

	add(&bench, "{\"traceEvents\":[],\"otherData\":{\"clock\":\"realtime\",\"dropped\":1}}");
	add(&bench, "[]");
	add(&bench, "{\"traceEvents\":[],\"otherData\":{\"clock\":\"virtual\",\"dropped\":2}}");
	CHECK_INT(json_array_size(merged_events(&bench)), 0);
	CHECK(bench.merged.clocks_differ);
	json_t *other = json_object_get(bench.file, "otherData");

	CHECK(!json_object_get(other, "clock"));
	CHECK_INT(json_integer_value(json_object_get(other, "dropped")), 3);
	fini(&bench);
}

TEST(a_merged_file_can_be_merged_again)
{
	struct bench bench = { 0 }, again = { 0 };

	add(&bench, "{\"traceEvents\":[{\"ph\":\"M\",\"pid\":1}],\"otherData\":{\"dropped\":4}}");
	add(&bench, "[{\"ph\":\"M\",\"pid\":1}]");
	merged_events(&bench);
	add(&again, "[{\"ph\":\"M\",\"pid\":1}]");
	add_bytes(&again, bench.sink.text, bench.sink.length);
	json_t *events = merged_events(&again);

	CHECK_INT(json_integer_value(member(events, 0, "pid")), 1);
	CHECK_INT(json_integer_value(member(events, 1, "pid")), 4194305);
	CHECK_INT(json_integer_value(member(events, 2, "pid")), 4194306);
	CHECK_INT(json_integer_value(
			  json_object_get(json_object_get(again.file, "otherData"), "dropped")),
		  4);
	fini(&bench);
	fini(&again);
}

/* The format lets an array go without its end, as a program that died leaves it; readers forgive a last comma. */
TEST(unfinished_arrays_are_taken)
{
	const char *texts[] = { "[",
				"[{\"ph\":\"M\"}",
				"[{\"ph\":\"M\"},",
				"[{\"ph\":\"M\"},\n]",
				"[]",
				"{\"traceEvents\":[{\"ph\":\"M\"},],}" };
	size_t counts[] = { 0, 1, 1, 1, 0, 1 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct bench bench = { 0 };

		add(&bench, texts[i]);
		CHECK_INT(json_array_size(merged_events(&bench)), counts[i]);
		fini(&bench);
	}
}

TEST(what_is_not_a_trace_is_refused_with_its_place)
{
	struct {
		const char *text, *words;
	} cases[] = {
		{ "", "b.json: byte 0: the file is empty" },
		{ "  \n", "byte 3: the file is empty" },
		{ "hello", "byte 0: not a trace: expected '{' or '['" },
		{ "{}", "byte 2: the file has no \"traceEvents\"" },
		{ "{\"traceEvents\":{}}", "byte 15: \"traceEvents\" is not one array" },
		{ "{\"traceEvents\":[],\"traceEvents\":[]}",
		  "byte 32: \"traceEvents\" is not one" },
		{ "{\"traceEvents\":[", "the file ends before its '}'" },
		{ "{\"traceEvents\":[]", "byte 17: the file ends before its '}'" },
		{ "{\"traceEvents\"", "expected ':'" },
		{ "{\"traceEvents\":", "byte 15: the file ends before a value" },
		{ "{\"traceEvents\" []}", "byte 15: expected ':'" },
		{ "{traceEvents:[]}", "byte 1: expected a key in quotes" },
		{ "{\"a\":1 \"traceEvents\":[]}", "byte 7: expected ',' or '}'" },
		{ "{\"a\":nope,\"traceEvents\":[]}", "not valid JSON" },
		{ "{\"a\":1,\"a\":2,\"traceEvents\":[]}", "duplicate object key" },
		{ "{\"a\xFF\":1,\"traceEvents\":[]}", "not valid JSON" },
		{ "[] x", "byte 3: something follows the end" },
		{ "{\"traceEvents\":[]}{}", "byte 18: something follows the end" },
		{ "[{\"ph\":\"M\"}{\"ph\":\"M\"}]", "byte 11: expected ',' or ']'" },
		{ "[,]", "byte 1: ',' where a value should be" },
		{ "[{\"ph\":\"M\"},,]", "byte 12: ',' where a value should be" },
		{ "[1]", "byte 1: an event that is not an object" },
		{ "[\"a\"]", "an event that is not an object" },
		{ "[[]]", "an event that is not an object" },
		{ "[{\"ph\":\"M\",}]", "byte 12: not valid JSON" },
		{ "[{\"ph\":\"M\"]", "not valid JSON" },
		{ "[{\"ph\":\"M\"", "byte 1: the file ends within the value that begins here" },
		{ "[{\"ph\":\"M", "byte 1: the file ends within" },
		{ "[{}]", "byte 1: an event without a phase" },
		{ "[{\"ph\":7,\"ts\":1}]", "an event without a phase" },
		{ "[{\"ph\":\"MM\",\"ts\":1}]", "an event without a phase" },
		{ "[{\"ph\":\"B\"}]", "byte 1: an event without a time" },
		{ "[{\"ph\":\"B\",\"ts\":\"1\"}]", "an event without a time" },
		{ "[{\"ph\":\"M\",\"ts\":\"1\"}]", "an event without a time" },
		{ "[{\"ph\":\"M\",\"pid\":1.5}]", "\"pid\" is neither a whole number nor a text" },
		{ "[{\"ph\":\"M\",\"pid\":1e300}]", "\"pid\" is neither" },
		{ "[{\"ph\":\"M\",\"pid\":null}]", "\"pid\" is neither" },
		{ "[{\"ph\":\"M\",\"tid\":[]}]", "\"tid\" is neither" },
		{ "[{\"ph\":\"M\",\"pid\":1,\"pid\":2}]", "duplicate object key" },
		{ "[{\"ph\":\"M\",\"\\u0070id\":1}]", "\"pid\" is written with escapes" },
		{ "[{\"ph\":\"M\",\"ts\":1e999}]", "not valid JSON: real number overflow" },
		{ "[{\"ph\":\"M\",\"name\":\"\xC3\x28\"}]", "not valid JSON" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench = { 0 };
		struct strata_error err;

		add(&bench, "[{\"ph\":\"M\"}]");
		add(&bench, cases[i].text);
		CHECK_ERROR(merge(&bench, &err), -EBADMSG, cases[i].words);
		CHECK(strstr(err.text, "b.json: byte ") == err.text);
		CHECK_INT(bench.merged.event_count, 0);
		fini(&bench);
	}
}

TEST(numbers_that_only_others_understand_pass_through)
{
	struct bench bench = { 0 };
	struct strata_error err;

	add(&bench,
	    "[{\"ph\":\"M\",\"id\":18446744073709551615,\"pid\":-7,\"name\":\"a\\u0000b\"}]");
	CHECK_OK(merge(&bench, &err));
	CHECK(strstr(bench.sink.text,
		     "\"id\":18446744073709551615,\"pid\":-7,\"name\":\"a\\u0000b\"}"));
	fini(&bench);
}

/* An event whose name makes it `size` bytes long, in an array. */
static char *event_of(size_t size)
{
	char *text = malloc(size + 100);
	int length = text ? snprintf(text, 100, "[{\"ph\":\"M\",\"name\":\"") : 0;

	CHECK(text);
	memset(text + length, 'x', size - (size_t)length - 1);
	strcpy(text + size - 1, "\"}]");
	return text;
}

TEST(an_event_may_be_as_long_as_the_limit)
{
	struct bench bench = { 0 };
	struct strata_error err;
	char *text = event_of(STRATA_TRACE_EVENT_BYTES_MAX);

	add(&bench, text);
	CHECK_INT(json_array_size(merged_events(&bench)), 1);
	fini(&bench);
	free(text);
	text = event_of(STRATA_TRACE_EVENT_BYTES_MAX + 1);
	add(&bench, text);
	CHECK_ERROR(merge(&bench, &err), -E2BIG,
		    "a.json: byte 1: an event of more than 65536 bytes");
	fini(&bench);
	free(text);
}

TEST(members_past_the_limit_are_left_out_and_named)
{
	struct bench bench = { 0 };
	size_t size = STRATA_TRACE_OTHER_BYTES_MAX;
	char *text = malloc(2 * size);

	CHECK(text);
	for (size_t over = 0; over < 2; over++) {
		/* "a":"…" within the limit, counted with its key, colon and comma */
		size_t length = (size_t)sprintf(text, "{\"a\":\"");
		size_t fill = size - strlen("\"a\":,\"\"") + over;

		memset(text + length, 'x', fill);
		sprintf(text + length + fill, "\",\"b\":1,\"traceEvents\":[]}");
		add(&bench, text);
		merged_events(&bench);
		CHECK_INT(bench.merged.left_out_count, 1);
		CHECK_TEXT(json_string_value(json_array_get(
				   json_object_get(file_row(&bench, 0), "left_out"), 0)),
			   over ? "a" : "b");
		CHECK_INT(json_object_size(json_object_get(file_row(&bench, 0), "members")), 1);
		fini(&bench);
	}
	free(text);
}

TEST(keys_are_limited)
{
	struct bench bench = { 0 };
	struct strata_error err;
	char text[300];

	for (int over = 0; over < 2; over++) {
		sprintf(text, "{\"%0*d\":1,\"traceEvents\":[]}", STRATA_NAME_BYTES_MAX + over, 0);
		add(&bench, text);
		if (over)
			CHECK_ERROR(merge(&bench, &err), -EBADMSG, "a key that is too long");
		else
			CHECK_OK(merge(&bench, &err));
		fini(&bench);
	}
}

TEST(failing_ends_are_passed_on)
{
	struct bench bench = { 0 };
	struct strata_error err;
	char text[4000];

	add(&bench, "[");
	bench.readers[0].fail_code = -EIO;
	CHECK_ERROR(merge(&bench, &err), -EIO,
		    "a.json: byte 1: cannot be read: Input/output error");
	fini(&bench);

	sprintf(text, "[{\"ph\":\"M\",\"name\":\"%03000d\"}]", 0);
	for (size_t i = 0; i < FILES_MAX; i++)
		add(&bench, text);
	bench.sink.fail_at = 1;
	CHECK_ERROR(merge(&bench, &err), -ENOSPC, "could not be written");
	fini(&bench);
}

static ssize_t nothing(void *context, char *bytes, size_t room)
{
	(void)context, (void)bytes, (void)room;
	return 0;
}

TEST(files_are_limited)
{
	static struct strata_trace_input inputs[STRATA_TRACE_FILE_COUNT_MAX + 1];
	struct strata_memory memory = { 0 };
	struct strata_trace_sink sink = { 0 };
	struct strata_trace_merged merged;
	struct strata_error err;

	for (size_t i = 0; i <= STRATA_TRACE_FILE_COUNT_MAX; i++)
		inputs[i] = (struct strata_trace_input){ "x", nothing, NULL };
	CHECK_ERROR(strata_trace_merge(inputs, STRATA_TRACE_FILE_COUNT_MAX + 1, &memory, &sink,
				       &merged, &err),
		    -E2BIG, "4097 files to merge; expected at most 4096");
	CHECK_ERROR(strata_trace_merge(inputs, STRATA_TRACE_FILE_COUNT_MAX, &memory, &sink, &merged,
				       &err),
		    -EBADMSG, "empty");
}

/* A file that is made while it is read: memory must not grow with it. */
struct endless {
	uint64_t left;
	size_t used;
};

static ssize_t endless_read(void *context, char *bytes, size_t room)
{
	static const char event[] =
		"{\"ph\":\"i\",\"ts\":1.5,\"pid\":7,\"tid\":1,\"name\":\"x\"},\n";
	struct endless *endless = context;
	size_t count = 0;

	if (endless->used == 0 && room) {
		bytes[count++] = '[';
		endless->used = 1;
	}
	while (endless->left && room - count >= sizeof(event) - 1) {
		memcpy(bytes + count, event, sizeof(event) - 1);
		count += sizeof(event) - 1;
		endless->left--;
	}
	return (ssize_t)count;
}

static int drop(void *context, const char *bytes, size_t count)
{
	(void)bytes;
	*(uint64_t *)context += count;
	return 0;
}

static int count_calls(void *context, const char *bytes, size_t count)
{
	(void)bytes, (void)count;
	++*(uint64_t *)context;
	return 0;
}

static int no_room(void *context, const char *bytes, size_t count)
{
	(void)context, (void)bytes, (void)count;
	return -ENOSPC;
}

TEST(events_are_written_many_at_a_time_and_not_read_when_they_cannot_be)
{
	struct endless end = { 30000, 0 };
	struct strata_trace_input input = { "a", endless_read, &end };
	struct strata_memory memory = { 0 };
	uint64_t calls = 0;
	struct strata_trace_sink sink = { count_calls, &calls }, full = { no_room, NULL };
	struct strata_trace_merged merged;
	struct strata_error err;

	CHECK_OK(strata_trace_merge(&input, 1, &memory, &sink, &merged, &err));
	CHECK(calls < 3000);
	end = (struct endless){ 30000, 0 };
	CHECK_ERROR(strata_trace_merge(&input, 1, &memory, &full, &merged, &err), -ENOSPC,
		    "could not be written");
	CHECK(end.left > 20000);
}

TEST(memory_does_not_grow_with_the_files)
{
	uint64_t counts[] = { 100, 30000 };
	size_t peaks[2];

	for (int i = 0; i < 2; i++) {
		struct endless ends[2] = { { counts[i], 0 }, { counts[i], 0 } };
		struct strata_trace_input inputs[2] = { { "a", endless_read, &ends[0] },
							{ "b", endless_read, &ends[1] } };
		struct strata_memory memory = { 0 };
		uint64_t written = 0;
		struct strata_trace_sink sink = { drop, &written };
		struct strata_trace_merged merged;
		struct strata_error err;

		CHECK_OK(strata_trace_merge(inputs, 2, &memory, &sink, &merged, &err));
		CHECK_INT(merged.event_count, 2 * counts[i]);
		peaks[i] = memory.peak_bytes;
	}
	CHECK_INT(peaks[0], peaks[1]);
	CHECK(peaks[1] < 200000);
}

static int merge_two(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct trace_text collected = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &collected };
	struct strata_trace_merged merged;
	struct bench bench = { 0 };

	(void)context;
	add(&bench, "{\"otherData\":{\"clock\":\"a\"},\"traceEvents\":[" FLOW("s", "1", "1") "]}");
	add(&bench, "{\"traceEvents\":[" FLOW(
			    "s", "1", "1") ",{\"ph\":\"i\",\"ts\":1,\"pid\":\"x\"}],"
					   "\"otherData\":{\"clock\":\"a\"},\"b\":[1,2,3]}");
	int rc = strata_trace_merge(bench.inputs, bench.count, memory, &sink, &merged, err);

	test_result(collected.text, collected.length);
	trace_text_fini(&collected);
	return rc;
}

TEST(running_out_of_memory_is_reported_as_such)
{
	CHECK(test_every_allocation(merge_two, NULL) > 50);
}
