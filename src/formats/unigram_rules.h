/*
 * What a tokenizer.json asks for before its model sees a word: "normalizer" and "pre_tokenizer", as T5's and what SentencePiece models are converted to have
 * them: a precompiled map of characters, white space stripped and runs of blanks replaced, then words, and a mark in place of blanks. Anything else is refused
 * by its name.
 */
#ifndef FORMATS_UNIGRAM_RULES_H
#define FORMATS_UNIGRAM_RULES_H

#include "formats/charsmap.h"

#include <jansson.h>

enum { UNIGRAM_CHANGES_MAX = 8, UNIGRAM_NEST_MAX = 4 };

enum unigram_change_kind { UNIGRAM_MAP, UNIGRAM_STRIP, UNIGRAM_REPLACE };

/* One step of the normalizer. */
struct unigram_change {
	enum unigram_change_kind kind;
	struct charsmap map;
	bool left, right;          /* STRIP: of which end */
	bool runs;                 /* REPLACE: two blanks or more; else each `pattern` */
	const char *pattern, *new; /* in the arena */
};

struct unigram_rules {
	struct unigram_change changes[UNIGRAM_CHANGES_MAX];
	size_t change_count;
	bool words;       /* white space ends a word and goes */
	const char *mark; /* stands for a blank; in the arena. NULL: blanks stay */
	bool prepends;    /* a mark is put in front where none is */
	bool splits;      /* each mark begins a word */
};

/* Of the whole tokenizer.json. -ENOTSUP names what is not supported; -EBADMSG, -ENOMEM. */
int unigram_rules_read(const json_t *json, struct strata_arena *arena,
		       struct unigram_rules *ret_rules, struct strata_error *err);

/* A stretch of text between two special tokens: every word of it, UTF-8, is handed to `take`. */
int unigram_rules_apply(const struct unigram_rules *rules, const uint32_t *codes, size_t count,
			struct strata_memory *memory,
			int (*take)(void *context, const char *word, size_t bytes,
				    struct strata_error *err),
			void *context, struct strata_error *err);

#endif
