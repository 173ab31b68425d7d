/*
 * A path taken component by component, each looked at before it is entered. What the kernel does in one call is done here in steps, by
 * descriptors, so that nothing that was looked at can be exchanged before it is used.
 */
#ifndef CORE_ENV_WALK_H
#define CORE_ENV_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* One component: the descriptor (O_PATH, of a link the link itself) is borrowed during the call. 0, or a negative code that ends the walk. */
struct env_walk_step {
	int fd;
	struct stat info;
	/* "/" for where an absolute path, or a link to one, begins; "." for where a relative one does */
	const char *name;
	bool last; /* nothing follows; false for links, since what they lead to does */
};
typedef int env_walk_visit(void *context, const struct env_walk_step *step);

/* Where a walk ended: a directory and a name in it that is no link, or is not there. */
struct env_walk_end {
	int dir; /* O_PATH; the caller closes it */
	char name[NAME_MAX + 1];
	bool missing; /* nobody has the name */
};

/* Walks `path` from the directory `dir` (AT_FDCWD: the current one), following links. 0, the visitor's code, or that of the system. */
int env_walk(int dir, const char *path, env_walk_visit *visit, void *context,
	     struct env_walk_end *ret_end);

#endif
