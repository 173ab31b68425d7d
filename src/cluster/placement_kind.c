/* The kind `placement`: what placements.def lists. */
#include <strata/cluster.h>

#define CLASS(name) extern const struct strata_placement_class strata_placement_##name;
#include "cluster/placements.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_placement_##name.base,
#include "cluster/placements.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_placement_kind = {
	.name = "placement",
	.summary = "which node takes a job",
	.classes = classes,
};
