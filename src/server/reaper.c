/* The reaper: a thread that looks after connections. It wakes streams that have something to say
 * and hangs up on callers that are too slow. */
#include "server/reaper.h"

#include "server/connection.h"
#include "server/event_stream.h"

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
	struct front *front = context;
	int64_t swept_ns = 0;

	while (!atomic_load(&front->reaper_stops)) {
		int64_t now_ns = env_now_ns(front->env, ENV_MONOTONIC);

		streams_look(front->streams, now_ns);
		if (now_ns - swept_ns >= SWEEP_NS) {
			connections_sweep(front, now_ns);
			swept_ns = now_ns;
		}
		rest(STREAMS_NS);
	}
	return NULL;
}

int reaper_start(struct front *front, struct strata_error *err)
{
	int code = pthread_create(&front->reaper, NULL, attend, front);

	if (code)
		return strata_fail(err, -code, "no thread: %s", strerror(code));
	front->reaper_runs = true;
	return 0;
}

void reaper_stop(struct front *front)
{
	if (!front->reaper_runs)
		return;
	atomic_store(&front->reaper_stops, true);
	pthread_join(front->reaper, NULL);
	front->reaper_runs = false;
}
