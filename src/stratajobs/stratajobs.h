/* The controller of StrataJobs: watches them, asks the service, writes back what became of them. */
#ifndef STRATAJOBS_STRATAJOBS_H
#define STRATAJOBS_STRATAJOBS_H

#include "client/client.h"
#include "kubernetes/kube_config.h"

struct stratajobs_conf {
	const struct kube_config *config; /* borrowed until run returns; so is everything else */
	const struct env *env;
	struct client *service;
	const char *space; /* only of this namespace; NULL: all */
	int64_t look_ns;   /* a job that has not ended is looked at so often */
};

/* Until SIGTERM or SIGINT. Signals are blocked by it. */
int stratajobs_run(const struct stratajobs_conf *conf, struct strata_error *err);

#endif
