/* interval: the last output again, where a call is left out. */
#include "solver/reuse.h"

static const struct strata_option interval_options[] = {
	REUSE_CALLS,
	{ 0 }
};

static void interval_plan(const void *conf_any, const struct strata_solver_row *const *calls,
			  size_t count, struct strata_reuse_use *ret_uses)
{
	const struct reuse_conf *conf = conf_any;
	struct reuse_conf last = *conf;

	last.order = 0;
	reuse_plan(&last, calls, count, ret_uses);
}

const struct strata_reuse_class strata_reuse_interval = {
	.base = {
		.name = "interval",
		.summary = "the last output stands in for those that are left out",
		.conf_size = sizeof(struct reuse_conf),
		.options = interval_options,
	},
	.plan = interval_plan,
};
