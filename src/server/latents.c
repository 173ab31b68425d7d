/* The files of latents.h: "17.40" is task 17 after 40 steps. Renamed when they are whole, and not
 * synced: after a crash of the machine a task may begin anew. */
#include "server/latents.h"

#include "core/env_trust.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = STRATA_PATH_BYTES_MAX + 128 };

static void path_of(char path[PATH_BYTES], const char *state_dir, const char *name)
{
	snprintf(path, PATH_BYTES, "%.*s/latents/%.100s", STRATA_PATH_BYTES_MAX, state_dir, name);
}

static void path_of_task(char path[PATH_BYTES], const char *state_dir, int64_t task, int64_t steps)
{
	char name[LATENTS_PART_BYTES];

	snprintf(name, sizeof(name), "%" PRId64 ".%" PRId64, task, steps);
	path_of(path, state_dir, name);
}

int latents_open(const struct env *env, const char *state_dir, struct strata_error *err)
{
	char path[PATH_BYTES];

	path_of(path, state_dir, "");
	path[strlen(path) - 1] = '\0';
	return env_trust_make_dir(env, path, 0700, ENV_TRUST_OWN_DIR, "the directory of latents",
				  err);
}

int latents_write(const char *state_dir, const void *bytes, size_t size_bytes,
		  char ret_part[LATENTS_PART_BYTES], struct strata_error *err)
{
	static atomic_uint number;
	char name[LATENTS_PART_BYTES], path[PATH_BYTES];
	int code = 0;

	snprintf(name, sizeof(name), "part-%d-%u", (int)getpid(), atomic_fetch_add(&number, 1));
	path_of(path, state_dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		code = errno;
	for (size_t done = 0; done < size_bytes && !code;) {
		ssize_t count = write(fd, (const char *)bytes + done, size_bytes - done);

		if (count < 0 && errno != EINTR)
			code = errno;
		else if (count > 0)
			done += (size_t)count;
	}
	if (fd >= 0 && close(fd) && !code)
		code = errno;
	if (code) {
		unlink(path);
		return strata_fail(err, -code, "cannot write the latents %.200s: %s", path,
				   strerror(code));
	}
	memcpy(ret_part, name, LATENTS_PART_BYTES);
	return 0;
}

void latents_discard(const char *state_dir, const char *part)
{
	char path[PATH_BYTES];

	path_of(path, state_dir, part);
	unlink(path);
}

int latents_accept(const char *state_dir, const char *part, int64_t task, int64_t steps,
		   int64_t before, struct strata_error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];

	path_of(from, state_dir, part);
	path_of_task(to, state_dir, task, steps);
	if (rename(from, to))
		return strata_fail(err, -errno, "cannot keep the latents %.200s: %s", to,
				   strerror(errno));
	if (before >= 0 && before != steps)
		latents_remove(state_dir, task, before);
	return 0;
}

void latents_remove(const char *state_dir, int64_t task, int64_t steps)
{
	char path[PATH_BYTES];

	path_of_task(path, state_dir, task, steps);
	unlink(path);
}

int latents_open_file(const char *state_dir, int64_t task, int64_t steps, uint64_t *ret_bytes,
		      struct strata_error *err)
{
	char path[PATH_BYTES];
	struct stat info;

	path_of_task(path, state_dir, task, steps);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
		*ret_bytes = (uint64_t)info.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return strata_fail(err, -ENOENT, "task %" PRId64 " has no saved latents", task);
}

static bool read_name(const char *name, int64_t *ret_task, int64_t *ret_steps)
{
	const char *dot = strchr(name, '.');

	return dot &&
	       strata_int_parse(name, (size_t)(dot - name), 1, INT64_MAX, ret_task, NULL) == 0 &&
	       strata_int_parse(dot + 1, STRATA_TEXT_NUL, 0, STRATA_TASK_STEPS_MAX, ret_steps,
				NULL) == 0;
}

void latents_each(const char *state_dir, bool (*each)(void *context, int64_t task, int64_t steps),
		  void *context)
{
	char path[PATH_BYTES];
	struct dirent *entry;
	int64_t task, steps;

	path_of(path, state_dir, "");
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (!read_name(entry->d_name, &task, &steps) || !each(context, task, steps))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}
