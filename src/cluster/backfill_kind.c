/* The kind `backfill`: what backfills.def lists. */
#include "cluster/cluster_int.h"

#define CLASS(name) extern const struct backfill_class backfill_##name;
#include "cluster/backfills.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &backfill_##name.base,
#include "cluster/backfills.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_backfill_kind = {
	.name = "backfill",
	.summary = "which jobs may start before those ahead of them",
	.classes = classes,
};
