/* The kind `noise`: what noises.def lists. */
#include <strata/noise.h>

#define CLASS(name) extern const struct strata_noise_class strata_noise_##name;
#include "core/noises.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_noise_##name.base,
#include "core/noises.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_noise_kind = {
	.name = "noise",
	.summary = "where the random numbers of a picture come from",
	.classes = classes,
};
