#include "test.h"

#include "core/option.h"
#include "core/option_copy.h"

#include <stdlib.h>
#include <string.h>

struct inner {
	const char *word;
	int64_t number;
};

struct outer {
	bool yes;
	const char *text, *none;
	struct strata_list numbers, words;
	struct strata_map map;
	struct inner inner;
};

static const struct strata_option inner_options[] = {
	{ "word", STRATA_TEXT, offsetof(struct inner, word) },
	{ "number", STRATA_INT, offsetof(struct inner, number) },
	{ 0 }
};
static const struct strata_schema inner_schema = { "inner", NULL, sizeof(struct inner),
						   inner_options };
static const struct strata_option number_item = { .type = STRATA_INT };
static const struct strata_option word_item = { .type = STRATA_TEXT };
static const struct strata_option outer_options[] = {
	{ "yes", STRATA_BOOL, offsetof(struct outer, yes) },
	{ "text", STRATA_TEXT, offsetof(struct outer, text) },
	{ "none", STRATA_TEXT, offsetof(struct outer, none) },
	{ "numbers", STRATA_LIST, offsetof(struct outer, numbers), .list = { &number_item } },
	{ "words", STRATA_LIST, offsetof(struct outer, words), .list = { &word_item } },
	{ "map", STRATA_MAP, offsetof(struct outer, map), .list = { &word_item } },
	{ "inner", STRATA_TABLE, offsetof(struct outer, inner), .table = &inner_schema },
	{ 0 }
};
static const struct strata_schema outer_schema = { "outer", NULL, sizeof(struct outer),
						   outer_options };

static bool is_inside(const void *at, const void *block, size_t bytes)
{
	return (const char *)at >= (const char *)block &&
	       (const char *)at < (const char *)block + bytes;
}

TEST(a_copy_stands_by_itself)
{
	static const char json[] = "{\"yes\":true,\"text\":\"apple\",\"numbers\":[1,2,3],"
				   "\"words\":[\"a\",\"bc\"],\"map\":{\"k\":\"v\",\"l\":\"w\"},"
				   "\"inner\":{\"word\":\"deep\",\"number\":7}}";
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	struct outer conf;
	const char *before, *after;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_schema_defaults(&outer_schema, &arena, &conf, &err));
	CHECK_OK(strata_schema_read_json(&outer_schema, json, strlen(json), &arena, &conf, &err));
	CHECK_OK(strata_schema_write_json(&outer_schema, &conf, &arena, &before, &err));
	size_t bytes = option_copy_bytes(&outer_schema, &conf);
	char *kept = strdup(before);
	struct outer *copy = malloc(bytes);

	CHECK_INT(bytes % 16, 0);
	option_copy(&outer_schema, &conf, copy);
	memset(&conf, 0xff, sizeof(conf));
	strata_arena_fini(&arena); /* what was read is gone */
	CHECK_OK(strata_schema_write_json(&outer_schema, copy, &arena, &after, &err));
	CHECK_TEXT(after, kept);
	CHECK(!copy->none);
	const char *const *words = copy->words.items, *const *values = copy->map.items;

	CHECK(is_inside(copy->text, copy, bytes) && is_inside(copy->inner.word, copy, bytes));
	CHECK(is_inside(copy->numbers.items, copy, bytes) && is_inside(words, copy, bytes));
	CHECK(is_inside(words[1], copy, bytes) && is_inside(values[1], copy, bytes));
	CHECK(is_inside(copy->map.keys, copy, bytes) && is_inside(copy->map.keys[1], copy, bytes));
	strata_arena_fini(&arena);
	free(copy);
	free(kept);
}

TEST(no_options_take_no_room)
{
	static const struct strata_schema empty = { "empty", NULL, 0, NULL };

	CHECK_INT(option_copy_bytes(&empty, NULL), 0);
	option_copy(&empty, NULL, NULL);
}
