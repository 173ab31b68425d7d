/* Reference data that is kept in tests/data, packed with gzip: as text, or unpacked for code that wants a path. */
#ifndef KEPT_H
#define KEPT_H

#include "test.h"

#include "sim/input.h"

#include <stdio.h>

enum { KEPT_BYTES_MAX = 16 << 20 };

/* The contents of tests/data/NAME.gz, on the arena. */
static inline const char *kept_text(const char *name, struct strata_arena *arena, size_t *ret_size)
{
	struct strata_error err;
	const char *text;
	char path[8400];

	snprintf(path, sizeof(path), "%s/%s.gz", test_data_dir(), name);
	if (input_read(env_system(), path, KEPT_BYTES_MAX, arena, &text, ret_size, &err))
		test_fail(__FILE__, __LINE__, "%s: %s", path, err.text);
	return text;
}

/* The path of a copy of tests/data/FOLDER/NAME.gz, unpacked; it goes with the test. Valid until the next call. */
static inline const char *kept_file(const char *folder, const char *name)
{
	static char path[4096];
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	strata_arena_init(&arena, &memory, 0);
	const char *text = kept_text(path, &arena, &size);

	snprintf(path, sizeof(path), "%s/%s", test_temp_dir(), name);
	FILE *file = fopen(path, "wb");
	bool written = file && fwrite(text, 1, size, file) == size;

	if (file)
		written = fclose(file) == 0 && written;
	strata_arena_fini(&arena);
	CHECK(written);
	return path;
}

#endif
