/*
 * strata-supervisor: `strata supervise` as a program of its own, without the libraries that the
 * service needs, because there is one process of it for every job that runs.
 */
#include "core/env.h"
#include "exec/fork_server.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct strata_error err = { 0 };
	int rc = argc < 2 || strcmp(argv[1], "supervise") != 0
			 ? fork_server_run(env_system(), NULL, 0, &err)
			 : fork_server_run(env_system(), argv + 2, (size_t)argc - 2, &err);

	if (rc)
		fprintf(stderr, "strata-supervisor: %s\n", err.text);
	return rc ? strata_error_kind(rc)->exit_code : STRATA_EXIT_OK;
}
