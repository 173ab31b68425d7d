/* What the commands about pipelines share: budgets as users write them, and ^C. In the full program. */
#include "cli/engine_options.h"

#include <strata/engine.h>
#include <strata/text.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

int engine_budget_read(struct cli *cli, const char *text, int64_t *ret_bytes, double *ret_share)
{
	size_t length = text ? strlen(text) : 0;
	double share;

	*ret_bytes = 0;
	*ret_share = 0;
	if (!text)
		return 0;
	if (length == 0 || text[length - 1] != '%')
		return strata_size_parse(text, length, 1, 0, ret_bytes, &cli->err);
	int rc = strata_real_parse(text, length - 1, &share, &cli->err);

	if (rc == 0 && !(share > 0 && share <= 100))
		rc = strata_fail(&cli->err, -EINVAL,
				 "--budget %s: expected more than 0%% and at most 100%%", text);
	if (rc == 0)
		*ret_share = share / 100;
	return rc;
}

static struct strata_engine *to_stop;

static void stop(int signal)
{
	(void)signal;
	strata_engine_stop(to_stop, true);
}

void engine_interruptible(struct strata_engine *engine)
{
	struct sigaction action = { .sa_handler = engine ? stop : SIG_DFL,
				    .sa_flags = (int)SA_RESETHAND }; /* a second one ends at once */

	to_stop = engine;
	sigaction(SIGINT, &action, NULL);
}
