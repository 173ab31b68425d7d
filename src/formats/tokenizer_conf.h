/* What a tokenizer's small files say: its family, special tokens, the longest text. */
#ifndef FORMATS_TOKENIZER_CONF_H
#define FORMATS_TOKENIZER_CONF_H

#include "formats/bpe.h"

#include <strata/tokenizer.h>

#include <jansson.h>

/* A text that is one token, wherever it stands. */
struct tokenizer_special {
	const char *text; /* in the arena, as codes */
	size_t bytes;
	uint32_t *codes;
	size_t count;
	int64_t id;
	bool left, right; /* white space before it or behind it belongs to it */
};

struct tokenizer_conf {
	enum strata_tokenizer_style style; /* never AUTO */
	struct tokenizer_special *specials;
	size_t special_count;
	bool begins[256];                 /* the low byte of a character that one begins with */
	int64_t start, end, pad, unknown; /* -1: none */
	int64_t longest;                  /* 0: not said */
};

/* A file of a tokenizer that is a JSON object. Whole numbers are reals: model_max_length may be past 64 bits. */
int tokenizer_json_load(const char *text, size_t length, const char *name, json_t **ret_json,
			struct strata_error *err);
int tokenizer_conf_read(const struct strata_tokenizer_files *files, const struct bpe *bpe,
			struct strata_arena *arena, struct tokenizer_conf *ret_conf,
			struct strata_error *err);

#endif
