/* none: every model call is made. */
#include "solver/reuse.h"

#include <string.h>

static void none_plan(const void *conf, const struct strata_solver_row *const *calls, size_t count,
		      struct strata_reuse_use *ret_uses)
{
	(void)conf;
	(void)calls;
	memset(ret_uses, 0, count * sizeof(*ret_uses));
}

const struct strata_reuse_class strata_reuse_none = {
	.base = {
		.name = "none",
		.aliases = "exact",
		.summary = "every model call is made",
	},
	.plan = none_plan,
};
