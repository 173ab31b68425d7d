/*
 * Byte-pair encoding: a vocabulary of tokens and a list of pairs that are merged, the first of the list first. Tokens are written in the 256 characters
 * that GPT-2 gave to bytes, so that none is a blank or a control character.
 */
#ifndef FORMATS_BPE_H
#define FORMATS_BPE_H

#include "core/map.h"

#include <strata/error.h>
#include <strata/limits.h>

#define BPE_WORD_END "</w>" /* of CLIP: the last token of a word has it behind it */

struct bpe_token {
	const char *text; /* the map's copy of the key; NULL: the number stands for no token */
	size_t bytes;
	uint32_t id;
};

struct bpe {
	struct strata_memory *memory;
	struct map_text known;    /* to struct bpe_token */
	struct bpe_token *tokens; /* by number */
	size_t token_count;       /* the largest number and one */
	struct map_u64 pairs;     /* left << 32 | right to struct bpe_pair */
	struct bpe_pair *rows;    /* by rank */
	size_t row_room;
	int64_t bytes[256];      /* the token of a byte; -1: none */
	int64_t last_bytes[256]; /* the same with BPE_WORD_END */
};

/* 0: is fine to be given to _fini afterwards, so is a failure. */
int bpe_init(struct bpe *bpe, const char *vocab, size_t vocab_length, const char *merges,
	     size_t merges_length, struct strata_memory *memory, struct strata_error *err);
void bpe_fini(struct bpe *bpe);

/* The number of a token; -1: there is none. */
int64_t bpe_find(const struct bpe *bpe, const char *text, size_t bytes);

/* Merges a word's tokens in place, as far as pairs go; how many are left is ret_count. */
int bpe_merge(const struct bpe *bpe, uint32_t *tokens, size_t count, struct strata_arena *arena,
	      size_t *ret_count, struct strata_error *err);

/* The character that stands for a byte, and the other way; -1: none. */
uint32_t bpe_code_of_byte(uint8_t byte);
int bpe_byte_of_code(uint32_t code);

#endif
