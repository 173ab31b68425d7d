/* Taking submissions in: from what was read to rows, requests to the cluster and live jobs. The
 * decider's. */
#ifndef SERVER_SUBMIT_H
#define SERVER_SUBMIT_H

#include "server/decider.h"
#include "server/request.h"
#include "server/submission.h"

/* Where a submission begins: there is one way back, by submit_undo. */
struct submit_mark {
	struct batch_mark batch;
	int64_t first_id; /* its jobs have this number and those behind it */
	size_t gangs;     /* that are known */
};

struct submit_mark submit_begin(const struct decider *decider);
/* Takes one in: a job, or as many as its array has elements. After a failure the caller undoes what
 * it has begun. */
int submit_take(struct decider *decider, const struct submission *submission,
		const struct identity *who, struct strata_arena *arena, struct strata_error *err);
/* So many jobs were taken in since; their numbers follow each other. */
size_t submit_count(const struct decider *decider, const struct submit_mark *mark);
/* Takes back everything since the mark, of which nobody has been told: jobs, rows and events.
 * Their numbers are the next ones'. */
void submit_undo(struct decider *decider, const struct submit_mark *mark);

#endif
