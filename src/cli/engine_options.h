/* What the commands about engines take. Their rows are in both programs; what they do is in the full one, which has the engine. */
#ifndef CLI_ENGINE_OPTIONS_H
#define CLI_ENGINE_OPTIONS_H

#include "cli/cli.h"

struct engine_run_options {
	struct strata_map inputs, dims;
	const char *output, *devices, *budget, *backend, *trace, *experience;
	int mode, objective;
	int64_t repeat;
};
int engine_run_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

struct engine_conformance_options {
	const char *backend, *devices;
};
int engine_conformance_run_cli(struct cli *cli, const void *conf, char **operands,
			       size_t operand_count);

#endif
