/*
 * SentencePiece's map of characters, "precompiled_charsmap" of a tokenizer.json: a double-array trie (as darts-clone writes it) from texts to places in a block
 * of replacements. What it holds is the normalization that a model was trained with, mostly NFKC and white space.
 */
#ifndef FORMATS_CHARSMAP_H
#define FORMATS_CHARSMAP_H

#include "core/buf.h"

#include <stdint.h>

struct charsmap {
	const uint8_t *units; /* of the trie, four bytes each, little endian; in the arena */
	size_t unit_count;
	const char *texts; /* replacements, a NUL behind each; UTF-8 */
	size_t text_bytes;
};

/* From base64. -EBADMSG for what is no such map, -ENOMEM. */
int charsmap_read(const char *base64, size_t length, struct strata_arena *arena,
		  struct charsmap *ret_map, struct strata_error *err);

/* Adds the text as the map makes it. Texts are looked up as the package tokenizers does: a cluster of less than six bytes becomes what its shortest known
 * beginning becomes, other ones go character by character; what is not known stays. */
void charsmap_apply(const struct charsmap *map, const uint32_t *codes, size_t count,
		    struct buf *buf);

#endif
