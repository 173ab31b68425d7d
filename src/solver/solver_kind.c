/* The solvers, one line each, sorted. */
#include <strata/solver.h>

extern const struct strata_solver_class strata_solver_ddim;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_solver_ddim.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_solver_kind = {
	.name = "solver",
	.summary = "how a denoising trajectory is stepped",
	.classes = classes,
};
