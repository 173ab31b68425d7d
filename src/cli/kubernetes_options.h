/* What cmd_kubernetes_scheduler.c and cmd_kubernetes_jobs.c read and kubernetes_run.c, in the full
 * program, does. */
#ifndef CLI_KUBERNETES_OPTIONS_H
#define CLI_KUBERNETES_OPTIONS_H

#include "cli/cli.h"

struct kubernetes_scheduler_options {
	const char *kubeconfig, *context, *name, *gpu_resource;
	const char *order, *placement, *backfill, *preempt;
	const char *listen, *lease_namespace, *lease_name, *identity;
	int64_t time_limit_ns, gang_patience_ns, half_life_ns, lease_ns;
	int64_t high_priority, low_priority, connections;
	struct strata_map weights; /* of double */
	bool insecure;
};
int kubernetes_scheduler_run(struct cli *cli, const void *conf, char **operands,
			     size_t operand_count);

struct kubernetes_jobs_options {
	const char *kubeconfig, *context, *space;
	int64_t look_ns;
	bool insecure;
};
int kubernetes_jobs_run(struct cli *cli, const void *conf, char **operands, size_t operand_count);

#endif
