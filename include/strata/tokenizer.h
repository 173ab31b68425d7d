/*
 * Tokenizers: from a text to the numbers that a model was trained on, and back. Byte-pair encoding as CLIP, GPT-2 and Llama 3 have it, from the files that
 * their folders hold: vocab.json, merges.txt and, where there are, tokenizer_config.json and special_tokens_map.json. Unigram models as T5 has them, from
 * tokenizer.json.
 *
 *	const struct strata_tokenizer_files files = { .vocab = …, .merges = …, .config = … };
 *
 *	strata_tokenizer_new(&files, &memory, &tokenizer, &err);
 *	strata_tokenizer_prompt(tokenizer, "a red fox", STRATA_TEXT_NUL, 77, &arena, ids, &err);
 *
 * A tokenizer is constant once made: any number of threads may share it, each with an arena of its own.
 */
#ifndef STRATA_TOKENIZER_H
#define STRATA_TOKENIZER_H

#include <strata/error.h>
#include <strata/limits.h>
#include <strata/memory.h>
#include <strata/text.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum strata_tokenizer_style {
	STRATA_TOKENIZER_AUTO, /* by the configuration's tokenizer_class; without one by the vocabulary */
	STRATA_TOKENIZER_CLIP,    /* composed, lower case, words that end in </w> */
	STRATA_TOKENIZER_GPT2,    /* bytes as they are, a blank belongs to the word behind it */
	STRATA_TOKENIZER_LLAMA3,  /* the same with numbers in threes and line ends apart */
	STRATA_TOKENIZER_UNIGRAM, /* pieces with scores; what is done before is in tokenizer.json */
};

/* The contents of a tokenizer's files; borrowed during the call. A length may be STRATA_TEXT_NUL. */
struct strata_tokenizer_files {
	enum strata_tokenizer_style style;
	const char *vocab; /* vocab.json: {"token": id, …} */
	size_t vocab_length;
	const char *merges; /* merges.txt: a pair on each line, the most frequent first */
	size_t merges_length;
	const char *config; /* tokenizer_config.json; NULL: none */
	size_t config_length;
	const char *specials; /* special_tokens_map.json; NULL: none. Comes before config */
	size_t specials_length;
	/* tokenizer.json with a Unigram model, in place of vocab and merges; NULL: none. What it asks for and is not supported is refused (-ENOTSUP). */
	const char *json;
	size_t json_length;
};

struct strata_tokenizer;

/* -EBADMSG for files that are not what they should be, -ENOTSUP, -E2BIG past a limit, -ENOMEM. */
int strata_tokenizer_new(const struct strata_tokenizer_files *files, struct strata_memory *memory,
			 struct strata_tokenizer **ret_tokenizer, struct strata_error *err);
void strata_tokenizer_free(struct strata_tokenizer *tokenizer); /* NULL is nothing */

/* Special tokens; -1: there is none. */
int64_t strata_tokenizer_start(const struct strata_tokenizer *tokenizer);
int64_t strata_tokenizer_end(const struct strata_tokenizer *tokenizer);
int64_t strata_tokenizer_pad(const struct strata_tokenizer *tokenizer);
/* The most tokens of a text that the configuration gives (model_max_length); 0: it gives none. */
int64_t strata_tokenizer_longest(const struct strata_tokenizer *tokenizer);

/* The tokens of a text, without start and end, in the arena. Special tokens in the text stand for themselves. -EINVAL for a text that is
 * not UTF-8, -E2BIG for one of more than STRATA_TOKENIZER_TEXT_BYTES_MAX bytes, -ENOMEM. */
int strata_tokenizer_encode(const struct strata_tokenizer *tokenizer, const char *text,
			    size_t length, struct strata_arena *arena, int64_t **ret_ids,
			    size_t *ret_count, struct strata_error *err);

/* A prompt in a fixed room of at least 2, as image models take it: start (Unigram: if there is one), as many tokens of the text as fit, end, padding. */
int strata_tokenizer_prompt(const struct strata_tokenizer *tokenizer, const char *text,
			    size_t length, size_t room, struct strata_arena *arena,
			    int64_t *ret_ids, struct strata_error *err);

/* The text of tokens, NUL behind it, in the arena; start, end and padding are left out. Bytes that are not UTF-8 stay as they are: a character may be
 * in two tokens. -EINVAL for a number that is no token. */
int strata_tokenizer_decode(const struct strata_tokenizer *tokenizer, const int64_t *ids,
			    size_t count, struct strata_arena *arena, char **ret_text,
			    size_t *ret_length, struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
