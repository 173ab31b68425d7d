/* The scheduler of pods: watches, decides, asks, until it is told to end. pods_round.h decides. */
#ifndef PODS_PODS_SCHEDULER_H
#define PODS_PODS_SCHEDULER_H

#include "kubernetes/kube_config.h"
#include "pods/pods_round.h"

struct pods_scheduler_conf {
	const struct kube_config *config; /* borrowed until run returns; so is everything else */
	const struct env *env;
	struct pod_rules rules;
	struct pods_round_conf round;
	int64_t half_life_ns;
	const char *space;  /* namespace of the Lease and the ConfigMap */
	const char *lease;  /* the Lease's name; the ConfigMap's is that and "-usage" */
	const char *self;   /* a name that nobody else has; NULL: host and random */
	const char *listen; /* NULL: nowhere */
	int64_t lease_ns;
	int64_t save_ns; /* the usage is saved so often */
	int64_t threads;
	int64_t talk_per_second;
};

/* Until SIGTERM or SIGINT (0), or the lease is lost (-EPERM). Signals are blocked by it. */
int pods_scheduler_run(const struct pods_scheduler_conf *conf, struct strata_error *err);

#endif
