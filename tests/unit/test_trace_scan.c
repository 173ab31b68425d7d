#include "test.h"
#include "trace_text.h"

#include "core/trace_merge_int.h"

#include <strata/limits.h>

#include <errno.h>

/* A source over a text, read `step` bytes at a time. */
struct bench {
	struct strata_memory memory;
	struct trace_reader reader;
	struct strata_trace_input input;
	struct trace_source source;
	struct buf text;
	char bytes[TRACE_SOURCE_BYTES];
};

static struct bench bench;

static void bench_init(const char *text, size_t length, size_t step)
{
	memset(&bench, 0, sizeof(bench));
	bench.reader = (struct trace_reader){ text, length, .step = step };
	bench.input = (struct strata_trace_input){ "a.json", trace_text_read, &bench.reader };
	bench.source = (struct trace_source){ .input = &bench.input, .bytes = bench.bytes };
	buf_init(&bench.text, &bench.memory, 0);
}

static int cut(size_t limit_bytes, bool *ret_fits, struct strata_error *err)
{
	int c = trace_source_peek(&bench.source, err);

	CHECK(c >= 0 && c < TRACE_SOURCE_END);
	return trace_source_cut(&bench.source, &bench.text, limit_bytes, ret_fits, err);
}

TEST(values_are_cut_whole_however_they_arrive)
{
	const char *values[] = { "{}",           "[]",    "12",
				 "-1.5e3",       "true",  "\"a\"",
				 "\"\\\"\\\\\"", "\"]\"", "{\"a\":[1,{\"b\":\"}\\\"\"}]}",
				 "[[],[[]]]",    "null" };
	struct strata_error err;
	char text[200] = "";

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		strcat(text, " \t\n\r");
		strcat(text, values[i]);
		strcat(text, i % 2 ? "," : " ,");
	}
	for (size_t step = 1; step < 40; step++) {
		bool fits;

		bench_init(text, strlen(text), step);
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			CHECK_OK(cut(100, &fits, &err));
			CHECK(fits);
			CHECK_TEXT(bench.text.text, values[i]);
			CHECK_INT(trace_source_peek(&bench.source, &err), ',');
			trace_source_skip(&bench.source);
		}
		CHECK_INT(trace_source_peek(&bench.source, &err), TRACE_SOURCE_END);
		CHECK_INT(bench.source.offset, strlen(text));
		buf_fini(&bench.text);
	}
}

TEST(a_value_longer_than_the_limit_is_passed_over)
{
	const char *text = "[1,2,3,\"]\"] 4";
	struct strata_error err;
	bool fits;

	for (size_t limit = 0; limit <= 12; limit++) {
		bench_init(text, strlen(text), 3);
		CHECK_OK(cut(limit, &fits, &err));
		CHECK_INT(fits, limit >= 11);
		CHECK_INT(bench.text.length, limit < 11 ? limit : 11);
		CHECK_OK(cut(1, &fits, &err));
		CHECK_TEXT(bench.text.text, "4");
		buf_fini(&bench.text);
	}
}

TEST(what_is_no_value_is_an_error_with_its_place)
{
	struct strata_error err;
	bool fits;

	bench_init("  ,", 3, 0);
	CHECK_ERROR(cut(9, &fits, &err), -EBADMSG, "a.json: byte 2: ',' where a value should be");
	bench_init(" ]", 2, 0);
	CHECK_ERROR(cut(9, &fits, &err), -EBADMSG, "byte 1: ']'");
	bench_init(" {\"a\":[1", 8, 2);
	CHECK_ERROR(cut(9, &fits, &err), -EBADMSG, "byte 1: the file ends within");
	buf_fini(&bench.text);
	bench_init("\"a\\\"", 4, 1);
	CHECK_ERROR(cut(9, &fits, &err), -EBADMSG, "byte 0: the file ends within");
	buf_fini(&bench.text);
	bench_init("{", 1, 1);
	bench.reader.fail_code = -EIO;
	CHECK_ERROR(cut(9, &fits, &err), -EIO,
		    "a.json: byte 1: cannot be read: Input/output error");
	buf_fini(&bench.text);
}

/* Reads a list of numbers; their sum, or the error. */
static int sum(const char *text, char closing, int *ret_sum, struct strata_error *err)
{
	bool more, fits;

	bench_init(text, strlen(text), 1);
	*ret_sum = 0;
	for (bool first = true;; first = false) {
		int rc = trace_source_next_item(&bench.source, closing, first, &more, err);

		if (rc == 0 && more)
			rc = cut(9, &fits, err);
		if (rc == 0 && more)
			*ret_sum += atoi(bench.text.text);
		if (rc < 0 || !more) {
			buf_fini(&bench.text);
			return rc;
		}
	}
}

TEST(items_are_told_apart_by_one_comma)
{
	struct strata_error err;
	int total;

	for (size_t i = 0; i < 5; i++) {
		const char *texts[] = { "]", "1,2,3]", " 1 , 2 , 3 , ] ", "1,2", "1,2," };
		const int want[] = { 0, 6, 6, 3, 3 };

		CHECK_OK(sum(texts[i], ']', &total, &err));
		CHECK_INT(total, want[i]);
	}
	CHECK_OK(sum("1,2}", '}', &total, &err));
	CHECK_ERROR(sum("1,2", '}', &total, &err), -EBADMSG,
		    "byte 3: the file ends before its '}'");
	CHECK_ERROR(sum("1 2]", ']', &total, &err), -EBADMSG, "byte 2: expected ',' or ']'");
	CHECK_ERROR(sum(",1]", ']', &total, &err), -EBADMSG, "byte 0: ','");
	CHECK_ERROR(sum("1,,2]", ']', &total, &err), -EBADMSG, "byte 2: ','");
	CHECK_ERROR(sum("1}", ']', &total, &err), -EBADMSG, "byte 1: expected ',' or ']'");
}

TEST(nesting_is_limited)
{
	char text[300];
	struct strata_error err;
	bool fits;

	memset(text, '[', STRATA_JSON_DEPTH_MAX);
	memset(text + STRATA_JSON_DEPTH_MAX, ']', STRATA_JSON_DEPTH_MAX);
	bench_init(text, 2 * STRATA_JSON_DEPTH_MAX, 0);
	CHECK_OK(cut(300, &fits, &err));
	buf_fini(&bench.text);
	memset(text, '{', sizeof(text));
	bench_init(text, sizeof(text), 0);
	CHECK_ERROR(cut(300, &fits, &err), -EBADMSG, "nested more than 64 deep");
	buf_fini(&bench.text);
}

TEST(members_are_found_where_they_are)
{
	struct {
		const char *text, *want;
	} cases[] = {
		{ "{\"pid\":12}", "12" },
		{ "{ \"a\" : {\"pid\":1} , \"pid\" : \"x,\\\"}\" , \"b\":[] }", "\"x,\\\"}\"" },
		{ "{\"apid\":1,\"pi\":2,\"pid\":-3.5e2 }", "-3.5e2" },
		{ "{\"args\":\"pid\",\"pid\":{\"pid\":1}}", "{\"pid\":1}" },
		{ "{}", NULL },
		{ "{ }", NULL },
		{ "{\"a\":\"pid\"}", NULL },
		{ "{\"\\u0070id\":1}", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t start = 0, end = 0;
		bool found = trace_find_member(cases[i].text, strlen(cases[i].text), "pid", &start,
					       &end);

		CHECK_INT(found, cases[i].want != NULL);
		if (found)
			CHECK(end - start == strlen(cases[i].want) &&
			      memcmp(cases[i].text + start, cases[i].want, end - start) == 0);
	}
}
