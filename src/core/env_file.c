/*
 * Durable files over the primitives of an env. The rule behind all of them: contents first, then the name, then the
 * directory that holds the name, each synced before the next; and whatever fails on the way takes its traces along.
 */
#include "core/env_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TEMP_TRIES = 8, READ_FIRST_BYTES = 4096 };

/* A name and the opened directory it is in, so that nobody can swap the directory between two steps. */
struct place {
	const char *path; /* as the caller gave it, for errors */
	const char *name; /* its last part */
	int dir;
};

static int fail(struct strata_error *err, int rc, const char *what, const char *path)
{
	return strata_fail(err, rc, "cannot %s %.250s: %s", what, path,
			   strerror(-rc)); /* room for the cause */
}

static void close_fd(const struct env *env, int fd)
{
	env->close(
		env->context,
		fd); /* interrupted or not, Linux has closed it; what matters was synced before */
}

static int open_place(const struct env *env, int dir, const char *path, struct place *place,
		      struct strata_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char parent[PATH_MAX] = ".";
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return strata_fail(err, -EINVAL,
				   "\"%.250s\" is not the path of a file: no name at its end",
				   path);
	if (length >= sizeof(parent))
		return fail(err, -ENAMETOOLONG, "open the directory of", path);
	if (slash)
		snprintf(parent, sizeof(parent), "%.*s", length ? (int)length : 1, path);
	int fd = ENV_RETRY(
		env->open(env->context, dir, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));

	if (fd < 0)
		return fail(err, fd, "open the directory of", path);
	*place = (struct place){ path, name, fd };
	return 0;
}

/* Takes back a name; when even that fails there is nothing more to do. */
static void remove_name(const struct env *env, int dir, const char *name)
{
	(void)ENV_RETRY(env->unlink(env->context, dir, name));
}

/* Some network file systems cannot sync a directory and say so with EINVAL; they have written it already. */
static int sync_dir(const struct env *env, int dir)
{
	int rc = ENV_RETRY(env->sync(env->context, dir, false));

	return rc == -EINVAL ? 0 : rc;
}

static int write_all(const struct env *env, int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t done = ENV_RETRY(env->write(env->context, fd, bytes, count));

		if (done <= 0)
			return done < 0 ? (int)done : -EIO;
		bytes += done;
		count -= (size_t)done;
	}
	return 0;
}

/* Creates a file of a name that nobody has; its descriptor, or a negative code. */
static int create_temp(const struct env *env, int dir, char *name, struct strata_error *err)
{
	int fd = -EEXIST;

	for (int i = 0; i < TEMP_TRIES && fd == -EEXIST; i++) {
		uint64_t number;
		int rc = env_random(env, &number, sizeof(number), err);

		if (rc < 0)
			return rc;
		snprintf(name, ENV_TEMP_NAME_BYTES, ".strata-%016" PRIx64 ".tmp", number);
		fd = ENV_RETRY(env->open(env->context, dir, name,
					 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					 0600));
	}
	return fd < 0 ? strata_fail(err, fd, "cannot create a temporary file: %s", strerror(-fd))
		      : fd;
}

/* ---- drafts ---- */

/* A rename asks nothing of what it replaces: a device or a pipe of that name would be gone. */
static int check_replaceable(int dir, const char *name, const char *path, struct strata_error *err)
{
	struct stat info;

	if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) || S_ISREG(info.st_mode) ||
	    S_ISLNK(info.st_mode) || S_ISDIR(info.st_mode)) /* of which rename says it itself */
		return 0;
	return strata_fail(err, -EINVAL, "%.250s is a device, a pipe or a socket; expected the path of a file",
			   path);
}

int env_draft_open(struct env_draft *draft, const struct env *env, int dir, const char *path,
		   struct strata_error *err)
{
	struct strata_error why;
	struct place place;
	int rc = open_place(env, dir, path, &place, err);

	if (rc < 0)
		return rc;
	rc = check_replaceable(place.dir, place.name, path, err);
	if (rc < 0) {
		close_fd(env, place.dir);
		return rc;
	}
	*draft = (struct env_draft){
		.env = env, .path = path, .name = place.name, .dir = place.dir
	};
	draft->fd = create_temp(env, draft->dir, draft->temp, &why);
	if (draft->fd >= 0)
		return 0;
	rc = strata_fail(err, draft->fd, "cannot write %.250s: %s", path, why.text);
	close_fd(env, draft->dir);
	return rc;
}

int env_draft_add(struct env_draft *draft, const void *bytes, size_t count)
{
	return write_all(draft->env, draft->fd, bytes, count);
}

void env_draft_drop(struct env_draft *draft)
{
	close_fd(draft->env, draft->fd);
	remove_name(draft->env, draft->dir, draft->temp);
	close_fd(draft->env, draft->dir);
}

/* Makes contents and mode durable; all that is missing then is the name. After a failure the draft is gone. */
static int seal(struct env_draft *draft, mode_t mode, struct strata_error *err)
{
	const struct env *env = draft->env;
	int rc = ENV_RETRY(env->chmod(env->context, draft->fd, mode));

	if (rc == 0)
		rc = ENV_RETRY(env->sync(env->context, draft->fd, false));
	if (rc < 0) {
		env_draft_drop(draft);
		return fail(err, rc, "write", draft->path);
	}
	close_fd(env, draft->fd);
	return 0;
}

int env_draft_keep(struct env_draft *draft, mode_t mode, struct strata_error *err)
{
	const struct env *env = draft->env;
	int rc = seal(draft, mode, err);

	if (rc < 0)
		return rc;
	rc = ENV_RETRY(env->rename(env->context, draft->dir, draft->temp, draft->name));
	if (rc < 0) {
		remove_name(env, draft->dir, draft->temp);
		rc = fail(err, rc, "replace", draft->path);
	} else {
		rc = sync_dir(env, draft->dir);
		if (rc < 0)
			rc = fail(err, rc,
				  "make durable (the new contents are in place):", draft->path);
	}
	close_fd(env, draft->dir);
	return rc;
}

/* A draft with all of its contents. */
static int open_filled(struct env_draft *draft, const struct env *env, int dir, const char *path,
		       const void *bytes, size_t count, struct strata_error *err)
{
	int rc = env_draft_open(draft, env, dir, path, err);

	if (rc < 0)
		return rc;
	rc = env_draft_add(draft, bytes, count);
	if (rc < 0) {
		env_draft_drop(draft);
		return fail(err, rc, "write", path);
	}
	return 0;
}

int env_write_file(const struct env *env, int dir, const char *path, const void *bytes,
		   size_t count, mode_t mode, struct strata_error *err)
{
	struct env_draft draft;
	int rc = open_filled(&draft, env, dir, path, bytes, count, err);

	return rc < 0 ? rc : env_draft_keep(&draft, mode, err);
}

int env_claim_file(const struct env *env, int dir, const char *path, const void *bytes,
		   size_t count, mode_t mode, struct strata_error *err)
{
	struct env_draft draft;
	int rc = open_filled(&draft, env, dir, path, bytes, count, err);

	if (rc == 0)
		rc = seal(&draft, mode, err);
	if (rc < 0)
		return rc;
	rc = ENV_RETRY(env->link(env->context, draft.dir, draft.temp, draft.name));
	remove_name(env, draft.dir, draft.temp);
	if (rc < 0) {
		rc = fail(err, rc, "create", path);
		goto out;
	}
	rc = sync_dir(env, draft.dir);
	if (rc < 0) {
		remove_name(env, draft.dir, draft.name);
		rc = fail(err, rc, "make durable:", path);
	}
out:
	close_fd(env, draft.dir);
	return rc;
}

/* Reads an open file to its end. */
static int read_all(const struct env *env, int fd, size_t limit_bytes, struct strata_arena *arena,
		    char **ret_bytes, size_t *ret_count)
{
	off_t size = ENV_RETRY(env->size(env->context, fd));
	size_t room = size > 0 && (uintmax_t)size < limit_bytes ? (size_t)size + 1
								: READ_FIRST_BYTES;
	size_t used = 0;
	char *bytes = NULL;

	for (;;) {
		if (!bytes || used == room) {
			room = bytes ? room * 2 : room;
			char *more = strata_arena_get(arena, room + 1);

			if (!more)
				return -ENOMEM;
			if (used)
				memcpy(more, bytes, used);
			bytes = more;
		}
		ssize_t count = ENV_RETRY(env->read(env->context, fd, bytes + used, room - used));

		if (count < 0)
			return (int)count;
		used += (size_t)count;
		if (used > limit_bytes)
			return -E2BIG;
		if (count == 0)
			break;
	}
	bytes[used] = '\0';
	*ret_bytes = bytes;
	*ret_count = used;
	return 0;
}

int env_read_file(const struct env *env, int dir, const char *path, size_t limit_bytes,
		  struct strata_arena *arena, char **ret_bytes, size_t *ret_count,
		  struct strata_error *err)
{
	int fd = ENV_RETRY(env->open(env->context, dir, path,
				     O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0));

	if (fd < 0)
		return fail(err, fd, "open", path);
	int rc = read_all(env, fd, limit_bytes, arena, ret_bytes, ret_count);

	close_fd(env, fd);
	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc == -E2BIG)
		return strata_fail(err, rc, "%.250s has more than %zu bytes", path, limit_bytes);
	return rc < 0 ? fail(err, rc, "read", path) : 0;
}

/* Makes one directory whose parent is there. One that is there already is synced all the same: the call that made it
 * may have been cut short. */
static int make_one_dir(const struct env *env, int dir, const char *path, mode_t mode,
			struct strata_error *err)
{
	struct place place;
	int rc = ENV_RETRY(env->mkdir(env->context, dir, path, mode));
	bool existed = rc == -EEXIST;

	if (rc < 0 && !existed)
		return fail(err, rc, "make the directory", path);
	rc = open_place(env, dir, path, &place, existed ? NULL : err);
	if (rc < 0)
		return existed ? 0
			       : rc; /* "/", "..", or a parent that we may not read: nothing we made */
	rc = sync_dir(env, place.dir);
	close_fd(env, place.dir);
	return rc < 0 ? fail(err, rc, "make durable:", path) : 0;
}

int env_make_dir(const struct env *env, int dir, const char *path, mode_t mode,
		 struct strata_error *err)
{
	size_t length = strlen(path);
	char prefix[PATH_MAX];

	if (length >= sizeof(prefix))
		return fail(err, -ENAMETOOLONG, "make the directory", path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	for (size_t end = 1; end <= length; end++) {
		if (end < length && (path[end] != '/' || path[end - 1] == '/'))
			continue;
		snprintf(prefix, sizeof(prefix), "%.*s", (int)end, path);
		int rc = make_one_dir(env, dir, prefix, mode, err);

		if (rc < 0)
			return rc;
	}
	int fd = ENV_RETRY(env->open(env->context, dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0));

	if (fd < 0)
		return fail(err, fd, "make the directory", path);
	close_fd(env, fd);
	return 0;
}
