/*
 * Retention: ended jobs and tasks that are older than `keep`, and tokens that are over, go, a few
 * at a time, in a transaction of its own between two rounds, so that nobody who submits waits long
 * for it. After a few the next follow soon; when there are none it looks again after a while.
 */
#include "server/retain.h"

#include "core/env_log.h"
#include "server/result_budget.h"
#include "server/token.h"

#include <errno.h>
#include <stdio.h>

#define SECOND INT64_C(1000000000)

enum { AT_ONCE = 250 };

#define PAUSE_NS (60 * SECOND)

/* Often enough to keep the promise, for short times as well. */
static int64_t pause_ns(const struct decider *decider)
{
	int64_t ns = decider->conf->keep_ns ? decider->conf->keep_ns / 4 : PAUSE_NS;

	if (result_budget_pause_ns(decider) < ns)
		ns = result_budget_pause_ns(decider);
	return ns < SECOND ? SECOND : ns > PAUSE_NS ? PAUSE_NS : ns;
}

int64_t retain_wait_ms(const struct decider *decider)
{
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);

	return decider->retain_ns <= now_ns ? 1 : (decider->retain_ns - now_ns) / 1000000 + 1;
}

int retain(struct decider *decider, struct strata_error *err)
{
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);
	size_t jobs = 0, tokens = 0, tasks = 0, results = 0;
	int rc = 0;

	if (now_ns < decider->retain_ns)
		return 0;
	if (decider->conf->keep_ns)
		rc = store_forget(decider->store, decider_now_ns(decider) - decider->conf->keep_ns,
				  AT_ONCE, decider->epoch, &jobs, err);
	if (rc == 0 && decider->conf->keep_ns)
		rc = store_forget_tasks(decider->store,
					decider_now_ns(decider) - decider->conf->keep_ns, AT_ONCE,
					decider->epoch, result_budget_gone, decider, &tasks, err);
	if (rc == 0)
		rc = result_budget_sweep(decider, &results, err);
	if (rc == 0)
		rc = token_forget(decider, AT_ONCE, &tokens, err);
	bool more = jobs || tokens || tasks || results;

	decider->retain_ns = now_ns + (more ? SECOND / 4 : pause_ns(decider));
	if (rc && rc != -ESTALE)
		log_warning("retention", "old jobs, tasks and tokens are not forgotten yet: %s",
			    err->text);
	return rc == -ESTALE ? rc : 0; /* all else can wait */
}
