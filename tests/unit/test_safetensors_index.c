#include "test.h"

#include <strata/limits.h>
#include <strata/safetensors.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_safetensors_index ind;

static int read_text(const char *text)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return strata_safetensors_read_index(text, strlen(text), &arena, &ind, &err);
}

TEST(tensors_know_their_file)
{
	CHECK_OK(read_text(
		"{\"metadata\":{\"total_size\":12},\"weight_map\":{\"a\":\"m-1.safetensors\","
		"\"b\":\"m-2.safetensors\",\"c\":\"m-1.safetensors\"}}"));
	CHECK_INT(ind.file_count, 2);
	CHECK_INT(ind.tensor_count, 3);
	CHECK_TEXT(ind.files[1], "m-2.safetensors");
	CHECK_TEXT(ind.tensors[2], "c");
	CHECK_INT(ind.file[0], 0);
	CHECK_INT(ind.file[1], 1);
	CHECK_INT(ind.file[2], 0);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_no_index_is_refused)
{
	CHECK_ERROR(read_text("{}"), -EBADMSG, "weight_map");
	CHECK_ERROR(read_text("{\"weight_map\":{}}"), -EBADMSG, "weight_map");
	CHECK_ERROR(read_text("{\"weight_map\":{\"a\":1}}"), -EBADMSG, "'a'");
	CHECK_ERROR(read_text("{\"weight_map\":{\"a\":\"x\",\"a\":\"x\"}}"), -EINVAL, "duplicate");
	CHECK_ERROR(read_text("{\"weight_map\":{\"a\":\"../etc/passwd\"}}"), -EBADMSG,
		    "expected one beside it");
	CHECK_ERROR(read_text("{\"weight_map\":{\"a\":\"..\"}}"), -EBADMSG, "'..'");
	CHECK_ERROR(read_text("{\"weight_map\":{\"a\":\"\"}}"), -EBADMSG, "''");
	strata_arena_fini(&arena);
}

/* So many tensors in so many files. */
static int read_many(size_t tensors, size_t files)
{
	char *text = malloc(tensors * 32 + 64), *at = text;

	CHECK(at);
	at += sprintf(at, "{\"weight_map\":{");
	for (size_t i = 0; i < tensors; i++)
		at += sprintf(at, "%s\"%zx\":\"f%zu\"", i ? "," : "", i, i % files);
	sprintf(at, "}}");
	int rc = read_text(text);

	free(text);
	return rc;
}

TEST(tensors_and_files_are_bounded)
{
	CHECK_OK(read_many(STRATA_SAFETENSORS_TENSORS_MAX, 2));
	CHECK_ERROR(read_many(STRATA_SAFETENSORS_TENSORS_MAX + 1, 2), -E2BIG, "tensors");
	CHECK_OK(read_many(STRATA_SAFETENSORS_FILES_MAX, STRATA_SAFETENSORS_FILES_MAX));
	CHECK_ERROR(read_many(STRATA_SAFETENSORS_FILES_MAX + 1, STRATA_SAFETENSORS_FILES_MAX + 1),
		    -E2BIG, "files");
	strata_arena_fini(&arena);
}

static int read_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	static const char text[] = "{\"weight_map\":{\"a\":\"x\",\"b\":\"y\"}}";
	struct strata_safetensors_index one;
	struct strata_arena scratch;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = strata_safetensors_read_index(text, sizeof(text) - 1, &scratch, &one, why);

	strata_arena_fini(&scratch);
	/* jansson takes lack of memory in a string for bad syntax */
	return rc == -EINVAL ? strata_fail_memory(why) : rc;
}

TEST(lack_of_memory_is_said)
{
	CHECK(test_every_allocation(read_once, NULL) > 5);
}
