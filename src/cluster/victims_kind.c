/* The kind `victims`: what victims.def lists. */
#include "cluster/victims.h"

#define CLASS(name) extern const struct strata_victims_class strata_victims_##name;
#include "cluster/victims.def"
#undef CLASS

const struct strata_choice victims_modes[] = {
	{ "requeue", STRATA_STOP_REQUEUE, "back to its place in the queue" },
	{ "cancel", STRATA_STOP_CANCEL, "for good" },
	{ "suspend", STRATA_STOP_SUSPEND, "frozen where it is; its memory stays taken" },
	{ NULL, 0, NULL },
};

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_victims_##name.base,
#include "cluster/victims.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_victims_kind = {
	.name = "victims",
	.summary = "which running jobs are stopped for one that is more urgent",
	.classes = classes,
};
