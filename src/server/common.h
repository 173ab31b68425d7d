/*
 * What the deciding thread and the HTTP threads share, and nothing else of either: all of it is
 * atomic, has a lock of its own, or does not change while threads run. Who needs more is on the
 * wrong thread.
 */
#ifndef SERVER_COMMON_H
#define SERVER_COMMON_H

#include "core/env.h"
#include "server/settings.h"
#include "server/service_metrics.h"
#include "server/inbox.h"
#include "server/job_token.h"
#include "server/service_trace.h"
#include "server/worker_set.h"

#include <stdatomic.h>

struct common {
	const struct server_conf *conf; /* numbers of it may change: reload.h */
	const struct env *env;
	struct inbox inbox;
	atomic_bool stopping;    /* the service ends */
	atomic_bool store_down;  /* the store did not answer the last time it was asked */
	atomic_bool standing_by; /* another server leads */
	atomic_bool renew;       /* the settings are to be read again … */
	void (*read_settings)(void *context); /* … by this, on the deciding thread; NULL: never */
	void *read_context;
	_Atomic int64_t event_last; /* the last event that is durable */
	struct metrics metrics;
	struct service_trace trace; /* the deciding thread adds, HTTP threads read */
	unsigned char job_key[JOB_TOKEN_KEY_BYTES];
	struct worker_set workers; /* which jobs may do what workers do */
	/* Which limits of jobs hold, in words; written before anybody asks. "": not known here. */
	char limits[256];
};

/* Since 1970. */
static inline int64_t common_now_ns(const struct common *common)
{
	return env_now_ns(common->env, ENV_REALTIME);
}

#endif
