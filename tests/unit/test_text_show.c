#include "test.h"

#include "core/buf.h"
#include "core/text.h"

#include <string.h>

static const struct {
	const char *text, *shown;
} hidden[] = {
	{ "a\033[31mb", "a\\x1b[31mb" },
	{ "bell\a", "bell\\a" },
	{ "two\nlines\r", "two\\nlines\\r" },
	{ "tab\there", "tab\\there" },
	{ "\x7f", "\\x7f" },
	{ "\xc2\x9b", "\\u009b" },     /* C1: a control sequence without ESC */
	{ "\xe2\x80\xae", "\\u202e" }, /* right to left */
	{ "\xe2\x81\xa6", "\\u2066" }, /* an isolate */
	{ "\xe2\x80\x8b", "\\u200b" }, /* no width */
	{ "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029" },
	{ "\xef\xbb\xbf", "\\ufeff" },
	{ "\xf3\xa0\x80\x81", "\\U000e0001" }, /* a tag */
	{ "a\xff", "a\\xff" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* half a pair */
	{ "\xc0\x80", "\\xc0\\x80" },          /* NUL, overlong */
};

TEST(what_can_be_seen_is_printable)
{
	static const char *const good[] = { "",  "train resnet|50", "größe", "日本語",
					    "😀", "e\xcc\x81",       "a\\b" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK_INT(text_printable(good[i], strlen(good[i])), strlen(good[i]));
}

TEST(what_cannot_is_escaped)
{
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		size_t length = strlen(hidden[i].text);

		CHECK(text_printable(hidden[i].text, length) < length);
		buf_reset(&buf);
		text_show(&buf, hidden[i].text, length);
		CHECK_TEXT(buf.text, hidden[i].shown);
		CHECK_INT(text_printable(buf.text, buf.length), buf.length);
	}
	buf_reset(&buf);
	text_show(&buf, "a\0b", 3);
	CHECK_TEXT(buf.text, "a\\x00b");
	buf_fini(&buf);
}

TEST(a_document_stays_what_it_is)
{
	static const struct {
		const char *json, *shown;
	} cases[] = {
		{ "{\n  \"a\": \"\\n é\"\n}", "{\n  \"a\": \"\\n é\"\n}" },
		{ "\"\x7f\xc2\x9b\xe2\x80\xae\"", "\"\\u007f\\u009b\\u202e\"" },
		{ "\"\xf3\xa0\x80\x81\"", "\"\\udb40\\udc01\"" },
		{ "", "" },
	};
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_reset(&buf);
		text_show_json(&buf, cases[i].json, strlen(cases[i].json));
		CHECK_TEXT(buf.text, cases[i].shown);
	}
	buf_fini(&buf);
}

/* Eight bytes are looked at together; each place in them counts. */
TEST(every_byte_is_looked_at)
{
	for (size_t at = 0; at < 24; at++)
		for (int c = 1; c < 256; c++) {
			char text[25] = "abcdefghijklmnopqrstuvwx";
			bool plain = c >= 0x20 && c < 0x7f;

			text[at] = (char)c;
			CHECK_INT(text_printable(text, 24), plain ? 24 : at);
		}
}

TEST(what_is_cut_ends_between_characters)
{
	char to[8];

	text_show_cut(to, sizeof(to), "abcdefé");
	CHECK_TEXT(to, "abcdef");
	text_show_cut(to, sizeof(to), "abcde\033");
	CHECK_TEXT(to, "abcde");
	text_show_cut(to, sizeof(to), "ab\xc3'c");
	CHECK_TEXT(to, "ab…'c");
	text_show_cut(to, sizeof(to), "\xe6\x97");
	CHECK_TEXT(to, "…");
	text_show_cut(to, sizeof(to), "\xff");
	CHECK_TEXT(to, "\\xff");
}
