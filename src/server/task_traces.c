/* The files of task_traces.h: "17" is task 17's. */
#include "server/task_traces.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

const struct part_place task_traces_place = { "traces", "traces" };

static void name_of(char name[PART_NAME_BYTES], int64_t task)
{
	snprintf(name, PART_NAME_BYTES, "%" PRId64, task);
}

static int64_t *place_of(struct task_traces *traces, int64_t task)
{
	return &traces->tasks[task % STRATA_TASK_TRACES_MAX];
}

struct loading {
	struct task_traces *traces;
	const char *state_dir;
};

/* Of two in one place, which a crash may leave, the newer stays. */
static bool load(void *context, const char *name)
{
	const struct loading *loading = context;
	char other[PART_NAME_BYTES];
	int64_t task;

	if (strata_int_parse(name, STRATA_TEXT_NUL, 1, INT64_MAX, &task, NULL))
		return false;
	int64_t *place = place_of(loading->traces, task);

	if (*place > task)
		return false;
	if (*place) {
		name_of(other, *place);
		part_remove(&task_traces_place, loading->state_dir, other);
	}
	*place = task;
	return true;
}

void task_traces_load(struct task_traces *traces, const char *state_dir)
{
	struct loading loading = { traces, state_dir };

	*traces = (struct task_traces){ 0 };
	part_each(&task_traces_place, state_dir, load, &loading);
}

int task_traces_accept(struct task_traces *traces, const char *state_dir, const char *part,
		       int64_t task, struct strata_error *err)
{
	int64_t *place = place_of(traces, task);
	char name[PART_NAME_BYTES];

	name_of(name, task);
	int rc = part_accept(&task_traces_place, state_dir, part, name, err);

	if (rc)
		return rc;
	if (*place && *place != task) {
		name_of(name, *place);
		part_remove(&task_traces_place, state_dir, name);
	}
	*place = task;
	return 0;
}

int task_traces_open_file(const char *state_dir, int64_t task, uint64_t *ret_bytes,
			  struct strata_error *err)
{
	char name[PART_NAME_BYTES];

	name_of(name, task);
	int fd = part_open(&task_traces_place, state_dir, name, ret_bytes);

	return fd >= 0 ? fd
		       : strata_fail(err, -ENOENT,
				     "task %" PRId64 " has no timeline; ask for one with its "
				     "request (`strata generate --trace`)",
				     task);
}
