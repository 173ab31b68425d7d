/* The kind `exec`: what executors.def lists. */
#include "exec/exec.h"

#define CLASS(name) extern const struct exec_class exec_##name;
#include "exec/executors.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &exec_##name.base,
#include "exec/executors.def"
#undef CLASS
	NULL,
};

const struct strata_kind exec_kind = {
	.name = "exec",
	.summary = "where jobs are run",
	.classes = classes,
};
