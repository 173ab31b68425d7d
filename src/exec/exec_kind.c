/* The executors, one line each, sorted. */
#include "exec/exec.h"

/* clang-format off */
static const struct strata_class *const classes[] = {
	&exec_local.base,
	&exec_slurm.base,
	NULL,
};
/* clang-format on */

const struct strata_kind exec_kind = {
	.name = "exec",
	.summary = "where jobs are run",
	.classes = classes,
};
