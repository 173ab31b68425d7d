/*
 * Files that the commands about engines write. A file is written beside its name and renamed at the end, and a rename
 * asks nothing of what it replaces: a device or a pipe would be gone. So what is there must be a file, and a symbolic
 * link is followed.
 */
#include "cli/engine_options.h"

#include "core/env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int engine_file_target(struct cli *cli, const char *path, const char **ret_target)
{
	struct stat info;
	char real[PATH_MAX];

	if (stat(path,
		 &info)) { /* a new name; what is wrong with its directory is told by who opens it */
		*ret_target = path;
		return 0;
	}
	if (!S_ISREG(info.st_mode))
		return strata_fail(&cli->err, S_ISDIR(info.st_mode) ? -EISDIR : -EINVAL,
				   "%.250s is %s; expected the path of a file", path,
				   S_ISDIR(info.st_mode) ? "a directory" : "a device or a pipe");
	if (!realpath(path, real))
		return strata_fail(&cli->err, -errno, "%.250s: %s", path, strerror(errno));
	*ret_target = strata_arena_printf(&cli->arena, "%s", real);
	return *ret_target ? 0 : strata_fail_memory(&cli->err);
}

int engine_file_write(struct cli *cli, const char *path, const void *bytes, size_t count)
{
	const char *target;
	int rc = engine_file_target(cli, path, &target);

	return rc ? rc
		  : env_write_file(env_system(), AT_FDCWD, target, bytes, count, cli_file_mode(),
				   &cli->err);
}
