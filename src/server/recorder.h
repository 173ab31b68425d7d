/*
 * The record: everything that the cluster and the pools are told and what they decide, as lines
 * (formats/recording.h) in a file that `strata sim rerun` decides over. Lines gather while a round
 * goes on and are written before its commit: whatever was done was recorded before, also when the
 * service is killed. The record is no part of what the service promises: when it cannot be written
 * any more, that is said once and the service goes on without.
 */
#ifndef SERVER_RECORDER_H
#define SERVER_RECORDER_H

#include "server/decider.h"

#include <strata/pool.h>

/* Begins a record of the cluster that is about to be made, if the settings want one, and listens to
 * it. */
int recorder_open(struct decider *decider, struct strata_cluster_conf *cluster,
		  struct strata_error *err);
/* Of a pool: who it is, in its record. Lives as long as the pool. */
struct recorder_pool {
	struct decider *decider;
	struct strata_pool *const *pool; /* whose state is compared now and then */
	const char *name;
	uint64_t picks;
};
/* The same for a pool that is about to be made by the spec `policy`; its place and name are
 * borrowed as long as the pool lives. */
void recorder_pool(struct decider *decider, struct recorder_pool *record,
		   struct strata_pool *const *pool, const char *name, const char *policy,
		   struct strata_pool_conf *conf);
/* Writes what has gathered. */
void recorder_write(struct decider *decider);
void recorder_close(struct decider *decider);

#endif
