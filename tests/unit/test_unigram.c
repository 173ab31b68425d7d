/* Unigram models: small ones by hand, and a whole tokenizer against the reference. */
#include "test.h"

#include "formats/unigram.h"

#include <strata/tokenizer.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

struct made {
	struct strata_arena arena;
	struct unigram unigram;
	int rc;
};

static struct made make(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	struct made it = { 0 };

	CHECK(json);
	strata_arena_init(&it.arena, &memory, 0);
	map_u64_init(&it.unigram.edges, &memory);
	it.rc = unigram_read(json, &it.arena, &it.unigram, &err);
	json_decref(json);
	return it;
}

static void drop(struct made *it)
{
	unigram_fini(&it->unigram);
	strata_arena_fini(&it->arena);
	CHECK_INT(memory.used_bytes, 0);
}

static const char *pieces(struct made *it, const char *word)
{
	static char shown[256];
	struct unigram_step steps[64];
	int64_t ids[64];
	size_t count = unigram_encode(&it->unigram, word, strlen(word), steps, ids), at = 0;

	shown[0] = '\0';
	for (size_t i = 0; i < count; i++)
		at += (size_t)snprintf(shown + at, sizeof(shown) - at, "%s%lld", i ? " " : "",
				       (long long)ids[i]);
	return shown;
}

TEST(the_greatest_sum_of_scores_wins)
{
	struct made it = make("{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],"
			      "[\"a\",-1],[\"b\",-1],[\"ab\",-1.5],[\"abc\",-9],[\"c\",-2],"
			      "[\"bc\",-1.25],[\"é\",-3]]}");

	CHECK_OK(it.rc);
	CHECK_TEXT(pieces(&it, ""), "");
	CHECK_TEXT(pieces(&it, "a"), "1");
	CHECK_TEXT(pieces(&it, "ab"), "3");
	CHECK_TEXT(pieces(&it, "abc"), "1 6"); /* -2.25: ab c is -3.5 */
	CHECK_TEXT(pieces(&it, "abab"), "3 3");
	CHECK_TEXT(pieces(&it, "éa"), "7 1");
	CHECK_INT(unigram_find(&it.unigram, "abc", 3), 4);
	CHECK_INT(unigram_find(&it.unigram, "abd", 3), -1);
	CHECK_INT(unigram_find(&it.unigram, "", 0), -1);
	drop(&it);
}

TEST(of_equal_sums_the_first_found_stays)
{
	struct made it = make("{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],"
			      "[\"a\",-1],[\"b\",-1],[\"ab\",-2]]}");

	CHECK_TEXT(pieces(&it, "ab"), "3");
	drop(&it);
}

TEST(unknown_characters_side_by_side_are_one_token)
{
	struct made it = make("{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",-1],"
			      "[\"<unk>\",0],[\"xyz\",-90]]}");

	CHECK_OK(it.rc);
	CHECK_TEXT(pieces(&it, "日本a語"), "1 0 1");
	CHECK_TEXT(pieces(&it, "xy"), "1");
	CHECK_TEXT(pieces(&it, "axyza"), "0 2 0");
	drop(&it);
	/* Three unknown ones cost less than the piece, which is found all the same. */
	it = make("{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"xyz\",-1000],[\"<unk>\",0],"
		  "[\"xyzw\",-5000]]}");
	CHECK_TEXT(pieces(&it, "xyz"), "0");
	drop(&it);
}

static void refused(const char *text, int code, const char *words)
{
	struct made it = make(text);

	CHECK_ERROR(it.rc, code, words);
	drop(&it);
}

TEST(what_is_no_model_is_refused)
{
	refused("{\"type\":\"BPE\"}", -ENOTSUP, "the tokenizer's model is BPE; expected Unigram");
	refused("{}", -ENOTSUP, "of no type");
	refused("{\"type\":\"Unigram\",\"unk_id\":0}", -EBADMSG, "not a list of pieces");
	refused("{\"type\":\"Unigram\",\"vocab\":[[\"a\",1]]}", -EBADMSG, "unk_id");
	refused("{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",1]]}", -EBADMSG, "unk_id");
	refused("{\"type\":\"Unigram\",\"unk_id\":-1,\"vocab\":[[\"a\",1]]}", -EBADMSG, "unk_id");
	refused("{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",1],[\"b\"]]}", -EBADMSG,
		"piece 1 of the vocabulary is not [\"text\", score]");
	refused("{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"a\",1]]}",
		-ENOTSUP, "byte_fallback");
}

TEST(pieces_have_a_longest)
{
	char *text = malloc(2 * STRATA_TOKENIZER_TOKEN_BYTES_MAX);

	CHECK(text);
	for (int more = 0; more < 2; more++) {
		int at = sprintf(text, "{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"");

		memset(text + at, 'a', STRATA_TOKENIZER_TOKEN_BYTES_MAX + more);
		strcpy(text + at + STRATA_TOKENIZER_TOKEN_BYTES_MAX + more, "\",1]]}");
		struct made it = make(text);

		CHECK_INT(it.rc, more ? -E2BIG : 0);
		drop(&it);
	}
	free(text);
}

/* ---- a whole tokenizer ---- */

static char *read_part(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/pipelines/unigram/%s", test_data_dir(), name);
	return test_read_file(path, NULL);
}

static int open_whole(struct strata_memory *from, struct strata_tokenizer **ret_tokenizer,
		      struct strata_error *why)
{
	char *json = read_part("tokenizer.json"), *config = read_part("tokenizer_config.json");
	const struct strata_tokenizer_files files = { .json = json,
						      .json_length = STRATA_TEXT_NUL,
						      .config = config,
						      .config_length = STRATA_TEXT_NUL };
	int rc = strata_tokenizer_new(&files, from, ret_tokenizer, why);

	free(json);
	free(config);
	return rc;
}

TEST(ids_are_those_of_transformers)
{
	struct strata_tokenizer *tokenizer;
	char *text = read_part("cases.json");
	json_t *cases = json_loads(text, 0, NULL);
	struct strata_arena arena;

	CHECK_OK(open_whole(&memory, &tokenizer, &err));
	CHECK(json_array_size(cases) >= 150);
	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < json_array_size(cases); i++) {
		const json_t *one = json_array_get(cases, i), *want = json_object_get(one, "ids");
		const json_t *words = json_object_get(one, "text");
		size_t count;
		int64_t *ids;

		CHECK_OK(strata_tokenizer_encode(tokenizer, json_string_value(words),
						 json_string_length(words), &arena, &ids, &count,
						 &err));
		CHECK_INT(count, json_array_size(want));
		for (size_t k = 0; k < count; k++)
			if (ids[k] != json_integer_value(json_array_get(want, k)))
				test_fail(__FILE__, __LINE__, "token %zu of \"%s\" is %lld", k,
					  json_string_value(words), (long long)ids[k]);
	}
	json_decref(cases);
	free(text);
	strata_tokenizer_free(tokenizer);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(prompts_end_and_are_filled_up)
{
	struct strata_tokenizer *tokenizer;
	struct strata_arena arena;
	int64_t ids[6], *all;
	size_t count, length;
	char *back;

	CHECK_OK(open_whole(&memory, &tokenizer, &err));
	strata_arena_init(&arena, &memory, 0);
	CHECK_INT(strata_tokenizer_start(tokenizer), -1);
	CHECK_INT(strata_tokenizer_end(tokenizer), 1);
	CHECK_INT(strata_tokenizer_pad(tokenizer), 0);
	CHECK_INT(strata_tokenizer_longest(tokenizer), 512);
	CHECK_OK(strata_tokenizer_prompt(tokenizer, "a red bicycle", STRATA_TEXT_NUL, 6, &arena,
					 ids, &err));
	CHECK(ids[2] > 2 && ids[3] == 1 && ids[4] == 0 && ids[5] == 0);
	CHECK_OK(strata_tokenizer_prompt(tokenizer, "a red bicycle", STRATA_TEXT_NUL, 3, &arena,
					 ids, &err));
	CHECK(ids[1] > 2 && ids[2] == 1);
	CHECK_OK(strata_tokenizer_encode(tokenizer, "  a red\n bicycle ", STRATA_TEXT_NUL, &arena,
					 &all, &count, &err));
	CHECK_OK(strata_tokenizer_decode(tokenizer, all, count, &arena, &back, &length, &err));
	CHECK_TEXT(back, "a red bicycle");
	CHECK_ERROR(strata_tokenizer_decode(tokenizer, (int64_t[]){ 1 << 20 }, 1, &arena, &back,
					    &length, &err),
		    -EINVAL, "no token");
	strata_tokenizer_free(tokenizer);
	strata_arena_fini(&arena);
}

/* jansson calls some failed allocations bad syntax: the text is parsed before. */
static int read_once(struct strata_memory *from, void *context, struct strata_error *why)
{
	struct unigram unigram = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, from, 0);
	map_u64_init(&unigram.edges, from);
	int rc = unigram_read(context, &arena, &unigram, why);

	if (rc == 0)
		CHECK_INT(unigram_find(&unigram, "ab", 2), 2);
	unigram_fini(&unigram);
	strata_arena_fini(&arena);
	return rc;
}

TEST(memory_may_run_out)
{
	json_t *model = json_loads("{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],"
				   "[\"a\",-1],[\"ab\",-2]]}",
				   0, NULL);

	test_every_allocation(read_once, model);
	json_decref(model);
}

static int encode_once(struct strata_memory *from, void *context, struct strata_error *why)
{
	struct strata_arena arena;
	int64_t *ids;
	size_t count;

	strata_arena_init(&arena, from, 0);
	int rc = strata_tokenizer_encode(context, "a red caf\u00e9</s> \ufb01ne  x",
					 STRATA_TEXT_NUL, &arena, &ids, &count, why);

	if (rc == 0)
		CHECK(count > 5);
	strata_arena_fini(&arena);
	return rc;
}

TEST(memory_may_run_out_on_a_text)
{
	struct strata_tokenizer *tokenizer;

	CHECK_OK(open_whole(&memory, &tokenizer, &err));
	test_every_allocation(encode_once, tokenizer);
	strata_tokenizer_free(tokenizer);
}
