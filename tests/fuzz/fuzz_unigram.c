/* Unigram tokenizers: tokenizer.json, tokenizer_config.json and a text, separated by bytes 0. What is read encodes any text, and its tokens can be written. */
#include <strata/tokenizer.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const struct strata_tokenizer *tokenizer, const char *text, size_t length,
		   struct strata_memory *memory)
{
	struct strata_error err = { 0 };
	struct strata_arena arena;
	size_t count, back_length;
	int64_t *ids, prompt[9];
	char *back;

	strata_arena_init(&arena, memory, 0);
	if (strata_tokenizer_encode(tokenizer, text, length, &arena, &ids, &count, &err) == 0)
		assert(strata_tokenizer_decode(tokenizer, ids, count, &arena, &back, &back_length,
					       &err) == 0 ||
		       err.code == -ENOMEM);
	else
		assert(err.text[0]);
	(void)strata_tokenizer_prompt(tokenizer, text, length, 9, &arena, prompt, &err);
	strata_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_tokenizer *tokenizer;
	struct strata_error err = { 0 };
	const char *parts[3] = { "", "", "" }, *at = (const char *)data;
	size_t lengths[3] = { 0 }, left = size;

	for (int i = 0; i < 3; i++) {
		const char *end = left && i < 2 ? memchr(at, 0, left) : NULL;

		parts[i] = at;
		lengths[i] = end ? (size_t)(end - at) : left;
		at += lengths[i] + (end != NULL);
		left -= lengths[i] + (end != NULL);
	}
	const struct strata_tokenizer_files files = { .json = parts[0] ? parts[0] : "",
						      .json_length = lengths[0],
						      .config = lengths[1] ? parts[1] : NULL,
						      .config_length = lengths[1] };

	if (strata_tokenizer_new(&files, &memory, &tokenizer, &err)) {
		assert(err.text[0]);
	} else {
		encode(tokenizer, parts[2], lengths[2], &memory);
		strata_tokenizer_free(tokenizer);
	}
	assert(memory.used_bytes == 0);
	return 0;
}
