/* What tokenizers ask about characters: is it a letter, a number, white space; its lower case; the composed form (NFC) of a text. Tables: unicode_table.h. */
#ifndef FORMATS_UNICODE_H
#define FORMATS_UNICODE_H

#include <strata/error.h>
#include <strata/memory.h>

#include <stdbool.h>
#include <stdint.h>

enum { UNICODE_LOWER_MAX = 2, UNICODE_SPLIT_MAX = 4, UNICODE_UTF8_MAX = 4 };

bool unicode_is_letter(uint32_t code); /* \p{L} */
bool unicode_is_number(uint32_t code); /* \p{N} */
bool unicode_is_space(uint32_t code);  /* the property White_Space */

/* The lower case of a character by itself (no rules about its neighbours); how many characters it is. */
size_t unicode_lower(uint32_t code, uint32_t ret_codes[UNICODE_LOWER_MAX]);

/* The characters of a text; -EINVAL names the byte that is not UTF-8. */
int unicode_decode(const char *text, size_t length, struct strata_arena *arena,
		   uint32_t **ret_codes, size_t *ret_count, struct strata_error *err);
/* The bytes of a character; how many. */
size_t unicode_encode(uint32_t code, char ret_bytes[UNICODE_UTF8_MAX]);

/* Where the grapheme cluster that begins at `at` ends: what a reader takes for one character (UAX 29). Emoji that a joiner ties together and Indic
 * conjuncts count as several. */
size_t unicode_cluster_end(const uint32_t *codes, size_t count, size_t at);

/* Normalization form C. */
int unicode_compose(const uint32_t *codes, size_t count, struct strata_arena *arena,
		    uint32_t **ret_codes, size_t *ret_count, struct strata_error *err);

#endif
