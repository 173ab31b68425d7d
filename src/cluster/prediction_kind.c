/* The kind `prediction`: what predictions.def lists. */
#include <strata/cluster.h>

#define CLASS(name) extern const struct strata_prediction_class strata_prediction_##name;
#include "cluster/predictions.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_prediction_##name.base,
#include "cluster/predictions.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_prediction_kind = {
	.name = "prediction",
	.summary = "how long a job will run",
	.classes = classes,
};
