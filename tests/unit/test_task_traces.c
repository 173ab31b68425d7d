/* Timelines of tasks: a fixed number of places, the newest of each. */
#include "server/task_traces.h"

#include "test.h"

#include <errno.h>
#include <unistd.h>

static struct strata_error err;

static void accept_trace(struct task_traces *traces, const char *dir, int64_t task)
{
	char part[PART_NAME_BYTES];

	CHECK_OK(part_write(&task_traces_place, dir, "{}", 2, part, &err));
	CHECK_OK(task_traces_accept(traces, dir, part, task, &err));
}

static bool has(const char *dir, int64_t task)
{
	uint64_t bytes = 0;
	int fd = task_traces_open_file(dir, task, &bytes, &err);

	if (fd < 0)
		CHECK_INT(fd, -ENOENT);
	else
		close(fd);
	return fd >= 0 && bytes == 2;
}

TEST(who_comes_to_the_same_place_replaces_the_one_before)
{
	const char *dir = test_temp_dir();
	struct task_traces traces = { 0 };
	uint64_t bytes;

	CHECK_OK(part_open_dir(&task_traces_place, env_system(), dir, &err));
	for (int64_t task = 1; task <= STRATA_TASK_TRACES_MAX; task++)
		accept_trace(&traces, dir, task);
	CHECK(has(dir, 1) && has(dir, 2) && has(dir, STRATA_TASK_TRACES_MAX));
	accept_trace(&traces, dir, 1 + 3 * STRATA_TASK_TRACES_MAX);
	accept_trace(&traces, dir, 2); /* once more */
	CHECK(!has(dir, 1) && has(dir, 2) && has(dir, 1 + 3 * STRATA_TASK_TRACES_MAX));
	CHECK_ERROR(task_traces_open_file(dir, 1, &bytes, &err), -ENOENT,
		    "task 1 has no timeline; ask for one with its request");
	CHECK_ERROR(task_traces_accept(&traces, dir, "part-0-0", 5, &err), -ENOENT, "cannot keep");
	CHECK(has(dir, 5));
}

TEST(after_a_start_what_is_there_has_its_place)
{
	const char *dir = test_temp_dir();
	struct task_traces traces = { 0 };
	char part[PART_NAME_BYTES];

	CHECK_OK(part_open_dir(&task_traces_place, env_system(), dir, &err));
	accept_trace(&traces, dir, 17);
	CHECK_OK(part_write(&task_traces_place, dir, "x", 1, part, &err)); /* never accepted */
	CHECK_OK(part_accept(&task_traces_place, dir, part, "no task", &err));
	CHECK_OK(part_write(&task_traces_place, dir, "{}", 2, part, &err));
	/* as a crash between accepting one and removing the other leaves it */
	CHECK_OK(part_accept(&task_traces_place, dir, part, "273", &err));
	task_traces_load(&traces, dir);
	CHECK(!has(dir, 17) && has(dir, 273));
	accept_trace(&traces, dir, 17 + 2 * STRATA_TASK_TRACES_MAX);
	CHECK(!has(dir, 273) && has(dir, 529));
}
