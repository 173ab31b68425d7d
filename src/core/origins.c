/*
 * Where each value came from: a set of paths in order of arrival. A reader uses a set of its own to notice that a
 * key was given twice; `strata config` shows the caller's.
 */
#include "core/option.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size_bytes) strata_arena_get(origins->arena, size_bytes)
#define uthash_free(block, size_bytes) ((void)(block))
#define uthash_nonfatal_oom(row) (added = false)
#include <uthash.h>

struct origin {
	const char *path;
	const char *from;
	UT_hash_handle hh;
};

int origins_add(struct origins *origins, const char *path, const char *from,
		struct strata_error *err)
{
	struct origin *row;
	bool added = true;

	HASH_FIND_STR(origins->rows, path, row);
	if (row) { /* a later source wins */
		row->from = strata_arena_text(origins->arena, from, strlen(from));
		return row->from ? 0 : strata_fail_memory(err);
	}
	row = strata_arena_get(origins->arena, sizeof(*row));
	if (!row)
		return strata_fail_memory(err);
	row->path = strata_arena_text(origins->arena, path, strlen(path));
	row->from = strata_arena_text(origins->arena, from, strlen(from));
	if (!row->path || !row->from)
		return strata_fail_memory(err);
	HASH_ADD_KEYPTR(hh, origins->rows, row->path, strlen(row->path), row);
	return added ? 0 : strata_fail_memory(err);
}

const char *origins_find(const struct origins *origins, const char *path)
{
	const struct origin *row;

	HASH_FIND_STR(origins->rows, path, row);
	return row ? row->from : NULL;
}
