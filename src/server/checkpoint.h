/* Checkpoints that jobs have written: api_checkpoints.c notes them, the remover deletes them. */
#ifndef SERVER_CHECKPOINT_H
#define SERVER_CHECKPOINT_H

#include "server/live.h"

struct removal;

/* A checkpoint was written: the job goes on from it. An older one may be condemned by it. */
int checkpoint_note(struct decider *decider, struct live *live,
		    const struct strata_checkpoint *checkpoint, struct strata_error *err);
/* One is not wanted any more: deleted, if it is in the job's own directory, and its record with it.
 * On the remover's thread. */
void checkpoint_remove(const struct common *common, const struct removal *removal);

#endif
