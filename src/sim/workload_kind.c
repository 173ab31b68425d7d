/* The kind `workload`: what workloads.def lists. */
#include "sim/workload.h"

#define CLASS(name) extern const struct workload_class workload_##name;
#include "sim/workloads.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &workload_##name.base,
#include "sim/workloads.def"
#undef CLASS
	NULL,
};

const struct strata_kind workload_kind = {
	.name = "workload",
	.summary = "models that make up logs of jobs",
	.classes = classes,
};
