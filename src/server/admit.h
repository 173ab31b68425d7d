/* The door that every submission and every change comes through, whichever way it came in. */
#ifndef SERVER_ADMIT_H
#define SERVER_ADMIT_H

#include "formats/job_spec.h"
#include "server/live.h"
#include "server/request.h"

/* The job as this caller may have it: account, partition and quality of service become those
 * that count, and nodes of partitions that are not open to it are excluded if it names none.
 * Texts are the server's or in the arena. */
int admit_submission(struct decider *decider, const struct identity *who, struct job_spec *spec,
		     struct strata_arena *arena, struct strata_error *err);
int admit_change(struct decider *decider, const struct identity *who, const struct live *live,
		 const struct strata_job_change *change, struct strata_error *err);

#endif
