/* The kind `solver`: what solvers.def lists. */
#include <strata/solver.h>

#define CLASS(name) extern const struct strata_solver_class strata_solver_##name;
#include "solver/solvers.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_solver_##name.base,
#include "solver/solvers.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_solver_kind = {
	.name = "solver",
	.summary = "how a denoising trajectory is stepped",
	.classes = classes,
};
