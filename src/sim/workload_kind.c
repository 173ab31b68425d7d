/* The models of workloads, one line each, sorted. */
#include "sim/workload.h"

extern const struct workload_class workload_gpu;
extern const struct workload_class workload_lublin;

static const struct strata_class *const classes[] = {
	&workload_gpu.base,
	&workload_lublin.base,
	NULL,
};

const struct strata_kind workload_kind = {
	.name = "workload",
	.summary = "models that make up logs of jobs",
	.classes = classes,
};
