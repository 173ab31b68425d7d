/* Latents: one file for each task, the newest; what is nobody's is removed after a start. */
#include "server/latents.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct strata_error err;

static void check_file(const char *dir, int64_t task, int64_t steps, const char *text)
{
	uint64_t bytes = 0;
	char found[16] = "";
	int fd = latents_open_file(dir, task, steps, &bytes, &err);

	CHECK(fd >= 0);
	CHECK_INT(bytes, strlen(text));
	CHECK_INT(read(fd, found, sizeof(found) - 1), strlen(text));
	CHECK_TEXT(found, text);
	close(fd);
}

TEST(the_newest_are_the_tasks)
{
	const char *dir = test_temp_dir();
	char part[PART_NAME_BYTES], other[PART_NAME_BYTES];
	uint64_t bytes = 7;

	CHECK_OK(part_open_dir(&latents_place, env_system(), dir, &err));
	CHECK_OK(part_open_dir(&latents_place, env_system(), dir, &err)); /* it is there already */
	CHECK_OK(part_write(&latents_place, dir, "four", 4, part, &err));
	CHECK_OK(part_write(&latents_place, dir, "ten!!", 5, other, &err));
	CHECK(strcmp(part, other) != 0);
	CHECK_ERROR(latents_open_file(dir, 17, 4, &bytes, &err), -ENOENT, "task 17 has no saved");
	CHECK_INT(bytes, 7);
	CHECK_OK(latents_accept(dir, part, 17, 4, -1, &err));
	check_file(dir, 17, 4, "four");
	CHECK_OK(latents_accept(dir, other, 17, 10, 4, &err));
	check_file(dir, 17, 10, "ten!!");
	CHECK_ERROR(latents_open_file(dir, 17, 4, &bytes, &err), -ENOENT, "no saved latents");
	CHECK_OK(part_write(&latents_place, dir, "again", 5, part, &err));
	CHECK_OK(latents_accept(dir, part, 17, 10, 10, &err));
	check_file(dir, 17, 10, "again");
	latents_remove(dir, 17, 10);
	latents_remove(dir, 17, 10); /* it is gone already */
	CHECK_ERROR(latents_open_file(dir, 17, 10, &bytes, &err), -ENOENT, "no saved latents");
	CHECK_ERROR(latents_accept(dir, part, 17, 10, -1, &err), -ENOENT, "cannot keep");
}

static size_t seen;

static bool want_17(void *context, int64_t task, int64_t steps)
{
	CHECK(context == &seen);
	seen++;
	return task == 17 && steps == 3;
}

TEST(after_a_start_only_those_of_live_tasks_stay)
{
	static const char *const names[] = { "18.3", "17.x", "x", "17", "0.1", "-1.2" };
	const char *dir = test_temp_dir();
	char part[PART_NAME_BYTES], path[512];
	uint64_t bytes;

	CHECK_OK(part_open_dir(&latents_place, env_system(), dir, &err));
	CHECK_OK(part_write(&latents_place, dir, "x", 1, part, &err));
	CHECK_OK(latents_accept(dir, part, 17, 3, -1, &err));
	CHECK_OK(part_write(&latents_place, dir, "x", 1, part, &err)); /* never accepted */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/latents/%s", dir, names[i]);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	seen = 0;
	latents_each(dir, want_17, &seen);
	CHECK_INT(seen, 2);
	check_file(dir, 17, 3, "x");
	seen = 0;
	latents_each(dir, want_17, &seen);
	CHECK_INT(seen, 1);
	CHECK_ERROR(latents_open_file(dir, 18, 3, &bytes, &err), -ENOENT, "no saved");
	CHECK_OK(part_write(&latents_place, dir, "x", 1, part, &err));
	part_remove(&latents_place, dir, part);
	CHECK_ERROR(latents_accept(dir, part, 17, 10, -1, &err), -ENOENT, "cannot keep");
	latents_each("/nosuch", want_17, &seen);
}
