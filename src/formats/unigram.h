/*
 * Unigram models as SentencePiece trains them (T5): pieces with scores. A word becomes the pieces whose scores have the greatest sum, found in one pass from
 * left to right. A character that no piece covers is unknown; unknown ones side by side are one token.
 */
#ifndef FORMATS_UNIGRAM_H
#define FORMATS_UNIGRAM_H

#include "core/map.h"

#include <strata/error.h>
#include <strata/limits.h>

#include <jansson.h>

struct unigram_piece {
	const char *text; /* in the arena */
	size_t bytes;
	double score;
};

struct unigram {
	struct map_u64 edges; /* node << 8 | byte to the number of the next node */
	int64_t *ends;        /* the piece that ends at a node; -1: none. In the arena */
	size_t node_count;
	struct unigram_piece *pieces; /* by number; in the arena */
	size_t piece_count;
	int64_t unknown;
	double unknown_score;
};

/* "model" of a tokenizer.json. After map_u64_init of edges; _fini in any case. -EBADMSG, -ENOTSUP for what is not supported, -E2BIG, -ENOMEM. */
int unigram_read(const json_t *model, struct strata_arena *arena, struct unigram *unigram,
		 struct strata_error *err);
void unigram_fini(struct unigram *unigram);

/* The number of a piece; -1: there is none. */
int64_t unigram_find(const struct unigram *unigram, const char *text, size_t bytes);

/* What the best way to each place of a word is. */
struct unigram_step {
	double score;
	size_t from;
	int64_t id;
	bool reached;
};

/* The pieces of a word, which is UTF-8, in ret_ids, which has room for one for each byte; steps has room for one more. Returns how many. */
size_t unigram_encode(const struct unigram *unigram, const char *word, size_t bytes,
		      struct unigram_step *steps, int64_t *ret_ids);

#endif
