/* none: strict order. The first job that does not fit stops the pass. */
#include "cluster/cluster_int.h"

static int none_pass(struct pass *pass, const void *conf, void *state)
{
	struct lot *blocked;
	int rc = pass_start_head(pass, &blocked);

	(void)conf, (void)state;
	if (rc == 0 && blocked && !blocked->first->suspended)
		blocked->first->reason = STRATA_REASON_RESOURCES;
	return rc;
}

const struct backfill_class backfill_none = {
	.base = {
		.name = "none",
		.aliases = "fcfs, strict",
		.summary = "strict order: the first job that does not fit stops the rest",
	},
	.pass = none_pass,
};
