/* The files of latents.h: "17.40" is task 17 after 40 steps. */
#include "server/latents.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct part_place latents_place = { "latents", "latents" };

static void name_of(char name[PART_NAME_BYTES], int64_t task, int64_t steps)
{
	snprintf(name, PART_NAME_BYTES, "%" PRId64 ".%" PRId64, task, steps);
}

int latents_accept(const char *state_dir, const char *part, int64_t task, int64_t steps,
		   int64_t before, struct strata_error *err)
{
	char name[PART_NAME_BYTES];

	name_of(name, task, steps);
	int rc = part_accept(&latents_place, state_dir, part, name, err);

	if (rc == 0 && before >= 0 && before != steps)
		latents_remove(state_dir, task, before);
	return rc;
}

void latents_remove(const char *state_dir, int64_t task, int64_t steps)
{
	char name[PART_NAME_BYTES];

	name_of(name, task, steps);
	part_remove(&latents_place, state_dir, name);
}

int latents_open_file(const char *state_dir, int64_t task, int64_t steps, uint64_t *ret_bytes,
		      struct strata_error *err)
{
	char name[PART_NAME_BYTES];

	name_of(name, task, steps);
	int fd = part_open(&latents_place, state_dir, name, ret_bytes);

	return fd >= 0 ? fd
		       : strata_fail(err, -ENOENT, "task %" PRId64 " has no saved latents", task);
}

struct visit {
	bool (*each)(void *context, int64_t task, int64_t steps);
	void *context;
};

static bool visit(void *context, const char *name)
{
	const struct visit *visit = context;
	const char *dot = strchr(name, '.');
	int64_t task, steps;

	return dot &&
	       strata_int_parse(name, (size_t)(dot - name), 1, INT64_MAX, &task, NULL) == 0 &&
	       strata_int_parse(dot + 1, STRATA_TEXT_NUL, 0, STRATA_TASK_STEPS_MAX, &steps, NULL) ==
		       0 &&
	       visit->each(visit->context, task, steps);
}

void latents_each(const char *state_dir, bool (*each)(void *context, int64_t task, int64_t steps),
		  void *context)
{
	struct visit all = { each, context };

	part_each(&latents_place, state_dir, visit, &all);
}
