/* The placements, one line each, sorted. */
#include <strata/cluster.h>

extern const struct strata_placement_class strata_placement_best_fit;
extern const struct strata_placement_class strata_placement_fgd;
extern const struct strata_placement_class strata_placement_first_fit;
extern const struct strata_placement_class strata_placement_foresight;
extern const struct strata_placement_class strata_placement_most_free;
extern const struct strata_placement_class strata_placement_spread;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_placement_best_fit.base,
	&strata_placement_fgd.base,
	&strata_placement_first_fit.base,
	&strata_placement_foresight.base,
	&strata_placement_most_free.base,
	&strata_placement_spread.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_placement_kind = {
	.name = "placement",
	.summary = "which node takes a job",
	.classes = classes,
};
