/* From the small program to the full one, which is beside it where both were built, and among the
 * programs for programs where they are installed. */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_hand_over(struct cli *cli)
{
	static const char *const places[] = { "strata-full", "../libexec/strata/strata-full" };
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	/* OpenMP reads it when it is loaded: threads that wait for an operator sleep and do not
	 * spin, which costs others their cores. */
	setenv("OMP_WAIT_POLICY", "passive", 0);

	self[length > 0 ? length : 0] = '\0';
	char *slash = strrchr(self, '/');

	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self), self, places[i]);
		execv(path, cli->argv);
	}
	return strata_fail(&cli->err, -ENOENT,
			   "this needs the program strata-full, which is not beside %s: %s", self,
			   strerror(errno));
}
