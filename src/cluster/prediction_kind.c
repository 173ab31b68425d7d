/* The predictions of run times, one line each, sorted. */
#include <strata/cluster.h>

extern const struct strata_prediction_class strata_prediction_learned;
extern const struct strata_prediction_class strata_prediction_requested;
extern const struct strata_prediction_class strata_prediction_user_last2;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_prediction_learned.base,
	&strata_prediction_requested.base,
	&strata_prediction_user_last2.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_prediction_kind = {
	.name = "prediction",
	.summary = "how long a job will run",
	.classes = classes,
};
