/* Checkpoints a job wrote; saved.h has the contract. Looked for by polling: watches are few per
 * user, supervisors many. */
#include "exec/saved.h"

#include "core/env_path.h"

#include <strata/text.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t time_of(const struct stat *info)
{
	return (int64_t)info->st_mtim.tv_sec * STRATA_SECOND_NS + info->st_mtim.tv_nsec;
}

static bool ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), tail = strlen(ending);

	return length >= tail && strcmp(name + length - tail, ending) == 0;
}

static bool is_whole(const char *name)
{
	return name[0] != '.' && !ends_in(name, ".tmp") && !ends_in(name, ".part") &&
	       strlen(name) < SAVED_NAME_BYTES;
}

/* The newest of an open directory; of equal times the name that sorts last, which is the higher
 * number. */
static void find_newest(DIR *dir, struct saved *newest)
{
	const struct dirent *entry;
	struct stat info;

	while ((entry = readdir(dir))) {
		if (!is_whole(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		int64_t written_ns = time_of(&info);

		if (newest->name[0] &&
		    (written_ns < newest->written_ns || (written_ns == newest->written_ns &&
							 strcmp(entry->d_name, newest->name) <= 0)))
			continue;
		snprintf(newest->name, sizeof(newest->name), "%s", entry->d_name);
		newest->inode = info.st_ino;
		newest->written_ns = written_ns;
	}
}

/* Of a file, or of the files below a directory: a checkpoint may be several. */
static int64_t size_of(int dir, const char *name, int depth)
{
	enum { DEPTH_MAX = 16 };
	const struct dirent *entry;
	struct stat info;
	int64_t sum = 0;

	if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!S_ISDIR(info.st_mode))
		return info.st_size;
	int fd = depth == DEPTH_MAX
			 ? -1
			 : openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	while (list && (entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			sum += size_of(fd, entry->d_name, depth + 1);
	if (list)
		closedir(list);
	return sum;
}

static bool look(const char *path, struct saved *last)
{
	struct saved newest = { 0 };
	struct stat info;
	int fd = env_path_open(AT_FDCWD, path, ENV_PATH_DIR, O_RDONLY, 0, NULL);
	DIR *dir = fd < 0 || fstat(fd, &info) < 0 || time_of(&info) == last->dir_ns ? NULL
										    : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	find_newest(dir, &newest);
	if (newest.name[0])
		newest.size_bytes = size_of(dirfd(dir), newest.name, 0);
	closedir(dir);
	/* a change within the clock's grain of this look must not hide the next one */
	last->dir_ns = time_of(&info);
	if (!newest.name[0] ||
	    (strcmp(newest.name, last->name) == 0 && newest.inode == last->inode &&
	     newest.written_ns == last->written_ns))
		return false;
	newest.dir_ns = last->dir_ns;
	*last = newest;
	return true;
}

bool saved_look(const struct launch_user *user, const char *checkpoint_dir, struct saved *last)
{
	launch_as_user_begin(user);
	bool found = look(checkpoint_dir, last);

	launch_as_user_end(user);
	return found;
}

static int record_path(const char *checkpoint_dir, char *path, size_t room,
		       struct strata_error *err)
{
	size_t length = strlen(checkpoint_dir);

	while (length > 1 && checkpoint_dir[length - 1] == '/')
		length--;
	if (length + sizeof(".json") > room)
		return strata_fail(err, -ENAMETOOLONG, "the path of the checkpoints is too long");
	snprintf(path, room, "%.*s.json", (int)length, checkpoint_dir);
	return 0;
}

/* A job that reported this checkpoint has said its step, which looking at the file does not
 * tell. */
static int64_t step_of(const struct env *env, const char *path,
		       const struct record_checkpoint *checkpoint, struct strata_memory *memory)
{
	struct record_checkpoint known = { 0 };
	struct strata_arena arena;
	int64_t step = checkpoint->step;

	strata_arena_init(&arena, memory, 0);
	if (step < 0 &&
	    record_read(env, AT_FDCWD, path, &record_checkpoint_schema, &arena, &known, NULL) ==
		    0 &&
	    known.path && strcmp(known.path, checkpoint->path) == 0 &&
	    known.written_ns >= checkpoint->written_ns)
		step = known.step;
	strata_arena_fini(&arena);
	return step;
}

int saved_record(const struct env *env, const struct launch_user *user,
		 const struct exec_order *order, const struct record_checkpoint *checkpoint,
		 struct strata_memory *memory, struct strata_error *err)
{
	char path[PATH_MAX];
	int rc = record_path(order->checkpoint_dir, path, sizeof(path), err);

	if (rc)
		return rc;
	if (!order->checkpoint_place)
		launch_as_user_begin(user);
	struct record_checkpoint own = *checkpoint;

	own.step = step_of(env, path, checkpoint, memory);
	rc = record_write(env, AT_FDCWD, path, &record_checkpoint_schema, &own, memory, err);
	if (!order->checkpoint_place)
		launch_as_user_end(user);
	return rc;
}
