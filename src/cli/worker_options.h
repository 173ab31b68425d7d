/* What cmd_worker.c reads and worker_run.c, in the full program, does. */
#ifndef CLI_WORKER_OPTIONS_H
#define CLI_WORKER_OPTIONS_H

#include "cli/cli.h"

struct worker_options {
	const char *model, *folder, *devices, *backend, *budget, *noise;
	int64_t call_limit_ns, away_ns;
};
int worker_run_cli(struct cli *cli, const void *conf, char **operands, size_t operand_count);

#endif
