/* taylor: outputs that are left out are continued from those before, by a line or a parabola. */
#include "solver/reuse.h"

static const struct strata_option taylor_options[] = {
	REUSE_CALLS,
	{ "order", STRATA_INT, REUSE_AT(order), .integer = { 1, 1, STRATA_REUSE_OUTPUTS_MAX - 1 },
	  .help = "1: a line through the last two outputs, 2: a parabola through three" },
	{ 0 }
};

static void taylor_plan(const void *conf, const struct strata_solver_row *const *calls,
			size_t count, struct strata_reuse_use *ret_uses)
{
	reuse_plan(conf, calls, count, ret_uses);
}

const struct strata_reuse_class strata_reuse_taylor = {
	.base = {
		.name = "taylor",
		.aliases = "taylorseer",
		.summary = "a line or a parabola through the last outputs stands in",
		.conf_size = sizeof(struct reuse_conf),
		.options = taylor_options,
	},
	.plan = taylor_plan,
};
