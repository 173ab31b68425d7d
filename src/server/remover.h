/*
 * The remover: a thread that deletes checkpoints. A checkpoint may be a directory of any number of
 * files, and whoever decides has no time for that. What is asked for is done before the service
 * ends; after a crash the job's directory is tidied up with its last checkpoint.
 */
#ifndef SERVER_REMOVER_H
#define SERVER_REMOVER_H

#include "server/live.h"

struct removal {
	struct removal *next;
	int64_t job;
	uid_t uid; /* whose rights it is done with */
	gid_t gid;
	char path[]; /* of the checkpoint */
};

struct remover;
int remover_start(struct decider *decider, struct strata_error *err);
/* Once all that was asked for is done. */
void remover_stop(struct decider *decider);
/* Deletes the checkpoint at `path` of a job, some time soon. */
void remover_add(struct decider *decider, const struct live *live, const char *path);

#endif
