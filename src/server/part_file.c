/* The files of part_file.h. */
#include "server/part_file.h"

#include "core/env_trust.h"

#include <strata/limits.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = STRATA_PATH_BYTES_MAX + 128 };

static void path_of(const struct part_place *place, char path[PATH_BYTES], const char *state_dir,
		    const char *name)
{
	snprintf(path, PATH_BYTES, "%.*s/%.20s%s%.100s", STRATA_PATH_BYTES_MAX, state_dir,
		 place->dir, *name ? "/" : "", name);
}

int part_open_dir(const struct part_place *place, const struct env *env, const char *state_dir,
		  struct strata_error *err)
{
	char path[PATH_BYTES], what[64];

	path_of(place, path, state_dir, "");
	snprintf(what, sizeof(what), "the directory of %s", place->what);
	return env_trust_make_dir(env, path, 0700, ENV_TRUST_OWN_DIR, what, err);
}

int part_write(const struct part_place *place, const char *state_dir, const void *bytes,
	       size_t size_bytes, char ret_part[PART_NAME_BYTES], struct strata_error *err)
{
	static atomic_uint number;
	char path[PATH_BYTES];
	int code = 0;

	snprintf(ret_part, PART_NAME_BYTES, "part-%d-%u", (int)getpid(),
		 atomic_fetch_add(&number, 1));
	path_of(place, path, state_dir, ret_part);
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
	if (!code)
		return 0;
	unlink(path);
	return strata_fail(err, -code, "cannot write %s %.200s: %s", place->what, path,
			   strerror(code));
}

int part_accept(const struct part_place *place, const char *state_dir, const char *part,
		const char *name, struct strata_error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];

	path_of(place, from, state_dir, part);
	path_of(place, to, state_dir, name);
	return rename(from, to) ? strata_fail(err, -errno, "cannot keep %s %.200s: %s", place->what,
					      to, strerror(errno))
				: 0;
}

void part_remove(const struct part_place *place, const char *state_dir, const char *name)
{
	char path[PATH_BYTES];

	path_of(place, path, state_dir, name);
	unlink(path);
}

int part_open(const struct part_place *place, const char *state_dir, const char *name,
	      uint64_t *ret_bytes)
{
	char path[PATH_BYTES];
	struct stat info;

	path_of(place, path, state_dir, name);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
		*ret_bytes = (uint64_t)info.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -ENOENT;
}

void part_each(const struct part_place *place, const char *state_dir,
	       bool (*each)(void *context, const char *name), void *context)
{
	char path[PATH_BYTES];
	struct dirent *entry;

	path_of(place, path, state_dir, "");
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && !each(context, entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}
