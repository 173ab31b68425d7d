/* Manifests of copies: one that is taken stays below its directory, and is the same when printed. */
#include "s3/manifest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct manifest manifest, again;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	if (manifest_read((const char *)data, size, &arena, &manifest, &err) == 0) {
		const struct manifest_file *files = manifest.files.items;
		char *text = manifest_print(&manifest);

		for (size_t i = 0; i < manifest.files.count; i++)
			assert(files[i].path[0] != '/' && strcmp(files[i].path, "..") != 0 &&
			       !strstr(files[i].path, "/../"));
		assert(manifest_bytes(&manifest) >= 0);
		assert(text && manifest_read(text, strlen(text), &arena, &again, &err) == 0);
		assert(manifest_bytes(&again) == manifest_bytes(&manifest));
		free(text);
	}
	strata_arena_fini(&arena);
	return 0;
}
