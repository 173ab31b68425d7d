/* The known answers of the random number tests: tests/data/rng.json. */
#ifndef GOLDEN_RNG_H
#define GOLDEN_RNG_H

#include "test.h"

#include <jansson.h>
#include <stdio.h>

/* The whole document; json_decref it. */
static inline json_t *golden_rng(void)
{
	char path[4096];
	json_error_t error;

	snprintf(path, sizeof(path), "%s/rng.json", test_data_dir());
	json_t *document = json_load_file(path, 0, &error);

	if (!document)
		test_fail(__FILE__, __LINE__, "%s: %s", path, error.text);
	return document;
}

static inline double golden_number(const json_t *list, size_t index)
{
	CHECK(index < json_array_size(list));
	return json_number_value(json_array_get(list, index));
}

#endif
