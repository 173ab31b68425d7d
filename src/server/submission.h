/* A job as it was sent to be taken in: read by an HTTP thread, handed to the decider (submit.h). */
#ifndef SERVER_SUBMISSION_H
#define SERVER_SUBMISSION_H

#include "formats/job_spec.h"

#include <jansson.h>

struct submission {
	struct job_spec spec;
	json_t *json;       /* without script and environment; the submission's reference */
	const char *script; /* bytes, or NULL */
	size_t script_length;
	const char *environment; /* NAME=value, each with its NUL; or NULL */
	size_t environment_length;
	bool uncharged; /* a job of the service's own: nobody's usage grows by it. Never read */
};

/* Reads one job object; the JSON is changed. Any thread. */
int submission_read(json_t *json, struct strata_arena *arena, struct submission *ret_submission,
		    struct strata_error *err);

#endif
