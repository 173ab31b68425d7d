/* What is found out about a graph, one line each, sorted. */
#include <strata/detector.h>

extern const struct strata_detector_class strata_detector_attention;
extern const struct strata_detector_class strata_detector_kv_cache;
extern const struct strata_detector_class strata_detector_modality;
extern const struct strata_detector_class strata_detector_phase;
extern const struct strata_detector_class strata_detector_tied;
extern const struct strata_detector_class strata_detector_workload;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_detector_attention.base,
	&strata_detector_kv_cache.base,
	&strata_detector_modality.base,
	&strata_detector_phase.base,
	&strata_detector_tied.base,
	&strata_detector_workload.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_detector_kind = {
	.name = "detector",
	.summary = "what a model's graph is for",
	.classes = classes,
};
