/* One copy, by a process of its own: see mirror.h. */
#ifndef SERVER_MIRROR_PROCESS_H
#define SERVER_MIRROR_PROCESS_H

#include "s3/copy.h"
#include "server/settings.h"

#include <strata/memory.h>
#include <sys/types.h>

/* What is the same for all of them. */
struct mirror_place {
	const struct server_conf *conf; /* borrowed */
	const char *program;            /* strata-checkpoints */
	const char *bucket, *prefix;
};

/* Reads the credentials, starts the process, waits for what it says. pid, under the lock, is set as
 * long as it runs, so that another thread can end it. -EAGAIN: it ended without a word. */
struct mirror_run {
	uid_t uid; /* with whose rights */
	gid_t gid;
	const struct copy_order *order; /* without what `place` and the credentials say */
	pthread_mutex_t *lock;
	pid_t *pid;
};
int mirror_process_run(const struct mirror_place *place, const struct mirror_run *run,
		       struct copy_result *ret_result, struct strata_error *err);

/* The credentials of the settings, as they are now. Texts in the arena. */
struct s3_credentials;
int mirror_credentials(const struct server_conf *conf, struct strata_arena *arena,
		       struct s3_credentials *ret_credentials, struct strata_error *err);

#endif
