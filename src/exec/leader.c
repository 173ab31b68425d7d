/* Who leads, on disk: see leader.h. */
#include "exec/leader.h"

#include "exec/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct leader {
	int64_t epoch;
};

static const struct strata_option options[] = {
	{ "epoch", STRATA_INT, offsetof(struct leader, epoch), .integer = { 0, 0, INT64_MAX },
	  .help = "of the last leader" },
	{ 0 }
};
static const struct strata_schema schema = { .name = "leader",
					     .conf_size = sizeof(struct leader),
					     .options = options };

static int read_last(const struct env *env, int dir, const char *where,
		     struct strata_memory *memory, int64_t *ret_epoch, struct strata_error *err)
{
	struct leader last = { 0 };
	struct strata_arena arena;
	char path[32];

	snprintf(path, sizeof(path), "%s/leader.json", where);
	strata_arena_init(&arena, memory, 0);
	int rc = record_read(env, dir, path, &schema, &arena, &last, err);

	strata_arena_fini(&arena);
	if (rc && rc != -ENOENT)
		return rc;
	*ret_epoch = rc == 0 ? last.epoch : -1;
	return 0;
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
	const struct leader self = { epoch };
	int64_t last = 0;
	int rc = leader_check(env, state_dir, ".", epoch, memory, err);

	if (rc == 0)
		rc = read_last(env, state_dir, ".", memory, &last, err);
	if (rc || last == epoch)
		return rc;
	return record_write(env, state_dir, "leader.json", &schema, &self, memory, err);
}
