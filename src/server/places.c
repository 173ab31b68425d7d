/*
 * The directories of places.h. State and checkpoints are the service's own, and as narrow as what
 * is in them allows: a service that is root's runs jobs of others, who reach their script, token,
 * checkpoints and the socket below it by name, so others may pass through (0711) and not look
 * around. A service of anybody else serves that user alone (0700).
 */
#include "server/places.h"

#include "core/env_trust.h"
#include "server/latents.h"
#include "server/results.h"
#include "server/task_traces.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whatever the umask was, or whoever made it before: jobs must be able to pass. */
static int let_pass(const char *path, const char *what, struct strata_error *err)
{
	struct stat info;
	int fd = geteuid() ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;

	if (geteuid())
		return 0;
	if (fd < 0 || fstat(fd, &info) < 0 ||
	    ((info.st_mode & 0111) != 0111 && fchmod(fd, (info.st_mode & 07777) | 0111) < 0))
		code = errno;
	if (fd >= 0)
		close(fd);
	return code ? strata_fail(err, -code, "cannot let jobs through %s %.200s: %s", what, path,
				  strerror(code))
		    : 0;
}

static int open_own(const struct env *env, const char *path, const char *what,
		    struct strata_error *err)
{
	int rc = env_trust_make_dir(env, path, geteuid() ? 0700 : 0711, ENV_TRUST_OWN_DIR, what,
				    err);

	return rc ? rc : let_pass(path, what, err);
}

/* Of root or of the service's user: all may come to the socket, nobody may put another in its
 * place. */
static int open_socket_dir(const struct env *env, const char *socket, struct strata_error *err)
{
	const char *slash = strrchr(socket, '/');
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s", !slash || slash == socket ? 1 : (int)(slash - socket),
		 slash ? socket : ".");
	return env_trust_make_dir(env, path, 0755, ENV_TRUST_DIR, "the directory of the socket",
				  err);
}

int places_open(const struct env *env, const struct server_conf *conf, struct strata_error *err)
{
	int rc = open_own(env, conf->state_dir, "the state directory", err);

	if (rc == 0)
		rc = open_own(env, conf->checkpoint_dir, "the checkpoint directory", err);
	if (rc == 0)
		rc = results_open(env, conf->state_dir, err);
	if (rc == 0)
		rc = part_open_dir(&latents_place, env, conf->state_dir, err);
	if (rc == 0)
		rc = part_open_dir(&task_traces_place, env, conf->state_dir, err);
	return rc ? rc : open_socket_dir(env, conf->socket, err);
}
