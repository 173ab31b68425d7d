/* The kind `reuse`: what reuses.def lists. */
#include <strata/solver.h>

#define CLASS(name) extern const struct strata_reuse_class strata_reuse_##name;
#include "solver/reuses.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_reuse_##name.base,
#include "solver/reuses.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_reuse_kind = {
	.name = "reuse",
	.summary = "which model calls are left out, and what stands in for them",
	.classes = classes,
};
