/* The models of workloads, one line each, sorted. */
#include "sim/workload.h"

extern const struct workload_class workload_gpu;
extern const struct workload_class workload_lublin;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&workload_gpu.base,
	&workload_lublin.base,
	NULL,
};
/* clang-format on */

const struct strata_kind workload_kind = {
	.name = "workload",
	.summary = "models that make up logs of jobs",
	.classes = classes,
};
