/* none: strict order. The first job that does not fit stops the pass. */
#include "cluster/cluster_int.h"

#include <errno.h>

/* When all is quiet and the first still does not fit, what frozen jobs hold may be what it lacks:
 * they go on. */
static int wake_frozen(struct pass *pass, struct job_group *job_group)
{
	while (job_group) {
		struct job_group *next = queue_job_group(tree_next(&job_group->in_order));

		if (job_group->first->suspended && pass_try(pass, job_group, NULL) == PASS_FAILED)
			return -ENOMEM;
		job_group = next;
	}
	return 0;
}

static int none_pass(struct pass *pass, const void *conf, void *state)
{
	struct job_group *blocked;
	int rc = pass_start_head(pass, &blocked);

	(void)conf, (void)state;
	if (rc == 0 && blocked && !blocked->first->suspended)
		blocked->first->reason = STRATA_REASON_RESOURCES;
	if (rc == 0 && blocked && tree_count(&pass->cluster->running) == 0)
		rc = wake_frozen(pass, blocked);
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
