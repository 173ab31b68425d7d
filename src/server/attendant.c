/* The attendant: a thread that looks after connections. It wakes streams that have something to say and hangs up on callers that are too slow. */
#include "server/attendant.h"

#include "server/connection.h"
#include "server/stream.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#define STREAMS_NS (100 * STRATA_MS_NS)
#define SWEEP_NS STRATA_SECOND_NS

static void rest(int64_t ns)
{
	struct timespec time = { .tv_sec = ns / STRATA_SECOND_NS,
				 .tv_nsec = ns % STRATA_SECOND_NS };

	nanosleep(&time, NULL);
}

static void *attend(void *context)
{
	struct server *server = context;
	int64_t swept_ns = 0;

	while (!atomic_load(&server->attendant_stops)) {
		int64_t now_ns = env_now_ns(server->env, ENV_MONOTONIC);

		streams_look(server, now_ns);
		if (now_ns - swept_ns >= SWEEP_NS) {
			connections_sweep(server, now_ns);
			swept_ns = now_ns;
		}
		rest(STREAMS_NS);
	}
	return NULL;
}

int attendant_start(struct server *server, struct strata_error *err)
{
	int code = pthread_create(&server->attendant, NULL, attend, server);

	if (code)
		return strata_fail(err, -code, "no thread: %s", strerror(code));
	server->attendant_runs = true;
	return 0;
}

void attendant_stop(struct server *server)
{
	if (!server->attendant_runs)
		return;
	atomic_store(&server->attendant_stops, true);
	pthread_join(server->attendant, NULL);
	server->attendant_runs = false;
}
