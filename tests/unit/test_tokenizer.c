#include "test.h"

#include <strata/tokenizer.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 77 };

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static char *read_part(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/pipelines/%s", test_data_dir(), name);
	return test_read_file(path, NULL);
}

/* CLIP's, of the small pipeline that has 1,214 tokens. */
static struct strata_tokenizer *open_clip(void)
{
	struct strata_tokenizer_files files = { .vocab_length = STRATA_TEXT_NUL,
						.merges_length = STRATA_TEXT_NUL,
						.config_length = STRATA_TEXT_NUL,
						.specials_length = STRATA_TEXT_NUL };
	char *vocab = read_part("tokenizer/vocab.json"),
	     *merges = read_part("tokenizer/merges.txt");
	char *config = read_part("tokenizer/tokenizer_config.json");
	char *specials = read_part("tokenizer/special_tokens_map.json");
	struct strata_tokenizer *tokenizer = NULL;

	files.vocab = vocab;
	files.merges = merges;
	files.config = config;
	files.specials = specials;
	CHECK_OK(strata_tokenizer_new(&files, &memory, &tokenizer, &err));
	free(vocab), free(merges), free(config), free(specials);
	return tokenizer;
}

TEST(ids_are_those_of_the_reference)
{
	struct strata_tokenizer *tokenizer = open_clip();
	char *text = read_part("tokens.json");
	json_t *cases = json_loads(text, 0, NULL);
	size_t count = json_array_size(cases);

	CHECK(count >= 48);
	strata_arena_init(&arena, &memory, 0);
	CHECK_INT(strata_tokenizer_longest(tokenizer), ROOM);
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_array_get(cases, i), *want = json_object_get(one, "ids");
		const char *prompt = json_string_value(json_object_get(one, "text"));
		int64_t ids[ROOM];

		CHECK_OK(strata_tokenizer_prompt(tokenizer, prompt, STRATA_TEXT_NUL, ROOM, &arena,
						 ids, &err));
		for (size_t k = 0; k < ROOM; k++) {
			int64_t id = k < json_array_size(want)
					     ? json_integer_value(json_array_get(want, k))
					     : strata_tokenizer_end(tokenizer);

			if (ids[k] != id)
				test_fail(__FILE__, __LINE__,
					  "token %zu of \"%s\" is %lld, not %lld", k, prompt,
					  (long long)ids[k], (long long)id);
		}
	}
	json_decref(cases);
	free(text);
	strata_tokenizer_free(tokenizer);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static const char *round_trip(struct strata_tokenizer *tokenizer, const char *text)
{
	int64_t *ids;
	size_t count, length;
	char *back;

	CHECK_OK(strata_tokenizer_encode(tokenizer, text, STRATA_TEXT_NUL, &arena, &ids, &count,
					 &err));
	CHECK_OK(strata_tokenizer_decode(tokenizer, ids, count, &arena, &back, &length, &err));
	CHECK_INT(strlen(back), length);
	return back;
}

TEST(clip_texts_come_back_cleaned)
{
	struct strata_tokenizer *tokenizer = open_clip();

	strata_arena_init(&arena, &memory, 0);
	CHECK_TEXT(round_trip(tokenizer, " A red\tFOX "), "a red fox");
	CHECK_TEXT(round_trip(tokenizer, "caf\u00e9<|endoftext|>"), "caf\u00e9");
	CHECK_TEXT(round_trip(tokenizer, ""), "");
	strata_tokenizer_free(tokenizer);
	strata_arena_fini(&arena);
}

/* All bytes, the pairs "h"+"e" and " "+"he", one special token. */
static struct strata_tokenizer *open_bytes(struct strata_memory *own, struct strata_error *why)
{
	static const char merges[] = "#version: 0.2\nh e\n\u0120 he\n";
	char vocab[8192], *at = vocab;
	struct strata_tokenizer *tokenizer = NULL;

	at += sprintf(at, "{\"he\":256,\"\u0120he\":257,\"<|endoftext|>\":258");
	for (int byte = 0, free_code = 256; byte < 256; byte++) {
		bool own_code = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
		int code = own_code ? byte : free_code++;

		at += sprintf(at, ",\"\\u%04x\":%d", (unsigned)code, byte);
	}
	strcpy(at, "}");
	const struct strata_tokenizer_files files = { .vocab = vocab,
						      .vocab_length = STRATA_TEXT_NUL,
						      .merges = merges,
						      .merges_length = STRATA_TEXT_NUL };

	(void)strata_tokenizer_new(&files, own, &tokenizer, why);
	return tokenizer;
}

TEST(byte_level_texts_come_back_as_they_were)
{
	static const char *const texts[] = { "he he  he\n", "\xf0\x9f\xa6\x8a \t x", "\u00e9", "" };
	struct strata_tokenizer *tokenizer = open_bytes(&memory, &err);
	int64_t *ids;
	size_t count;

	CHECK(tokenizer);
	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CHECK_TEXT(round_trip(tokenizer, texts[i]), texts[i]);
	CHECK_OK(strata_tokenizer_encode(tokenizer, "he he<|endoftext|>!", STRATA_TEXT_NUL, &arena,
					 &ids, &count, &err));
	CHECK_INT(count, 4);
	CHECK_INT(ids[0], 256);
	CHECK_INT(ids[1], 257);
	CHECK_INT(ids[2], 258);
	CHECK_INT(ids[3], '!');
	CHECK_ERROR(strata_tokenizer_decode(tokenizer, &(int64_t){ 259 }, 1, &arena, &(char *){ 0 },
					    &count, &err),
		    -EINVAL, "259");
	CHECK_ERROR(strata_tokenizer_prompt(tokenizer, "x", 1, 8, &arena, ids, &err), -EINVAL,
		    "start");
	strata_tokenizer_free(tokenizer);
	strata_arena_fini(&arena);
}

TEST(texts_are_checked_and_bounded)
{
	struct strata_tokenizer *tokenizer = open_bytes(&memory, &err);
	char *text = malloc(STRATA_TOKENIZER_TEXT_BYTES_MAX + 1);
	int64_t *ids;
	size_t count;

	CHECK(tokenizer && text);
	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(strata_tokenizer_encode(tokenizer, "a\x80", 2, &arena, &ids, &count, &err),
		    -EINVAL, "byte 2");
	memset(text, 'h', STRATA_TOKENIZER_TEXT_BYTES_MAX + 1); /* one word */
	CHECK_OK(strata_tokenizer_encode(tokenizer, text, STRATA_TOKENIZER_TEXT_BYTES_MAX, &arena,
					 &ids, &count, &err));
	CHECK_INT(count, STRATA_TOKENIZER_TEXT_BYTES_MAX);
	CHECK_ERROR(strata_tokenizer_encode(tokenizer, text, STRATA_TOKENIZER_TEXT_BYTES_MAX + 1,
					    &arena, &ids, &count, &err),
		    -E2BIG, "1048577");
	free(text);
	strata_tokenizer_free(tokenizer);
	strata_arena_fini(&arena);
}

TEST(files_must_be_there)
{
	const struct strata_tokenizer_files none = { .vocab = "{\"a\":0}", .vocab_length = 7 };
	struct strata_tokenizer *tokenizer;

	CHECK_ERROR(strata_tokenizer_new(&none, &memory, &tokenizer, &err), -EINVAL, "merges.txt");
	CHECK_INT(memory.used_bytes, 0);
}

static int encode_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	const struct strata_tokenizer_files files = {
		.vocab = "{\"a\":0,\"b</w>\":1,\"ab</"
			 "w>\":2,\"<|startoftext|>\":3,\"<|endoftext|>\":4}",
		.vocab_length = STRATA_TEXT_NUL,
		.merges = "a b</w>\n",
		.merges_length = STRATA_TEXT_NUL,
		.config = "{\"bos_token\":\"<|startoftext|>\"}",
		.config_length = STRATA_TEXT_NUL,
	};
	struct strata_tokenizer *tokenizer;
	struct strata_arena scratch;
	int64_t ids[8];
	int rc = strata_tokenizer_new(&files, own, &tokenizer, why);

	(void)context;
	if (rc)
		return rc;
	strata_arena_init(&scratch, own, 0);
	rc = strata_tokenizer_prompt(tokenizer, "AB a\u0301b", STRATA_TEXT_NUL, 8, &scratch, ids,
				     why);
	if (rc == 0) {
		test_result(ids, sizeof(ids));
		char *text;
		size_t length;

		rc = strata_tokenizer_decode(tokenizer, ids, 8, &scratch, &text, &length, why);
		if (rc == 0)
			test_result_text(text);
	}
	strata_arena_fini(&scratch);
	strata_tokenizer_free(tokenizer);
	return rc;
}

TEST(memory_may_run_out_anywhere)
{
	test_every_own_allocation(encode_once, NULL);
}
