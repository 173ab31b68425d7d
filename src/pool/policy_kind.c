/* The policies of the pool, one line each, sorted. */
#include <strata/pool.h>

extern const struct strata_policy_class strata_policy_deadline;
extern const struct strata_policy_class strata_policy_fair;
extern const struct strata_policy_class strata_policy_fifo;
extern const struct strata_policy_class strata_policy_priority;
extern const struct strata_policy_class strata_policy_resource_aware;
extern const struct strata_policy_class strata_policy_round_robin;
extern const struct strata_policy_class strata_policy_shortest;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_policy_deadline.base,
	&strata_policy_fair.base,
	&strata_policy_fifo.base,
	&strata_policy_priority.base,
	&strata_policy_resource_aware.base,
	&strata_policy_round_robin.base,
	&strata_policy_shortest.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_policy_kind = {
	.name = "policy",
	.summary = "which generation task of the pool goes first",
	.classes = classes,
};
