/* The sources of noise, one line each, sorted. */
#include <strata/noise.h>

extern const struct strata_noise_class strata_noise_cuda;
extern const struct strata_noise_class strata_noise_philox;
extern const struct strata_noise_class strata_noise_torch;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_noise_cuda.base,
	&strata_noise_philox.base,
	&strata_noise_torch.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_noise_kind = {
	.name = "noise",
	.summary = "where the random numbers of a picture come from",
	.classes = classes,
};
