/* Lines of the log in every form, and how often the same may be said. */
#include "core/log.h"

#include "test.h"

#include <jansson.h>
#include <string.h>

static char text[LOG_LINE_BYTES + 1];

static const char *print(const struct log_line *line, enum log_form form, bool journal, size_t room)
{
	size_t length = log_format(line, form, journal, text, room);

	CHECK(length <= room);
	text[length] = '\0';
	return text;
}

static const struct log_line full = {
	.level = LOG_LEVEL_WARNING,
	.time_ns = INT64_C(1700000000123456789),
	.component = "supervisor",
	.job = 17,
	.attempt = 2,
	.request = 99,
	.text = "cannot write \"a b\"\n\x1b[1mx",
};

TEST(a_line_has_the_form_that_was_asked_for)
{
	CHECK_TEXT(print(&full, LOG_FORM_TEXT, false, LOG_LINE_BYTES),
		   "strata: job 17.2: cannot write \"a b\"\\n\\x1b[1mx\n");
	CHECK_TEXT(print(&full, LOG_FORM_LOGFMT, false, LOG_LINE_BYTES),
		   "time=2023-11-14T22:13:20.123Z level=warning component=supervisor job=17 "
		   "attempt=2 request=99 "
		   "msg=\"cannot write \\\"a b\\\"\\\\n\\\\x1b[1mx\"\n");
	CHECK_TEXT(print(&full, LOG_FORM_JSON, false, LOG_LINE_BYTES),
		   "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"warning\",\"component\":"
		   "\"supervisor\",\"job\":17,"
		   "\"attempt\":2,\"request\":99,\"msg\":\"cannot write \\\"a "
		   "b\\\"\\\\n\\\\x1b[1mx\"}\n");
}

TEST(what_a_line_is_not_about_is_not_in_it)
{
	struct log_line line = { .level = LOG_LEVEL_INFO, .component = "front", .text = "ready" };

	CHECK_TEXT(print(&line, LOG_FORM_TEXT, false, 256), "strata: ready\n");
	CHECK_TEXT(print(&line, LOG_FORM_LOGFMT, false, 256),
		   "time=1970-01-01T00:00:00Z level=info component=front msg=\"ready\"\n");
	line.job = 5;
	CHECK_TEXT(print(&line, LOG_FORM_TEXT, false, 256), "strata: job 5: ready\n");
}

TEST(the_journal_is_told_the_level)
{
	struct log_line line = { .level = LOG_LEVEL_ERROR, .component = "x", .text = "bad" };

	CHECK_TEXT(print(&line, LOG_FORM_TEXT, true, 256), "<3>strata: bad\n");
	line.level = LOG_LEVEL_DEBUG;
	CHECK_TEXT(print(&line, LOG_FORM_TEXT, true, 256), "<7>strata: bad\n");
}

TEST(a_long_line_is_cut_at_a_character_and_stays_valid)
{
	char long_text[3000];
	struct log_line line = full;

	for (size_t i = 0; i + 3 < sizeof(long_text); i += 3)
		memcpy(long_text + i, "€", 4);
	long_text[2997] = '\0';
	line.text = long_text;
	for (size_t room = 256; room < 300; room++) {
		print(&line, LOG_FORM_JSON, true, room);
		json_t *json = json_loads(strchr(text, '{'), 0, NULL);

		CHECK(json != NULL);
		const char *msg = json_string_value(json_object_get(json, "msg"));

		CHECK(msg && strncmp(msg, long_text, strlen(msg)) == 0 && strlen(msg) % 3 == 0);
		CHECK(strlen(text) > room - 5);
		json_decref(json);
	}
}

TEST(the_same_is_said_so_often_and_then_counted)
{
	struct log_limit limit = { 0 };
	uint64_t left_out;

	for (int i = 0; i < LOG_BURST; i++) {
		CHECK(log_limit_take(&limit, 1, i, &left_out));
		CHECK_INT(left_out, 0);
	}
	for (int i = 0; i < 7; i++)
		CHECK(!log_limit_take(&limit, 1, LOG_WINDOW_NS - 1, &left_out));
	CHECK(log_limit_take(&limit, 1, LOG_WINDOW_NS, &left_out));
	CHECK_INT(left_out, 7);
	CHECK(log_limit_take(&limit, 1, LOG_WINDOW_NS, &left_out));
	CHECK_INT(left_out, 0);
}

TEST(others_are_said_meanwhile)
{
	struct log_limit limit = { 0 };
	uint64_t left_out;

	for (int i = 0; i <= LOG_BURST; i++)
		log_limit_take(&limit, 1000, 0, &left_out);
	CHECK(!log_limit_take(&limit, 1000, 1, &left_out));
	for (uintptr_t key = 1; key < 1000; key++)
		CHECK(log_limit_take(&limit, key * 16, 1, &left_out) || key * 16 == 1000);
}
