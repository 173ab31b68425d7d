/*
 * The secret with which a job talks to the service: "strata_job_17.2.MAC", the attempt it is of and
 * a keyed hash of that. Nothing is stored for it but the service's one key, so a restart changes
 * nothing. It is good as long as that attempt is the job's present one and has not ended, which
 * whoever reads it has to check.
 */
#ifndef SERVER_JOB_TOKEN_H
#define SERVER_JOB_TOKEN_H

#include "core/env.h"

#define JOB_TOKEN_PREFIX "strata_job_"
enum {
	JOB_TOKEN_KEY_BYTES = 32,
	JOB_TOKEN_BYTES = sizeof(JOB_TOKEN_PREFIX) + 20 + 1 + 10 + 1 + 64,
};

/* Reads the key STATE/job.key, for the service's eyes only; makes it, durably, if there is none. */
int job_token_open(const struct env *env, const char *state_dir,
		   unsigned char ret_key[JOB_TOKEN_KEY_BYTES], struct strata_error *err);

/* The token of an attempt; returns ret_text. Thread-safe, as is reading. */
char *job_token_make(const unsigned char key[JOB_TOKEN_KEY_BYTES], int64_t job, int64_t attempt,
		     char ret_text[JOB_TOKEN_BYTES]);
/* Whose it is; false: it is none of ours. Takes as long for a wrong one as for a right one. */
bool job_token_read(const unsigned char key[JOB_TOKEN_KEY_BYTES], const char *text,
		    int64_t *ret_job, int64_t *ret_attempt);

#endif
