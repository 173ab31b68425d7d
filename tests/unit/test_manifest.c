/* Manifests: printed and read they are the same; tests/api/test_s3.py has those of an enemy. */
#include "test.h"

#include "s3/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

TEST(what_is_printed_is_read)
{
	struct manifest_file files[] = { { "a/b", HASH, 3, 0640 }, { "c", HASH, 4, 0600 } };
	const char *directories[] = { "a", "a/none" };
	struct manifest one = { HASH, true, { files, 2 }, { directories, 2 } }, got;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct strata_arena arena;
	char *text = manifest_print(&one);

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(manifest_read(text, strlen(text), &arena, &got, &err));
	CHECK_INT(got.files.count, 2);
	CHECK_INT(got.directories.count, 2);
	CHECK_INT(manifest_bytes(&got), 7);
	CHECK_TEXT(((struct manifest_file *)got.files.items)[0].path, "a/b");
	CHECK_INT(((struct manifest_file *)got.files.items)[0].mode, 0640);
	for (size_t cut = 0; cut < strlen(text); cut += 5)
		CHECK(manifest_read(text, cut, &arena, &got, &err) < 0);
	free(text);
	strata_arena_fini(&arena);
}

TEST(depth_has_a_limit)
{
	char path[64] = "";
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	for (int depth = 1; depth <= 17; depth++) {
		strcat(path, depth > 1 ? "/d" : "d");
		struct manifest_file file = { path, HASH, 1, 0600 };
		struct manifest one = { HASH, true, { &file, 1 }, { NULL, 0 } }, got;
		struct strata_error err = { 0 };
		char *text = manifest_print(&one);

		CHECK_INT(manifest_read(text, strlen(text), &arena, &got, &err),
			  depth <= 16 ? 0 : -EBADMSG);
		free(text);
	}
	strata_arena_fini(&arena);
}
