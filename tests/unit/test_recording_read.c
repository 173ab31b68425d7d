#include "test.h"

#include "formats/recording.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

/* What is read and written again is the same text. */
static void check_same(const char *text)
{
	struct strata_arena arena;
	struct recording_line line;
	struct buf buf;

	strata_arena_init(&arena, &memory, 0);
	buf_init(&buf, &memory, 0);
	CHECK_OK(recording_read(text, strlen(text), &arena, &line, &err));
	recording_add(&buf, &line);
	buf.text[buf.length - 1] = '\0';
	CHECK_TEXT(buf.text, text);
	buf_fini(&buf);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_was_written_is_read)
{
	check_same("{\"event\":\"begin\",\"format\":1,\"order\":\"fair_share\",\"victims\":"
		   "\"least_lost:grace=5\",\"half_life_ns\":3}");
	check_same("{\"event\":\"add_node\",\"conf\":{\"name\":\"n1\",\"cpu_milli\":64000,"
		   "\"gpu_count\":2,\"gpu_type\":\"a100\",\"numa\":[0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,"
		   "255]}}");
	check_same("{\"event\":\"user\",\"name\":\"ann\",\"account\":\"lab\",\"weight\":"
		   "0.29999999999999999,\"limits\":{}}");
	check_same("{\"event\":\"submit\",\"now_ns\":9,\"request\":{\"id\":4611686018427387904,"
		   "\"user\":"
		   "\"ann\",\"band\":\"high\",\"tasks\":4294967295,\"held\":true,\"dependencies\":["
		   "{\"kind\":"
		   "\"afterok\",\"job\":3,\"array\":true},{\"kind\":\"after\",\"job\":4}]}}");
	check_same(
		"{\"event\":\"change\",\"now_ns\":1,\"job\":2,\"change\":{\"what\":2,\"priority\":"
		"-5}}");
	check_same("{\"event\":\"ended\",\"now_ns\":1,\"job\":-1,\"outcome\":\"stopped\"}");
	check_same("{\"event\":\"node\",\"node\":3,\"state\":\"down\"}");
	check_same("{\"event\":\"pass\",\"effects\":[{\"kind\":\"start\",\"job\":1},{\"kind\":"
		   "\"delete\",\"path\":\"/"
		   "x\"}],"
		   "\"digest\":5}");
}

static void check_refused(const char *text, const char *words)
{
	struct strata_arena arena;
	struct recording_line line = { .digest = 42 };

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(recording_read(text, strlen(text), &arena, &line, &err), -EINVAL, words);
	CHECK_INT(line.digest, 42);
	strata_arena_fini(&arena);
}

TEST(what_makes_no_sense_is_refused)
{
	check_refused("{\"event\":\"pa", "not valid JSON");
	check_refused("[]", "there is no event ''");
	check_refused("{\"event\":\"dance\"}", "there is no event 'dance'");
	check_refused("{\"event\":\"pass\",\"mood\":1}", "there is no member 'mood'");
	check_refused("{\"event\":\"pass\",\"now_ns\":\"1\"}", "now_ns is not a whole number");
	check_refused("{\"event\":\"pass\",\"now_ns\":-1}", "now_ns is not a number that fits");
	check_refused("{\"event\":\"node\",\"node\":4294967296}", "node is not a number that fits");
	check_refused("{\"event\":\"adopt\",\"pieces\":[{\"gpu_mask\":65536}]}",
		      "gpu_mask is not a number that fits");
	check_refused("{\"event\":\"node\",\"state\":\"tired\"}", "state is not one of its names");
	check_refused("{\"event\":\"user\",\"name\":1}", "name is not a text");
	check_refused("{\"event\":\"user\"}", "there is no name");
	check_refused("{\"event\":\"submit\",\"request\":{\"id\":1}}", "a submission has no user");
	check_refused("{\"event\":\"submit\",\"request\":{\"user\":\"a\",\"held\":1}}",
		      "held is not true or false");
	check_refused("{\"event\":\"add_node\",\"conf\":[]}", "conf is not an object");
	check_refused("{\"event\":\"add_node\",\"conf\":{\"name\":\"n\",\"numa\":[1]}}",
		      "numa is not a list of 16 numbers");
	check_refused("{\"event\":\"checkpoint\"}", "a checkpoint has no path");
	check_refused("{\"event\":\"pass\",\"effects\":{}}", "effects is not a list");
	check_refused("{\"event\":\"pass\",\"effects\":[1]}", "effects is not a list of objects");
	check_refused("{\"event\":\"usage\",\"name\":\"a\",\"gpu_hours\":\"1\"}",
		      "gpu_hours is not a number");
	check_refused("{\"event\":\"begin\",\"format\":2}", "the record's format is 2; expected 1");
}

static int read_one(struct strata_memory *own, void *context, struct strata_error *why)
{
	static const char text[] = "{\"event\":\"submit\",\"request\":{\"id\":1,\"user\":\"ann\","
				   "\"dependencies\":[{\"job\":4}]}}";
	struct strata_arena arena;
	struct recording_line line = { .digest = 42 };

	(void)context;
	strata_arena_init(&arena, own, 0);
	int rc = recording_read(text, sizeof(text) - 1, &arena, &line, why);

	CHECK(rc ? line.digest == 42 : line.event.request->dependencies[0].job == 4);
	strata_arena_fini(&arena);
	/* jansson takes lack of memory in a string for bad syntax */
	return rc == -EINVAL && strstr(why->text, "not valid JSON") ? strata_fail_memory(why) : rc;
}

TEST(lack_of_memory_is_said)
{
	test_every_allocation(read_one, NULL);
}
