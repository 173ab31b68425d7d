/* Who leads, on disk: see leader.h. */
#include "exec/leader.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_BYTES = 24 };

static int read_last(const struct env *env, int dir, const char *where,
		     struct strata_memory *memory, int64_t *ret_epoch, struct strata_error *err)
{
	struct strata_arena arena;
	char path[32], *text;
	size_t length;

	snprintf(path, sizeof(path), "%s/leader", where);
	strata_arena_init(&arena, memory, 0);
	int rc = env_read_file(env, dir, path, NUMBER_BYTES, &arena, &text, &length, err);

	if (rc == 0)
		rc = strata_int_parse(text, length, 0, INT64_MAX, ret_epoch, err);
	else if (rc == -ENOENT)
		*ret_epoch = -1, rc = 0;
	strata_arena_fini(&arena);
	return rc;
}

int leader_check(const struct env *env, int dir, const char *where, int64_t epoch,
		 struct strata_memory *memory, struct strata_error *err)
{
	int64_t last = 0;
	int rc = read_last(env, dir, where, memory, &last, err);

	if (rc == 0 && last > epoch)
		return strata_fail(err, -ESTALE,
				   "a leader of epoch %" PRId64
				   " has taken over from epoch %" PRId64,
				   last, epoch);
	return rc;
}

int leader_take(const struct env *env, int state_dir, int64_t epoch, struct strata_memory *memory,
		struct strata_error *err)
{
	char text[NUMBER_BYTES];
	int64_t last = 0;
	int rc = leader_check(env, state_dir, ".", epoch, memory, err);

	if (rc == 0)
		rc = read_last(env, state_dir, ".", memory, &last, err);
	if (rc || last == epoch)
		return rc;
	snprintf(text, sizeof(text), "%" PRId64, epoch);
	return env_write_file(env, state_dir, "leader", text, strlen(text), 0600, err);
}
