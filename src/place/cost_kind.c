/* What an op costs on a device, one line each, sorted. A plug-in adds a model of its own (examples/cost_linear.c). */
#include <strata/place.h>

extern const struct strata_cost_class strata_cost_roofline;
extern const struct strata_cost_class strata_cost_table;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_cost_roofline.base,
	&strata_cost_table.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_cost_kind = {
	.name = "cost",
	.summary = "what an op costs on a device",
	.classes = classes,
};
