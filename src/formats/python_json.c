/* Python's JSON: see python_json.h. diffusers' configurations have "lambda_min_clipped": -Infinity. */
#include "formats/python_json.h"

#include "core/option.h"

#include <strata/limits.h>

#include <stdbool.h>
#include <string.h>

/* The word at a place outside of texts that JSON does not have; its length, 0: none. */
static size_t foreign_word(const char *at, size_t left)
{
	static const char *const words[] = { "-Infinity", "Infinity", "NaN" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) <= left && memcmp(at, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return 0;
}

int python_json_load(const char *text, size_t length, struct strata_arena *arena, json_t **ret_json,
		     struct strata_error *err)
{
	bool in_text = false;
	/* "NaN" is shorter than "null": such a text is twice as long at most. */
	char *copy = length <= STRATA_JSON_BYTES_MAX ? strata_arena_array(arena, length + 1, 2)
						     : NULL;
	size_t count = 0;

	if (length > STRATA_JSON_BYTES_MAX)
		return option_load_json(text, length, ret_json, err); /* says that it is too long */
	if (!copy)
		return strata_fail_memory(err);
	for (size_t i = 0; i < length;) {
		size_t word = in_text ? 0 : foreign_word(text + i, length - i);

		if (word) {
			memcpy(copy + count, "null", 4);
			count += 4;
			i += word;
			continue;
		}
		if (text[i] == '"')
			in_text = !in_text;
		copy[count++] = text[i];
		if (in_text && text[i] == '\\' && i + 1 < length)
			copy[count++] = text[++i];
		i++;
	}
	return option_load_json(copy, count, ret_json, err);
}
