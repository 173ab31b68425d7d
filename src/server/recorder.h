/*
 * The record: everything that the cluster is told and what it decides, as lines
 * (formats/recording.h) in a file that `strata sim rerun` decides over. Lines gather while a round
 * goes on and are written before its commit: whatever was done was recorded before, also when the
 * service is killed. The record is no part of what the service promises: when it cannot be written
 * any more, that is said once and the service goes on without.
 */
#ifndef SERVER_RECORDER_H
#define SERVER_RECORDER_H

#include "server/decider.h"

/* Begins a record of the cluster that is about to be made, if the settings want one, and listens to
 * it. */
int recorder_open(struct decider *decider, struct strata_cluster_conf *cluster,
		  struct strata_error *err);
/* Writes what has gathered. */
void recorder_write(struct decider *decider);
void recorder_close(struct decider *decider);

#endif
