/* JSON as Python writes it: NaN, Infinity and -Infinity stand where a number may. They are read as null: "not said". */
#ifndef FORMATS_PYTHON_JSON_H
#define FORMATS_PYTHON_JSON_H

#include <strata/error.h>
#include <strata/memory.h>

#include <jansson.h>

/* option_load_json of such a text. The arena is for a copy. */
int python_json_load(const char *text, size_t length, struct strata_arena *arena, json_t **ret_json,
		     struct strata_error *err);

#endif
