/*
 * strata-supervisor: `strata supervise` as a program of its own, without the libraries that the service needs, because there is one process of it
 * for every job that runs.
 */
#include "core/env.h"
#include "exec/supervise.h"

#include <strata/text.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct strata_error err = { 0 };
	int64_t epoch;

	if (argc != 4 || strcmp(argv[1], "supervise") != 0) {
		fprintf(stderr,
			"usage: strata-supervisor supervise DIR EPOCH (the service runs it)\n");
		return STRATA_EXIT_USAGE;
	}
	int rc = strata_int_parse(argv[3], STRATA_TEXT_NUL, 0, INT64_MAX, &epoch, &err);

	if (rc == 0)
		rc = supervise(env_system(), argv[2], epoch, &err);
	if (rc)
		fprintf(stderr, "strata-supervisor: %s\n", err.text);
	return rc ? strata_error_kind(rc)->exit_code : STRATA_EXIT_OK;
}
