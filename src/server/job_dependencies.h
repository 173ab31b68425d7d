/*
 * What a job waits for: from what was written ("afterok:12_3") to dependencies of the cluster. Jobs
 * that the cluster has forgotten, because they ended a while ago or before a restart, are looked up
 * in the store, so that the answer is the same whenever the job is submitted.
 */
#ifndef SERVER_JOB_DEPENDENCIES_H
#define SERVER_JOB_DEPENDENCIES_H

#include "server/decider.h"

/* Fills the request's dependencies; the list is in the arena. `taken`: the job was taken in
 * before and is restored; what it waits for was known then, and if it is not known any more it
 * has ended. Otherwise -ESRCH for a job that there is not. */
int depend_fill(struct decider *decider, const struct job_spec *spec, bool taken,
		struct strata_arena *arena, struct strata_job_request *request,
		struct strata_error *err);

#endif
