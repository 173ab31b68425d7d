/* The backfills, one line each, sorted. */
#include "cluster/cluster_int.h"

extern const struct backfill_class backfill_conservative;
extern const struct backfill_class backfill_easy;
extern const struct backfill_class backfill_easy_sjbf;
extern const struct backfill_class backfill_none;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&backfill_conservative.base,
	&backfill_easy.base,
	&backfill_easy_sjbf.base,
	&backfill_none.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_backfill_kind = {
	.name = "backfill",
	.summary = "which jobs may start before those ahead of them",
	.classes = classes,
};
