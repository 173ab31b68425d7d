/* The kind `policy`: what policies.def lists. */
#include <strata/pool.h>

#define CLASS(name) extern const struct strata_policy_class strata_policy_##name;
#include "pool/policies.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_policy_##name.base,
#include "pool/policies.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_policy_kind = {
	.name = "policy",
	.summary = "which generation task of the pool goes first",
	.classes = classes,
};
