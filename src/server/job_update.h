/*
 * What waiting jobs ask for becomes another: fields of a job, as they are submitted, over those
 * that it has. The same door as for new jobs decides what may be.
 */
#ifndef SERVER_JOB_UPDATE_H
#define SERVER_JOB_UPDATE_H

#include "server/live.h"
#include "server/request.h"

#include <jansson.h>

/* What a job becomes. Texts are in the arena it was planned with. */
struct job_update {
	unsigned what; /* STRATA_CHANGE_REQUEST and STRATA_CHANGE_DEPENDENCIES, or 0: a note only */
	struct strata_job_request request;
	struct live_spec *spec; /* one reference */
};

/* Takes those fields out of a body that are of what a job asks for; each is checked by itself.
 * NULL: there are none. Any thread. */
int job_update_read(json_t *body, struct strata_arena *arena, json_t **ret_fields,
		    struct strata_error *err);
/* What is asked for, and by whom. */
struct job_update_ask {
	const json_t *fields;
	int64_t time_limit_ns; /* that changes with it; 0: it stays */
	enum role role;        /* an operator may ask for more than the owner */
};

/* What the job would become, if its owner may have that. -EDOM: no node could take it then. */
int job_update_plan(struct decider *decider, const struct live *live,
		    const struct job_update_ask *ask, struct strata_arena *arena,
		    struct job_update *ret_update, struct strata_error *err);
/* The cluster has been told; the row is to be written. Takes the reference. */
void job_update_apply(struct decider *decider, struct live *live, struct job_update *update);
void job_update_drop(struct job_update *update);

#endif
