/* States of jobs and the reasons for them: ours on the left, Slurm's on the right. */
#ifndef SLURM_JOB_STATE_H
#define SLURM_JOB_STATE_H

#include <stddef.h>

struct slurm_state {
	const char *code; /* "PD" */
	const char *name; /* "PENDING" */
};

/* Every state that Slurm knows, in its order; NULL past the end. */
const struct slurm_state *slurm_state_at(size_t index);
/* By code or name, in any case; NULL: none. */
const struct slurm_state *slurm_state_find(const char *word, size_t length);

struct slurm_status {
	const struct slurm_state *state;
	const char *reason; /* "Resources" */
};

/* What the service's words are in Slurm; either may be NULL. */
void slurm_status_find(const char *state, const char *reason, struct slurm_status *ret_status);

#endif
