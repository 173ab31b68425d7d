/* Where a tokenizer cuts a text into words before it merges: what the models' own regular expressions match, written out. */
#ifndef FORMATS_TOKENIZER_SPLIT_H
#define FORMATS_TOKENIZER_SPLIT_H

#include <strata/tokenizer.h>

/* The end of the word that begins at `at`, which is below count. */
size_t tokenizer_word_end(enum strata_tokenizer_style style, const uint32_t *codes, size_t count,
			  size_t at);

#endif
