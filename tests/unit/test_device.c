/* Devices: lists of cores, and work that is done in order on their threads. */
#include "test.h"

#include "engine/device.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static int read_list(const char *text, struct strata_arena *arena, struct engine_device **devices,
		     size_t *count)
{
	static struct engine_heap heap;

	return engine_devices_read(text, &heap, arena, devices, count, &err);
}

TEST(lists_are_sets_of_cores)
{
	struct engine_device *devices;
	struct strata_arena arena;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(read_list("cpu:0,cpu", &arena, &devices, &count));
	CHECK_INT(count, 2);
	CHECK_TEXT(devices[0].name, "cpu:0");
	CHECK_INT(devices[0].team.thread_count, 1);
	CHECK(devices[1].team.thread_count >= 1 && !devices[1].inline_only);
	CHECK_OK(read_list("cpu", &arena, &devices, &count));
	CHECK(count == 1 && devices[0].inline_only);
	CHECK_OK(read_list("cuda:0,cpu:0,cuda:12", &arena, &devices, &count));
	CHECK(devices[0].gpu == 0 && devices[1].gpu == -1 && devices[2].gpu == 12);
	CHECK_INT(devices[2].team.thread_count, 1);
	static const char *const wrong[] = { "cuda", "cuda:", "cuda:100", "cuda:01", "cuda:-1", "cuda:x",
					     "",       "gpu",   "cpu:",      "cpu:x",   "cpu:1-0",
					     "cpu:-1", "cpu,,", "cpu:99999", "cpu:0-x", "cpux" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_INT(read_list(wrong[i], &arena, &devices, &count), -EINVAL);
	CHECK_ERROR(read_list("cpu:1023", &arena, &devices, &count), -EINVAL,
		    "is not one that this process may use");
	strata_arena_fini(&arena);
}

struct note {
	int *next, seen;
};

static int count_up(void *arg, struct strata_error *ret_err)
{
	struct note *note = arg;

	note->seen = (*note->next)++;
	return note->seen == 3 ? strata_fail(ret_err, -EIO, "the fourth fails") : 0;
}

TEST(work_is_done_in_the_order_of_handing_over)
{
	enum { WORKS = 6 };
	struct engine_work works[WORKS] = { 0 };
	struct engine_device *devices;
	struct strata_arena arena;
	struct note notes[WORKS];
	size_t count;
	int next = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(read_list("cpu:0,cpu:0", &arena, &devices, &count));
	CHECK_OK(engine_devices_start(devices, count, &err));
	for (int i = 0; i < WORKS; i++) {
		notes[i] = (struct note){ &next, -1 };
		works[i] = (struct engine_work){ .run = count_up, .arg = &notes[i] };
		engine_device_give(&devices[0], &works[i]);
	}
	for (int i = 0; i < WORKS; i++) {
		engine_device_wait(&devices[0], &works[i]);
		CHECK_INT(notes[i].seen, i);
		CHECK_INT(works[i].rc, i == 3 ? -EIO : 0);
	}
	CHECK_TEXT(works[3].err.text, "the fourth fails");
	engine_devices_end(devices, count);
	strata_arena_fini(&arena);
}
