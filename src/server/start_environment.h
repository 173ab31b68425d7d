/* The environment that a job is started with. */
#ifndef SERVER_START_ENVIRONMENT_H
#define SERVER_START_ENVIRONMENT_H

#include "server/live.h"
#include "server/os_user.h"

/* What is known of a start before its environment is made. */
struct start_place {
	const struct strata_piece *pieces; /* at least one */
	uint32_t piece_count;
	const struct os_user *user;
	const char *directory, *checkpoint_dir;
};

/* NAME=value of all variables, NULL behind the last: those of the submission, and those that say
 * what the job has; on the round's arena. */
int start_environment(struct decider *decider, const struct live *live,
		      const struct start_place *place, const char *const **ret_environment,
		      struct strata_error *err);

#endif
