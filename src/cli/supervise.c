/* strata supervise: not for people. The service starts it, once for each job attempt; src/exec says what it does. */
#include "cli/cli.h"

#include "core/env.h"
#include "exec/supervise.h"

#include <strata/text.h>

#include <errno.h>

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	int64_t epoch;

	(void)conf;
	if (operand_count != 2)
		return strata_fail(&cli->err, -EINVAL,
				   "usage: strata supervise DIR EPOCH (the service runs it)");
	int rc = strata_int_parse(operands[1], STRATA_TEXT_NUL, 0, INT64_MAX, &epoch, &cli->err);

	return rc ? rc : supervise(env_system(), operands[0], epoch, &cli->err);
}

/* Raw: it reads no configuration, neither its user's nor the system's. */
const struct cli_command cli_supervise = {
	.name = "supervise",
	.operands = "DIR EPOCH",
	.summary = "run one job attempt to its end",
	.hidden = true,
	.raw = true,
	.operands_min = 2,
	.operands_max = 2,
	.run = run,
};
