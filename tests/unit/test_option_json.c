#include "sample.h"

#include <strata/limits.h>

#include <math.h>
#include <stdlib.h>

static int read_json(const char *json, struct sample *sample, struct strata_error *err)
{
	return strata_schema_read_json(&sample_schema, json, strlen(json), &sample_arena, sample,
				       err);
}

TEST(a_document_fills_every_type)
{
	struct sample sample = sample_defaults();
	struct strata_error err;
	const char *json =
		"{\"on\": true, \"loud\": false, \"num_steps\": 5, \"any\": -3, \"scale\": 2, "
		"\"color\": \"red\","
		"\"title\": \"x\", \"memory\": 1048576, \"time_limit\": 1.5, \"grace\": \"10:00\","
		"\"begin\": \"2026-03-01\", \"sizes\": [5, 6, 7], \"labels\": {\"b\": \"2\", "
		"\"a\": \"1\"},"
		"\"disk\": [{\"name\": \"d0\"}, {\"name\": \"d1\", \"size\": \"1G\"}],"
		"\"weights\": {}, \"net\": {\"timeout\": 2}}";

	CHECK_OK(read_json(json, &sample, &err));
	CHECK(sample.on && !sample.loud);
	CHECK_INT(sample.steps, 5);
	CHECK_NEAR(sample.scale, 2, 0);
	CHECK_INT(sample.memory_bytes, 1048576);
	CHECK_INT(sample.limit_ns, 90000000000); /* 1.5 of its unit, minutes */
	CHECK_INT(sample.grace_ns, 600000000000);
	CHECK_INT(sample.begin_ns, 1772323200000000000);
	CHECK_INT(sample.sizes.count, 3);
	CHECK_TEXT(sample.labels.keys[0], "b");
	CHECK_TEXT(((const char **)sample.labels.items)[1], "1");
	struct sample_disk *disks = sample.disks.items;

	CHECK_INT(sample.disks.count, 2);
	CHECK_INT(disks[0].size_bytes, 1 << 20); /* its default */
	CHECK_INT(disks[1].size_bytes, 1 << 30);
	CHECK_INT(sample.weights.count, 0);
	CHECK_INT(sample.net.timeout_ns, 2000000000);
	CHECK_INT(sample.net.speed, 1000000);
}

TEST(null_means_the_default)
{
	struct sample sample = sample_defaults();
	struct strata_error err;

	sample.steps = 999;
	CHECK_OK(read_json("{\"steps\": null, \"title\": null}", &sample, &err));
	CHECK_INT(sample.steps, 20);
	CHECK_TEXT(sample.title, "untitled");
}

TEST(errors_name_the_field_and_change_nothing)
{
	static const struct {
		const char *json, *field, *words;
		int code;
	} cases[] = {
		{ "{\"stepz\": 1}", "stepz", "did you mean 'steps'?", -EINVAL },
		{ "{\"steps\": 1, \"steps\": 2}", "",
		  "not valid JSON: line 1, column 20: duplicate object key", -EINVAL },
		{ "{\"steps\": 1, \"num_steps\": 2}", "steps", "given twice", -EINVAL },
		{ "{\"steps\": \"1\"}", "steps", "steps is a string; expected a whole number",
		  -EINVAL },
		{ "{\"steps\": 1.5}", "steps", "steps is 1.5; expected a whole number", -EINVAL },
		{ "{\"steps\": 0}", "steps", "steps is 0; expected 1 to 1000", -ERANGE },
		{ "{\"steps\": 1e999}", "", "not valid JSON", -EINVAL },
		{ "{\"on\": 1}", "on", "on is a number; expected true or false", -EINVAL },
		{ "{\"title\": 1}", "title", "expected a text", -EINVAL },
		{ "{\"title\": \"a\\u0000b\"}", "", "not valid JSON", -EINVAL },
		{ "{\"time_limit\": 1e300}", "time_limit", "expected a duration", -EINVAL },
		{ "{\"time_limit\": 999999999999999999}", "time_limit", "expected a duration",
		  -EINVAL },
		{ "{\"sizes\": 1}", "sizes", "sizes is a number; expected a list", -EINVAL },
		{ "{\"sizes\": [1, 101]}", "sizes[1]", "value is 101; expected 0 to 100", -ERANGE },
		{ "{\"sizes\": [1, 2, 3, 4, 5]}", "sizes", "sizes has 5 items; expected at most 4",
		  -ERANGE },
		{ "{\"disk\": [{}]}", "disk[0].name", "name is missing", -EINVAL },
		{ "{\"disk\": [null]}", "disk[0]", "is null; expected a table", -EINVAL },
		{ "{\"sizes\": [1, null]}", "sizes[1]", "is null; expected a whole number",
		  -EINVAL },
		{ "{\"labels\": {\"a\": null}}", "labels.a", "is null; expected a text", -EINVAL },
		{ "{\"disk\": [{\"name\": null}]}", "disk[0].name", "name is missing", -EINVAL },
		{ "{\"disk\": [{\"name\": \"a\"}, 5]}", "disk[1]", "expected a table", -EINVAL },
		{ "{\"disk\": [{\"name\": \"123456789\"}]}", "disk[0].name", "expected at most 8",
		  -ERANGE },
		{ "{\"weights\": {\"x\": 11}}", "weights.x", "expected 0 to 10", -ERANGE },
		{ "{\"weights\": {\"x\": 1, \"y\": 1, \"z\": 1}}", "weights", "at most 2",
		  -ERANGE },
		{ "{\"net\": {\"timeout\": 61}}", "net.timeout", "expected at most 1m", -ERANGE },
		{ "{\"net\": {\"port\": 61}}", "net.port", "net has no option 'port'", -EINVAL },
		{ "[]", "", "sample is an array; expected an object", -EINVAL },
		{ "{} x", "", "not valid JSON", -EINVAL },
		{ "", "", "not valid JSON", -EINVAL },
	};
	struct sample sample = sample_defaults(), before = sample;
	struct strata_error err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_ERROR(read_json(cases[i].json, &sample, &err), cases[i].code, cases[i].words);
		CHECK_TEXT(err.field, cases[i].field);
	}
	CHECK_BYTES(&sample, &before, sizeof(sample));
}

TEST(depth_is_limited)
{
	char json[2 * STRATA_JSON_DEPTH_MAX + 8] = "";
	struct strata_error err;
	json_t *value;

	memset(json, '[', STRATA_JSON_DEPTH_MAX);
	memset(json + STRATA_JSON_DEPTH_MAX, ']', STRATA_JSON_DEPTH_MAX);
	CHECK_OK(option_load_json(json, 2 * STRATA_JSON_DEPTH_MAX, &value, &err));
	json_decref(value);
	memset(json, '[', STRATA_JSON_DEPTH_MAX + 1);
	memset(json + STRATA_JSON_DEPTH_MAX + 1, ']', STRATA_JSON_DEPTH_MAX + 1);
	CHECK_ERROR(option_load_json(json, 2 * STRATA_JSON_DEPTH_MAX + 2, &value, &err), -EINVAL,
		    "nested too deeply");
	CHECK_OK(option_load_json("\"[[[\\\"[[[\"", 10, &value, &err));
	json_decref(value);
	CHECK_ERROR(option_load_json(json, (size_t)STRATA_JSON_BYTES_MAX + 1, &value, &err), -E2BIG,
		    "bytes long");
}

TEST(a_partial_document_may_leave_out_what_is_required)
{
	struct sample_disk disk = { 0 };
	struct strata_error err;
	json_t *json = json_pack("{s:b}", "fast", 1);

	sample_defaults();
	CHECK_ERROR(option_read_json(&sample_disk_schema, json, 0, &sample_arena, &disk, &err),
		    -EINVAL, "name is missing");
	CHECK_OK(option_read_json(&sample_disk_schema, json, OPTION_PARTIAL, &sample_arena, &disk,
				  &err));
	CHECK(disk.fast);
	json_decref(json);
}

TEST(what_is_written_reads_back)
{
	struct sample sample = sample_defaults(), again;
	struct strata_error err;
	const char *first, *second;

	CHECK_OK(read_json("{\"scale\": 0.1, \"grace\": 0.25, \"labels\": {\"k\": \"v\"}, "
			   "\"disk\": [{\"name\": \"d\"}],"
			   "\"begin\": \"2026-03-01T12:00:00Z\", \"net\": {\"url\": \"u\"}}",
			   &sample, &err));
	CHECK_OK(strata_schema_write_json(&sample_schema, &sample, &sample_arena, &first, &err));
	CHECK_TEXT(first, "{\"on\":false,\"loud\":true,\"steps\":20,\"any\":0,\"scale\":0."
			  "10000000000000001,\"color\":\"green\","
			  "\"title\":\"untitled\",\"secret\":\"***\",\"memory\":1073741824,\"time_"
			  "limit\":\"unlimited\",\"grace\":0.25,"
			  "\"begin\":\"2026-03-01T12:00:00Z\",\"sizes\":[1,2],\"disk\":[{\"name\":"
			  "\"d\",\"size\":1048576,"
			  "\"fast\":false}],\"labels\":{\"k\":\"v\"},\"weights\":{\"a\":2.0},"
			  "\"net\":{\"url\":\"u\",\"timeout\":5,"
			  "\"speed\":1000000}}");
	CHECK_OK(strata_schema_defaults(&sample_schema, &sample_arena, &again, &err));
	CHECK_OK(read_json(first, &again, &err));
	CHECK_OK(strata_schema_write_json(&sample_schema, &again, &sample_arena, &second, &err));
	CHECK_TEXT(second, first);
}

TEST(infinity_is_a_text_where_the_range_allows_it)
{
	static const struct strata_option rows[] = {
		{ "low", STRATA_REAL, 0, .real = { -INFINITY, -INFINITY, 0 } }, { 0 }
	};
	static const struct strata_schema schema = { "lows", NULL, sizeof(double), rows };
	struct strata_error err;
	double low = 1;
	const char *json;

	sample_defaults();
	CHECK_OK(strata_schema_read_json(&schema, "{\"low\": \"-inf\"}", 15, &sample_arena, &low,
					 &err));
	CHECK(isinf(low) && low < 0);
	CHECK_OK(strata_schema_write_json(&schema, &low, &sample_arena, &json, &err));
	CHECK_TEXT(json, "{\"low\":\"-inf\"}");
	CHECK_ERROR(strata_schema_read_json(&schema, "{\"low\": \"inf\"}", 14, &sample_arena, &low,
					    &err),
		    -ERANGE, "expected at most 0");
}

static int round_trip(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_arena arena;
	struct sample sample;
	const char *json;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_schema_defaults(&sample_schema, &arena, &sample, err);

	if (rc == 0)
		rc = option_read_json(&sample_schema, context, 0, &arena, &sample, err);
	if (rc == 0)
		rc = strata_schema_write_json(&sample_schema, &sample, &arena, &json, err);
	strata_arena_fini(&arena);
	return rc;
}

TEST(reading_and_writing_survive_lack_of_memory)
{
	const char *text = "{\"labels\": {\"a\": \"b\"}, \"disk\": [{\"name\": \"d\"}], \"sizes\": "
			   "[1], \"title\": \"x\"}";
	struct strata_error err;
	json_t *json;

	CHECK_OK(option_load_json(text, strlen(text), &json, &err));
	CHECK(test_every_allocation(round_trip, json) > 40);
	json_decref(json);
}

static int load(struct strata_memory *memory, void *context, struct strata_error *err)
{
	const char *text = "{\"a\": [\"b\", 1, {}]}";
	json_t *json = NULL;
	int rc = option_load_json(text, strlen(text), &json, err);

	(void)memory, (void)context;
	json_decref(json);
	return rc == -EINVAL ? strata_fail_memory(err)
			     : rc; /* jansson takes lack of memory in a string for bad syntax */
}

TEST(loading_without_memory_fails_and_loses_nothing)
{
	CHECK(test_every_allocation(load, NULL) > 5);
}

TEST(what_is_missing_in_a_text_is_named_last)
{
	static const char text[] = "{\"path\" \"99999999999999999999\"}";
	struct strata_error err = { 0 };
	json_t *json;

	CHECK_ERROR(option_load_json(text, sizeof(text) - 1, &json, &err), -EINVAL, "expected ':'");
}
