/* The schedules, one line each, sorted. */
#include <strata/solver.h>

extern const struct strata_schedule_class strata_schedule_align_your_steps;
extern const struct strata_schedule_class strata_schedule_beta;
extern const struct strata_schedule_class strata_schedule_bong_tangent;
extern const struct strata_schedule_class strata_schedule_ddim_uniform;
extern const struct strata_schedule_class strata_schedule_exponential;
extern const struct strata_schedule_class strata_schedule_flux;
extern const struct strata_schedule_class strata_schedule_gits;
extern const struct strata_schedule_class strata_schedule_karras;
extern const struct strata_schedule_class strata_schedule_kl_optimal;
extern const struct strata_schedule_class strata_schedule_linear_quadratic;
extern const struct strata_schedule_class strata_schedule_normal;
extern const struct strata_schedule_class strata_schedule_polyexponential;
extern const struct strata_schedule_class strata_schedule_sgm_uniform;
extern const struct strata_schedule_class strata_schedule_simple;
extern const struct strata_schedule_class strata_schedule_smoothstep;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_schedule_align_your_steps.base,
	&strata_schedule_beta.base,
	&strata_schedule_bong_tangent.base,
	&strata_schedule_ddim_uniform.base,
	&strata_schedule_exponential.base,
	&strata_schedule_flux.base,
	&strata_schedule_gits.base,
	&strata_schedule_karras.base,
	&strata_schedule_kl_optimal.base,
	&strata_schedule_linear_quadratic.base,
	&strata_schedule_normal.base,
	&strata_schedule_polyexponential.base,
	&strata_schedule_sgm_uniform.base,
	&strata_schedule_simple.base,
	&strata_schedule_smoothstep.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_schedule_kind = {
	.name = "schedule",
	.summary = "where the noise levels of a trajectory lie",
	.classes = classes,
};
