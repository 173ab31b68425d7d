#include "test.h"

#include "formats/unicode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(characters_are_letters_numbers_and_white_space)
{
	CHECK(unicode_is_letter('a') && unicode_is_letter(0x65E5) && unicode_is_letter(0x10400));
	CHECK(!unicode_is_letter('1') && !unicode_is_letter(0x301) && !unicode_is_letter('_'));
	CHECK(unicode_is_number('7') && unicode_is_number(0xBD) && unicode_is_number(0x2163));
	CHECK(!unicode_is_number('a') && !unicode_is_number(0x1F98A));
	CHECK(unicode_is_space(' ') && unicode_is_space(0xA0) && unicode_is_space(0x3000));
	CHECK(unicode_is_space('\n') && unicode_is_space(0x2028) && !unicode_is_space(0x200B));
}

static uint32_t lower(uint32_t code)
{
	uint32_t codes[UNICODE_LOWER_MAX];

	CHECK_INT(unicode_lower(code, codes), 1);
	return codes[0];
}

TEST(letters_have_a_lower_case)
{
	uint32_t codes[UNICODE_LOWER_MAX];

	CHECK_INT(lower('Q'), 'q');
	CHECK_INT(lower('q'), 'q');
	CHECK_INT(lower(0xDC), 0xFC);
	CHECK_INT(lower(0x100), 0x101); /* every second one */
	CHECK_INT(lower(0x101), 0x101);
	CHECK_INT(lower(0x3A3), 0x3C3);
	CHECK_INT(lower(0x1E9E), 0xDF);
	CHECK_INT(lower(0x10400), 0x10428);
	CHECK_INT(unicode_lower(0x130, codes), 2);
	CHECK_INT(codes[0], 'i');
	CHECK_INT(codes[1], 0x307);
}

/* The composed form of UTF-8, as UTF-8. */
static const char *compose(const char *text)
{
	static char shown[256];
	struct strata_arena arena;
	uint32_t *codes;
	size_t count, at = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(unicode_decode(text, strlen(text), &arena, &codes, &count, &err));
	CHECK_OK(unicode_compose(codes, count, &arena, &codes, &count, &err));
	for (size_t i = 0; i < count; i++)
		at += unicode_encode(codes[i], shown + at);
	shown[at] = '\0';
	strata_arena_fini(&arena);
	return shown;
}

TEST(texts_are_composed)
{
	CHECK_TEXT(compose("plain"), "plain");
	CHECK_TEXT(compose("e\u0301"), "\u00e9");
	CHECK_TEXT(compose("\u00e9"), "\u00e9");
	CHECK_TEXT(compose("\u1112\u1161\u11ab"), "\ud55c"); /* Hangul is computed */
	CHECK_TEXT(compose("\ud55c"), "\ud55c");
	CHECK_TEXT(compose("\uac00\u11a8"), "\uac01");
	CHECK_TEXT(compose("a\u0315\u0300\u05ae\u0300b"), "\u00e0\u05ae\u0300\u0315b");
	CHECK_TEXT(compose("q\u0307\u0323"), "q\u0323\u0307"); /* put in order, not joined */
	CHECK_TEXT(compose("s\u0307\u0323"), "\u1e69");        /* in two rounds */
	CHECK_TEXT(compose("\u2126"), "\u03a9");               /* one for one */
	CHECK_TEXT(compose("\u0958"), "\u0915\u093c");         /* not joined again */
	CHECK_TEXT(compose("e\u0300\u0301"), "\u00e8\u0301"); /* the second is in the way of none */
	CHECK_TEXT(compose("\u0301e"), "\u0301e");
	CHECK_TEXT(compose(""), "");
}

TEST(what_is_not_utf8_is_refused)
{
	struct strata_arena arena;
	uint32_t *codes;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(unicode_decode("ab\xff", 3, &arena, &codes, &count, &err), -EINVAL, "byte 3");
	CHECK_ERROR(unicode_decode("\xe6\x97", 2, &arena, &codes, &count, &err), -EINVAL, "byte 1");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

/* The ends of all clusters of a text, as "2 3 5". */
static const char *clusters(const char *text)
{
	static char shown[128];
	struct strata_arena arena;
	uint32_t *codes;
	size_t count, at = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(unicode_decode(text, strlen(text), &arena, &codes, &count, &err));
	shown[0] = '\0';
	for (size_t end = 0; end < count;) {
		end = unicode_cluster_end(codes, count, end);
		at += (size_t)snprintf(shown + at, sizeof(shown) - at, "%s%zu", at ? " " : "", end);
	}
	strata_arena_fini(&arena);
	return shown;
}

TEST(clusters_are_what_a_reader_takes_for_characters)
{
	CHECK_TEXT(clusters(""), "");
	CHECK_TEXT(clusters("ab"), "1 2");
	CHECK_TEXT(clusters("e\u0301\u0323x"), "3 4");
	CHECK_TEXT(clusters("\r\n\n\r"), "2 3 4");
	CHECK_TEXT(clusters("\n\u0301"), "1 2"); /* nothing joins a control character */
	CHECK_TEXT(clusters("a\u200d\u200c"), "3");
	CHECK_TEXT(clusters("a\u00ad\u0301"), "1 2 3");
	CHECK_TEXT(clusters("\u0600\u0661x"), "2 3"); /* a sign before a number */
	CHECK_TEXT(clusters("\u0e01\u0e33"), "2");
	CHECK_TEXT(clusters("\u1100\u1161\u11a8\u1100"), "3 4");
	CHECK_TEXT(clusters("\uac00\u11a8\uac01\u11a8\u1161"), "2 4 5");
	CHECK_TEXT(clusters("\u1100\uac00\uac00"), "2 3");
	CHECK_TEXT(clusters("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1fa"), "2 4 5");
	CHECK_TEXT(clusters("\U0001f44d\U0001f3fd!"), "2 3");
}
