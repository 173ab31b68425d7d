/* The kind `strategy`: what strategies.def lists. */
#include <strata/place.h>

#define CLASS(name) extern const struct strata_strategy_class strata_strategy_##name;
#include "place/strategies.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_strategy_##name.base,
#include "place/strategies.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_strategy_kind = {
	.name = "strategy",
	.summary = "which op of a model runs on which device",
	.classes = classes,
};
