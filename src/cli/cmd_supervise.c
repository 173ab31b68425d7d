/* strata supervise: not for people. The service starts it, for supervisors of jobs to come from;
 * src/exec/fork_server.h says how. */
#include "cli/cli.h"

#include "core/env.h"
#include "exec/fork_server.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return fork_server_run(env_system(), operands, operand_count, &cli->err);
}

/* Raw: it reads no configuration, neither its user's nor the system's. */
const struct cli_command cli_supervise = {
	.name = "supervise",
	.operands = "JOBS [CGROUP]",
	.summary = "supervise job attempts",
	.hidden = true,
	.raw = true,
	.operands_min = 1,
	.operands_max = 2,
	.run = run,
};
