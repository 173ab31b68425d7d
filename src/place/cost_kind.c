/* The kind `cost`: what costs.def lists. */
#include <strata/place.h>

#define CLASS(name) extern const struct strata_cost_class strata_cost_##name;
#include "place/costs.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_cost_##name.base,
#include "place/costs.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_cost_kind = {
	.name = "cost",
	.summary = "what an op costs on a device",
	.classes = classes,
};
