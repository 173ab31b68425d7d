/* Who says which op goes where, one line each, sorted. */
#include <strata/place.h>

extern const struct strata_strategy_class strata_strategy_contiguous;
extern const struct strata_strategy_class strata_strategy_exact;
extern const struct strata_strategy_class strata_strategy_heft;
extern const struct strata_strategy_class strata_strategy_load_balance;
extern const struct strata_strategy_class strata_strategy_local_search;
extern const struct strata_strategy_class strata_strategy_portfolio;
extern const struct strata_strategy_class strata_strategy_round_robin;
extern const struct strata_strategy_class strata_strategy_sequential;
extern const struct strata_strategy_class strata_strategy_single;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_strategy_contiguous.base,
	&strata_strategy_exact.base,
	&strata_strategy_heft.base,
	&strata_strategy_load_balance.base,
	&strata_strategy_local_search.base,
	&strata_strategy_portfolio.base,
	&strata_strategy_round_robin.base,
	&strata_strategy_sequential.base,
	&strata_strategy_single.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_strategy_kind = {
	.name = "strategy",
	.summary = "which op of a model runs on which device",
	.classes = classes,
};
