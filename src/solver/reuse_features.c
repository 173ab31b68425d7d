/* features: every call is made, but some compute only the outer part of the model, with what came up from its inner part in an earlier one. What looks at the
 * output itself can be had this way too, since each row has an output of its own. */
#include "solver/reuse.h"

#include <string.h>

static const struct strata_option features_options[] = { REUSE_CALLS, { 0 } };

static void features_plan(const void *conf, const struct strata_solver_row *const *calls,
			  size_t count, struct strata_reuse_use *ret_uses)
{
	(void)calls;
	memset(ret_uses, 0, count * sizeof(*ret_uses));
	for (size_t i = 0; i < count; i++)
		ret_uses[i].features = !reuse_makes(conf, i, count);
}

const struct strata_reuse_class strata_reuse_features = {
	.base = {
		.name = "features",
		.aliases = "deepcache",
		.summary = "some calls compute the outer part of a UNet only",
		.conf_size = sizeof(struct reuse_conf),
		.options = features_options,
	},
	.plan = features_plan,
};
