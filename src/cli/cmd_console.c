/*
 * strata console: not for people. The first process of an interactive job: runs its program and
 * lets people sit at it (src/console). It ends as the program did, by the same signal even, so that
 * the job's end is the program's.
 */
#include "cli/cli.h"

#include "console/console.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void end_by(int number)
{
	sigset_t set;

	prctl(PR_SET_DUMPABLE, 0); /* the program has left its core already */
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), number);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct console_end end = { .code = STRATA_EXIT_FAILED };

	(void)conf;
	if (operand_count < 3 || operands[0][0] != '/')
		return strata_fail(&cli->err, -EINVAL,
				   "`strata console` is what jobs of `strata run` are started "
				   "with; expected a directory, descriptors or -, and a command");
	const struct console_order order = {
		.dir = operands[0],
		.argv = (const char *const *)operands + 2,
		.path = getenv("PATH"),
		.kept = { strchr(operands[1], '0'), strchr(operands[1], '1'),
			  strchr(operands[1], '2') },
	};
	int rc = console_host_run(env_system(), &order, &cli->memory, &end, &cli->err);

	if ((rc == 0 || rc == -ECANCELED) && !console_place_held(order.dir))
		console_place_remove(order.dir); /* nobody else will */
	if (rc)
		return rc;
	if (end.signal)
		end_by(end.signal);
	return end.signal ? 128 + end.signal : end.code;
}

/* Raw: the words are the program's, and it reads no configuration. */
const struct cli_command cli_console = {
	.name = "console",
	.operands = "DIR - COMMAND [ARG…]",
	.summary = "run the command of an interactive job",
	.hidden = true,
	.raw = true,
	.operands_min = 3,
	.operands_max = -1,
	.run = run,
};
