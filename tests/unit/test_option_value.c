#include "sample.h"

#include <strata/limits.h>

#include <stdlib.h>

static int parse(const char *name, const char *text, void *slot, struct strata_error *err)
{
	return option_parse(option_find(&sample_schema, name, strlen(name)), text, strlen(text),
			    &sample_arena, slot, err);
}

TEST(every_type_is_read_from_text)
{
	struct sample sample = sample_defaults();
	struct strata_error err;

	CHECK_OK(parse("on", "Yes", &sample.on, &err));
	CHECK(sample.on);
	CHECK_OK(parse("on", "0", &sample.on, &err));
	CHECK(!sample.on);
	CHECK_OK(parse("steps", "42", &sample.steps, &err));
	CHECK_INT(sample.steps, 42);
	CHECK_OK(parse("scale", "1.5e3", &sample.scale, &err));
	CHECK_NEAR(sample.scale, 1500, 0);
	CHECK_OK(parse("color", "RED", &sample.color, &err));
	CHECK_INT(sample.color, SAMPLE_RED);
	CHECK_OK(parse("title", "a, b: 'c'", &sample.title, &err));
	CHECK_TEXT(sample.title, "a, b: 'c'");
	CHECK_OK(parse("memory", "2GiB", &sample.memory_bytes, &err));
	CHECK_INT(sample.memory_bytes, 2LL << 30);
	CHECK_OK(parse("time_limit", "90", &sample.limit_ns, &err)); /* minutes: the row's unit */
	CHECK_INT(sample.limit_ns, 5400000000000);
	CHECK_OK(parse("time_limit", "unlimited", &sample.limit_ns, &err));
	CHECK_INT(sample.limit_ns, STRATA_DURATION_UNLIMITED);
	CHECK_OK(parse("grace", "2h30m", &sample.grace_ns, &err));
	CHECK_INT(sample.grace_ns, 9000000000000);
	CHECK_OK(parse("grace", "90", &sample.grace_ns, &err)); /* seconds when there is no unit */
	CHECK_INT(sample.grace_ns, 90000000000);
	CHECK_OK(parse("begin", "2026-03-01T00:00:00Z", &sample.begin_ns, &err));
	CHECK_INT(sample.begin_ns, 1772323200000000000);
	CHECK_OK(parse("sizes", "7,8,9", &sample.sizes, &err));
	CHECK_INT(sample.sizes.count, 3);
	CHECK_INT(((int64_t *)sample.sizes.items)[2], 9);
	CHECK_OK(parse("sizes", "", &sample.sizes, &err));
	CHECK_INT(sample.sizes.count, 0);
	CHECK_OK(parse("labels", "a=1,b='x,y',c=p\\=q", &sample.labels, &err));
	CHECK_INT(sample.labels.count, 3);
	CHECK_TEXT(((const char **)sample.labels.items)[1], "x,y");
	CHECK_TEXT(((const char **)sample.labels.items)[2], "p=q");
	CHECK_OK(parse("disk", "name=a:size=2k,name=b:fast", &sample.disks, &err));
	CHECK_INT(sample.disks.count, 2);
	struct sample_disk *disks = sample.disks.items;

	CHECK_INT(disks[0].size_bytes, 2048);
	CHECK_TEXT(disks[1].name, "b");
	CHECK(disks[1].fast && !disks[0].fast);
	CHECK_OK(parse("net", "url=http\\://x:timeout=1s", &sample.net, &err));
	CHECK_TEXT(sample.net.url, "http://x");
	CHECK_INT(sample.net.timeout_ns, 1000000000);
	CHECK_INT(sample.net.speed, 1000000);
}

TEST(bad_values_are_named_and_change_nothing)
{
	static const struct {
		const char *name, *text, *words;
	} cases[] = {
		{ "on", "maybe", "on is 'maybe'; expected true or false" },
		{ "on", "", "expected true or false" },
		{ "steps", "4x", "steps is '4x'; expected a whole number" },
		{ "steps", "", "expected a whole number" },
		{ "steps", "99999999999999999999", "expected a whole number" },
		{ "scale", "nan", "scale is 'nan'; expected a number" },
		{ "color", "gren", "did you mean 'green'?" },
		{ "color", "gren", "color is 'gren'; expected one of red or green" },
		{ "color", "0123456789012345678901234567890123456789012345678901234567890",
		  "color is '012345678901234567890123456789012345678901234567890123456789'; exp" },
		{ "memory", "2 potatoes", "expected a size such as 2GiB" },
		{ "grace", "unlimited", "grace is 'unlimited'; expected a duration" },
		{ "begin", "soon", "expected a time such as" },
		{ "sizes", "1,x", "'x'; expected a whole number" },
		{ "labels", "a", "'a' has no '='" },
		{ "labels", "a=1,a=2", "labels has the key 'a' twice" },
		{ "labels", "a='1", "a quote (') that is not closed" },
		{ "labels", "a=1\\", "ends in a lone backslash" },
		{ "disk", "size=1", "name is missing" },
		{ "disk", "name=a:speed=1", "disk has no option 'speed'" },
		{ "net", "timeout=61s", "timeout is 1m1s; expected at most 1m" },
	};
	struct sample sample = sample_defaults();
	struct strata_error err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct strata_option *option =
			option_find(&sample_schema, cases[i].name, strlen(cases[i].name));
		char slot[256], before[256];

		memcpy(slot, (char *)&sample + option->offset, option_size(option));
		memcpy(before, slot, sizeof(before));
		CHECK_ERROR(parse(cases[i].name, cases[i].text, slot, &err),
			    -EINVAL + (i == 19 ? EINVAL - ERANGE : 0), cases[i].words);
		CHECK_BYTES(slot, before, option_size(option));
	}
	CHECK_ERROR(parse("sizes", "1,2,3,4,5", &sample.sizes, &err), -ERANGE,
		    "sizes has more than 4 items");
	CHECK_ERROR(parse("sizes", "101", &sample.sizes, &err), -ERANGE,
		    "sizes is 101; expected 0 to 100");
	CHECK_TEXT(err.field, "sizes");
	CHECK_ERROR(option_parse(option_find(&sample_schema, "title", 5), "a\0b", 3, &sample_arena,
				 &sample.title, &err),
		    -EINVAL, "title has \\x00 at byte 2");
	CHECK_ERROR(parse("title", "\xff", &sample.title, &err), -EINVAL,
		    "title has \\xff at byte 1, which is not UTF-8");
}

TEST(a_text_is_printable_unless_its_row_says_otherwise)
{
	static const struct strata_option opaque = { "script", STRATA_TEXT,
						     .flags = STRATA_OPAQUE };
	static const struct strata_option opaque_item = { .type = STRATA_TEXT,
							  .flags = STRATA_OPAQUE };
	static const struct strata_option variables = { "environment", STRATA_MAP,
							.list = { &opaque_item } };
	static const char *const hidden[] = { "a\033[2J", "two\nrows",    "a\tb",
					      "\xc2\x9b", "\xe2\x80\xae", "\xe2\x80\xa8" };
	struct sample sample = sample_defaults();
	struct strata_error err;
	const char *text = NULL;
	struct strata_map map;

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		char pair[64];

		snprintf(pair, sizeof(pair), "%s=b", hidden[i]);
		CHECK_ERROR(parse("title", hidden[i], &sample.title, &err), -EINVAL,
			    "cannot be shown; expected printable characters");
		CHECK_TEXT(err.field, "title");
		CHECK_ERROR(parse("labels", pair, &sample.labels, &err), -EINVAL,
			    "cannot be shown");
		CHECK_OK(option_parse(&opaque, hidden[i], strlen(hidden[i]), &sample_arena, &text,
				      &err));
		CHECK_TEXT(text, hidden[i]);
		CHECK_OK(option_parse(&variables, pair, strlen(pair), &sample_arena, &map, &err));
	}
	CHECK_ERROR(option_parse(&opaque, "a\0b", 3, &sample_arena, &text, &err), -EINVAL, "NUL");
	CHECK_ERROR(option_parse(&opaque, "\xff", 1, &sample_arena, &text, &err), -EINVAL, "UTF-8");
}

TEST(what_is_out_of_an_open_range_says_what_was_expected)
{
	static const struct strata_option size = { "memory", STRATA_BYTES };
	static const struct strata_option time = { "begin", STRATA_TIME };
	int64_t minus = -1;
	struct strata_error err;

	CHECK_ERROR(option_check(&size, &minus, &err), -ERANGE, "expected a size such as 2GiB");
	CHECK_ERROR(option_check(&time, &minus, &err), -ERANGE, "expected a time such as");
}

static void check_round_trip(const struct sample *sample)
{
	struct strata_error err;
	struct buf first, second;
	struct sample again;

	CHECK_OK(strata_schema_defaults(&sample_schema, &sample_arena, &again, &err));
	buf_init(&first, &sample_memory, 0);
	buf_init(&second, &sample_memory, 0);
	for (const struct strata_option *option = sample_options; option->name; option++) {
		if (option->flags & STRATA_SECRET ||
		    (option->type == STRATA_TIME && !sample->begin_ns))
			continue;
		buf_reset(&first);
		buf_reset(&second);
		option_print(option, (const char *)sample + option->offset, &first);
		CHECK_OK(option_parse(option, first.text, first.length, &sample_arena,
				      (char *)&again + option->offset, &err));
		option_print(option, (char *)&again + option->offset, &second);
		CHECK_TEXT(second.text, first.text);
	}
	buf_fini(&first);
	buf_fini(&second);
}

TEST(what_is_printed_reads_back)
{
	struct sample sample = sample_defaults();
	struct strata_arena apart;
	struct strata_error err;

	check_round_trip(&sample);
	strata_arena_init(&apart, &sample_memory, 0);
	const char *json =
		"{\"title\": \"it's, \\\\: odd\", \"labels\": {\"k,=\": \"v:'\\\\\", \"\": \"\"}, "
		"\"scale\": 0.1,"
		"\"disk\": [{\"name\": \"a b\"}, {\"name\": \",:=\", \"size\": 12345}], "
		"\"time_limit\": 1.5,"
		"\"net\": {\"url\": \"http://h:1/?a=b,c\"}, \"begin\": \"2026-03-01T12:00:00.5Z\"}";

	CHECK_OK(
		strata_schema_read_json(&sample_schema, json, strlen(json), &apart, &sample, &err));
	check_round_trip(&sample);
	strata_arena_fini(&apart);
}

TEST(a_secret_is_never_printed)
{
	const char *secret = "hunter2";
	struct buf buf;

	buf_init(&buf, &sample_memory, 0);
	option_print(option_find(&sample_schema, "secret", 6), &secret, &buf);
	CHECK_TEXT(buf.text, "***");
	buf_fini(&buf);
}

TEST(a_list_grows_item_by_item_to_its_limit)
{
	const struct strata_option *sizes = option_find(&sample_schema, "sizes", 5);
	struct strata_list list = { 0 };
	struct strata_error err;

	sample_defaults();
	for (int64_t i = 0; i < 4; i++)
		CHECK_OK(option_append(sizes, NULL, &i, &sample_arena, &list, &err));
	CHECK_INT(((int64_t *)list.items)[3], 3);
	CHECK_ERROR(option_append(sizes, NULL, &(int64_t){ 4 }, &sample_arena, &list, &err),
		    -ERANGE, "more than 4");
	CHECK_INT(list.count, 4);
}

static int parse_all(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_arena arena;
	union {
		struct strata_map map;
		struct strata_list list;
	} slot = { 0 };

	(void)context;
	strata_arena_init(&arena, memory, 0);
	int rc = option_parse(option_find(&sample_schema, "labels", 6), "a=1,b=2,c=3", 11, &arena,
			      &slot, err);

	if (rc == 0)
		rc = option_parse(option_find(&sample_schema, "disk", 4), "name=a,name=b", 13,
				  &arena, &slot, err);
	strata_arena_fini(&arena);
	return rc;
}

TEST(reading_values_survives_lack_of_memory)
{
	CHECK(test_every_allocation(parse_all, NULL) > 10);
}
