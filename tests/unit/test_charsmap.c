/* SentencePiece's map of characters: the one of the tests' tokenizer, and damaged ones. */
#include "test.h"

#include "formats/charsmap.h"
#include "formats/unicode.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

/* The base64 of the map of tests/data, made from rules that tests/python-torch/unigram_data.py lists. */
static char *base64_of_tests(void)
{
	char path[512], *data, *base64;

	snprintf(path, sizeof(path), "%s/pipelines/unigram/tokenizer.json", test_data_dir());
	data = test_read_file(path, NULL);
	json_t *json = json_loads(data, 0, NULL);

	base64 = strdup(json_string_value(
		json_object_get(json_object_get(json, "normalizer"), "precompiled_charsmap")));
	json_decref(json);
	free(data);
	return base64;
}

static const char *apply(const struct charsmap *map, const char *text)
{
	static char shown[256];
	struct strata_arena arena;
	uint32_t *codes;
	size_t count;
	struct buf buf;

	strata_arena_init(&arena, &memory, 0);
	buf_init(&buf, &memory, 0);
	CHECK_OK(unicode_decode(text, strlen(text), &arena, &codes, &count, &err));
	charsmap_apply(map, codes, count, &buf);
	snprintf(shown, sizeof(shown), "%s", buf.text);
	buf_fini(&buf);
	strata_arena_fini(&arena);
	return shown;
}

TEST(characters_become_what_the_map_says)
{
	char *base64 = base64_of_tests();
	struct strata_arena arena;
	struct charsmap map;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(charsmap_read(base64, strlen(base64), &arena, &map, &err));
	CHECK_TEXT(apply(&map, "plain"), "plain");
	CHECK_TEXT(apply(&map, ""), "");
	CHECK_TEXT(apply(&map, "a\tb\u3000c"), "a b c");
	CHECK_TEXT(apply(&map, "\ufb01x\ufb03"), "fixffi");
	CHECK_TEXT(apply(&map, "e\u0301"), "\u00e9");  /* two characters, one cluster */
	CHECK_TEXT(apply(&map, "\u200b-\u00ad"), "-"); /* become nothing */
	CHECK_TEXT(apply(&map, "\r\n"), " ");          /* one cluster: one blank */
	CHECK_TEXT(apply(&map, "\ufb01\u0301"), "fi"); /* five bytes: the accent goes */
	CHECK_TEXT(apply(&map, "\ufb01\u0301\u0301"), "fi\u0301\u0301"); /* seven: it stays */
	strata_arena_fini(&arena);
	free(base64);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_no_map_is_refused)
{
	static const char *const bad[] = {
		"",
		"AAA",          /* no whole group */
		"AA*A",         /* no digit */
		"AAAA",         /* three bytes: no size */
		"AAAAAA==",     /* an empty trie */
		"BQAAAAAAAAA=", /* a size that is no multiple of four */
		"CAAAAAAAAAA=", /* more than there is */
		"BAAAAAAAAAD/", /* texts that are not UTF-8 */
		"=AAA",
		"A===",
	};
	struct strata_arena arena;
	struct charsmap map;

	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERROR(charsmap_read(bad[i], strlen(bad[i]), &arena, &map, &err), -EBADMSG,
			    "precompiled_charsmap");
	CHECK_OK(charsmap_read("BAAAAAAAAABh", 12, &arena, &map, &err));
	CHECK_INT(map.unit_count, 1);
	CHECK_INT(map.text_bytes, 1);
	CHECK_TEXT(apply(&map, "abc"), "abc"); /* a trie that leads nowhere */
	strata_arena_fini(&arena);
}

TEST(a_damaged_trie_stays_inside)
{
	char *base64 = base64_of_tests();
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	for (size_t i = 8; i < strlen(base64) - 4; i += 3) {
		struct strata_arena arena;
		struct charsmap map;
		char kept = base64[i];

		base64[i] = digits[i * 7 % 62];
		strata_arena_init(&arena, &memory, 0);
		if (charsmap_read(base64, strlen(base64), &arena, &map, &err) == 0) {
			const char *text =
				apply(&map, "a\tb\u3000 e\u0301\ufb01\uff21\u200b\u00bd");

			CHECK(strlen(text) < 200);
		}
		strata_arena_fini(&arena);
		base64[i] = kept;
	}
	free(base64);
}

static int read_once(struct strata_memory *from, void *context, struct strata_error *why)
{
	struct strata_arena arena;
	struct charsmap map;

	strata_arena_init(&arena, from, 0);
	int rc = charsmap_read(context, strlen(context), &arena, &map, why);

	strata_arena_fini(&arena);
	return rc;
}

TEST(memory_may_run_out)
{
	char *base64 = base64_of_tests();

	test_every_allocation(read_once, base64);
	free(base64);
}
