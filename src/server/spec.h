/*
 * A job as it is asked for (formats/job_spec.h), translated into what the cluster decides by. Pure:
 * nothing is looked up.
 */
#ifndef SERVER_SPEC_H
#define SERVER_SPEC_H

#include "formats/job_spec.h"

#include <strata/cluster.h>

/* What is the same for all jobs. */
struct spec_rules {
	int64_t time_limit_ns; /* of a job that asks for none … */
	int64_t time_limit_ns_max;
	uint32_t gpus_max; /* of one node */
};

/* Fills everything but the id, user, array, gang and dependencies, which are the caller's to
 * know. Texts are the spec's. -EINVAL names the field. A clock without a zone is UTC's. */
int spec_request(const struct job_spec *spec, const struct spec_rules *rules, int64_t now_ns,
		 struct strata_job_request *ret_request, struct strata_error *err);

/* Is the memory of all tasks or nodes together a number that can be stored? What an earlier version
 * took in is not asked. */
int spec_check_memory(const struct strata_job_request *request, struct strata_error *err);

#endif
