/*
 * Copies of checkpoints in S3 (`checkpoint_path`). A job writes to its directory as ever; what it
 * has finished there is copied by processes that have its user's rights and no more
 * (strata-checkpoints), and a job whose checkpoint is not here, because the service is on another
 * machine by now, gets it before it is started. What is forgotten on the disk is forgotten there.
 *
 * A copy that fails is tried again, later and later, for as long as the checkpoint is kept; nothing
 * of the job waits for it. A start waits for its fetch.
 */
#ifndef SERVER_MIRROR_H
#define SERVER_MIRROR_H

#include "server/decider.h"
#include "server/live.h"

/* Starts its threads if there is a checkpoint_path. */
int mirror_start(struct decider *decider, struct strata_error *err);
void mirror_stop(struct decider *decider);

/* Copies a checkpoint of the job, if it is one in the job's own directory. */
void mirror_store(struct decider *decider, const struct live *live, const char *path);
/* Forgets the copy of one. */
void mirror_drop(struct decider *decider, const struct live *live, const char *path);
/* Fetches the checkpoint that the job would go on from, if it is not here. True: its start waits,
 * and mirror_take tells when it may go on. */
bool mirror_fetch(struct decider *decider, struct live *live);

/* What came of a fetch. */
struct mirror_answer {
	int64_t job, attempt;
	int code; /* 0: it is here; -ENOENT: there is no copy; else why it did not work, for now */
	char why_not[STRATA_ERROR_TEXT_BYTES];
};
/* Notes what became of copies; the next fetch that has ended. False: none. */
bool mirror_take(struct decider *decider, struct mirror_answer *ret_answer);

/* Is there a copy of the checkpoint? ret_why_not: what went wrong, as far as it has; borrowed until
 * the next call of the decider's. */
bool mirror_has(struct decider *decider, const struct live *live, const char *path,
		const char **ret_why_not);

struct buf;
/* Figures for Prometheus; all 0 without a checkpoint_path. */
void mirror_print(const struct decider *decider, struct buf *buf);

#endif
