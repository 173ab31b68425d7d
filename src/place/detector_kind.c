/* The kind `detector`: what detectors.def lists. */
#include <strata/detector.h>

#define CLASS(name) extern const struct strata_detector_class strata_detector_##name;
#include "place/detectors.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_detector_##name.base,
#include "place/detectors.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_detector_kind = {
	.name = "detector",
	.summary = "what a model's graph is for",
	.classes = classes,
};
