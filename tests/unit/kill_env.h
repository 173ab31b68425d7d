/* An env that ends its process with SIGKILL at a call of the test's choice: what a daemon or a supervisor meets when somebody
 * kills it at the worst moment. */
#ifndef KILL_ENV_H
#define KILL_ENV_H

#include "core/env.h"

#include <signal.h>
#include <unistd.h>

static long kill_at;    /* the call with this number (first is 1) is not made; 0: none */
static long kill_calls; /* so far */

static inline void kill_here(void)
{
	if (++kill_calls == kill_at)
		kill(getpid(), SIGKILL);
}

#define KILL_FUNCTION(type, name, parameters, arguments) \
	static type kill_##name parameters               \
	{                                                \
		kill_here();                             \
		return env_system()->name arguments;     \
	}
KILL_FUNCTION(int, open, (void *c, int dir, const char *path, int flags, mode_t mode),
	      (c, dir, path, flags, mode))
KILL_FUNCTION(ssize_t, read, (void *c, int fd, void *bytes, size_t room), (c, fd, bytes, room))
KILL_FUNCTION(ssize_t, write, (void *c, int fd, const void *bytes, size_t count),
	      (c, fd, bytes, count))
KILL_FUNCTION(int, sync, (void *c, int fd, bool data_only), (c, fd, data_only))
KILL_FUNCTION(int, rename, (void *c, int dir, const char *from, const char *to), (c, dir, from, to))
KILL_FUNCTION(int, link, (void *c, int dir, const char *from, const char *to), (c, dir, from, to))
KILL_FUNCTION(int, unlink, (void *c, int dir, const char *path), (c, dir, path))
KILL_FUNCTION(int, mkdir, (void *c, int dir, const char *path, mode_t mode), (c, dir, path, mode))
KILL_FUNCTION(int, spawn,
	      (void *c, const struct env_command *command, struct env_process *ret_process,
	       struct strata_error *why),
	      (c, command, ret_process, why))
KILL_FUNCTION(int, signal, (void *c, const struct env_process *process, int number, bool group),
	      (c, process, number, group))

static inline struct env kill_env(void)
{
	struct env env = *env_system();

	env.open = kill_open;
	env.read = kill_read;
	env.write = kill_write;
	env.sync = kill_sync;
	env.rename = kill_rename;
	env.link = kill_link;
	env.unlink = kill_unlink;
	env.mkdir = kill_mkdir;
	env.spawn = kill_spawn;
	env.signal = kill_signal;
	return env;
}

#endif
