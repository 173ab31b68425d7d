/* The walk of env_walk.h. A link is replaced by its text in what is left of the path, as the kernel does it. */
#include "core/env_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* the kernel's own limit */

struct walk {
	env_walk_visit *visit;
	void *context;
	int at;               /* the directory the rest is relative to */
	char rest[PATH_MAX];  /* what is left to go */
	char other[PATH_MAX]; /* while a link is put in front of it */
	int link_count;
};

static int look(struct walk *walk, int fd, const char *name, bool last, struct stat *ret_info)
{
	struct env_walk_step step = { .fd = fd, .name = name };

	if (fstat(fd, &step.info) < 0)
		return -errno;
	step.last = last && !S_ISLNK(step.info.st_mode);
	*ret_info = step.info;
	return walk->visit(walk->context, &step);
}

/* Begins, or begins anew, at the root or at `dir`. */
static int begin(struct walk *walk, int dir)
{
	bool absolute = walk->rest[0] == '/';
	const char *name = absolute ? "/" : ".";
	struct stat info;
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (walk->at >= 0)
		close(walk->at);
	walk->at = fd;
	return look(walk, fd, name, walk->rest[strspn(walk->rest, "/")] == '\0', &info);
}

/* Puts what a link says in front of what is left. */
static int follow(struct walk *walk, int link, const char *rest)
{
	ssize_t length = readlinkat(link, "", walk->other, sizeof(walk->other) - 1);

	if (length < 0)
		return -errno;
	if (++walk->link_count > LINKS_MAX)
		return -ELOOP;
	if (length == 0)
		return -ENOENT;
	int room = (int)sizeof(walk->other) - (int)length;

	if (snprintf(walk->other + length, (size_t)room, "%s%s", *rest ? "/" : "", rest) >= room)
		return -ENAMETOOLONG;
	memcpy(walk->rest, walk->other, sizeof(walk->rest));
	return walk->rest[0] == '/' ? begin(walk, AT_FDCWD) : 0;
}

/* Takes the first component off the rest; false: there is none. */
static bool take_name(struct walk *walk, char name[NAME_MAX + 1], bool *ret_last)
{
	char *from = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(from, "/");

	if (!length)
		return false;
	if (length > NAME_MAX)
		length = NAME_MAX; /* which nobody has: the system says so */
	memcpy(name, from, length);
	name[length] = '\0';
	from += strcspn(from, "/");
	from += strspn(from, "/");
	*ret_last = !*from;
	memmove(walk->rest, from, strlen(from) + 1);
	return true;
}

/* 1: the walk is over, 0: it goes on. */
static int go(struct walk *walk, struct env_walk_end *end)
{
	struct stat info;
	bool last;

	if (!take_name(walk, end->name, &last)) {
		strcpy(end->name, ".");
		return 1;
	}
	int fd = openat(walk->at, end->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && last) {
		end->missing = true;
		return 1;
	}
	if (fd < 0)
		return -errno;
	int rc = look(walk, fd, end->name, last, &info);

	if (rc == 0 && S_ISLNK(info.st_mode))
		rc = follow(walk, fd, walk->rest);
	else if (rc == 0 && last)
		rc = 1;
	else if (rc == 0) {
		close(walk->at);
		walk->at = fd;
		return S_ISDIR(info.st_mode) ? 0 : -ENOTDIR;
	}
	close(fd);
	return rc;
}

int env_walk(int dir, const char *path, env_walk_visit *visit, void *context,
	     struct env_walk_end *ret_end)
{
	struct walk walk = { .visit = visit, .context = context, .at = -1 };
	struct env_walk_end end = { 0 };

	if (!*path)
		return -ENOENT;
	if (snprintf(walk.rest, sizeof(walk.rest), "%s", path) >= (int)sizeof(walk.rest))
		return -ENAMETOOLONG;
	int rc = begin(&walk, dir);

	while (rc == 0)
		rc = go(&walk, &end);
	if (rc < 0) {
		if (walk.at >= 0)
			close(walk.at);
		return rc;
	}
	end.dir = walk.at;
	*ret_end = end;
	return 0;
}
