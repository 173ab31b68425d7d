/* The thread of worker_beat.h. What it says may be a moment old: the service takes up only what
 * nobody has, and looks at that only when it knows of no lease. */
#include "worker/worker_beat.h"

#include <strata/text.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { BEATS_IN_A_LEASE = 6 };
#define EVERY_NS (5 * STRATA_SECOND_NS) /* until a lease is known */

int worker_beat_init(struct worker_beat *beat, const struct worker_link *link, int64_t limit_ns,
		     struct strata_error *err)
{
	pthread_condattr_t how;

	memset(beat, 0, sizeof(*beat));
	beat->link = link;
	beat->limit_ns = limit_ns;
	beat->every_ns = EVERY_NS;
	beat->sign_ns = link->now_ns(link->context);
	if (pthread_mutex_init(&beat->lock, NULL))
		return strata_fail_memory(err);
	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	int rc = pthread_cond_init(&beat->changed, &how);

	pthread_condattr_destroy(&how);
	if (rc == 0)
		return 0;
	pthread_mutex_destroy(&beat->lock);
	return strata_fail_memory(err);
}

int worker_beat_once(struct worker_beat *beat, struct strata_error *err)
{
	const struct worker_link *link = beat->link;

	pthread_mutex_lock(&beat->lock);
	bool hangs = link->now_ns(link->context) - beat->sign_ns > beat->limit_ns;
	struct worker_held held = beat->held;

	pthread_mutex_unlock(&beat->lock);
	return hangs ? strata_fail(err, -ETIME, "a call of the model takes too long")
		     : worker_api_beat(link, &held, err);
}

/* Until it is time to beat; false: it is to end. */
static bool wait(struct worker_beat *beat)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	pthread_mutex_lock(&beat->lock);
	int64_t ns = until.tv_nsec + beat->every_ns;

	until.tv_sec += (time_t)(ns / STRATA_SECOND_NS);
	until.tv_nsec = (long)(ns % STRATA_SECOND_NS);
	int rc = 0;

	while (!beat->end && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&beat->changed, &beat->lock, &until);
	bool on = !beat->end;

	pthread_mutex_unlock(&beat->lock);
	return on;
}

static void *run(void *context)
{
	struct worker_beat *beat = context;
	bool hung = false;

	while (wait(beat)) {
		struct strata_error err;
		/* a service that is away, or refuses, is the loop's to deal with */
		int rc = worker_beat_once(beat, &err);

		if (rc == -ETIME && !hung)
			beat->link->say(beat->link->context,
					"a call of the model takes too long; the lease is let go");
		hung = rc == -ETIME;
	}
	return NULL;
}

int worker_beat_start(struct worker_beat *beat, struct strata_error *err)
{
	sigset_t all, before;

	/* signals are the loop's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&beat->thread, NULL, run, beat);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return strata_fail(err, -rc, "cannot start the heartbeat: %s", strerror(rc));
	beat->has_thread = true;
	return 0;
}

void worker_beat_fini(struct worker_beat *beat)
{
	pthread_mutex_lock(&beat->lock);
	beat->end = true;
	pthread_cond_signal(&beat->changed);
	pthread_mutex_unlock(&beat->lock);
	if (beat->has_thread)
		pthread_join(beat->thread, NULL);
	pthread_cond_destroy(&beat->changed);
	pthread_mutex_destroy(&beat->lock);
}

void worker_beat_sign(struct worker_beat *beat)
{
	if (!beat)
		return;
	pthread_mutex_lock(&beat->lock);
	beat->sign_ns = beat->link->now_ns(beat->link->context);
	pthread_mutex_unlock(&beat->lock);
}

void worker_beat_hold(struct worker_beat *beat, const struct worker_held *held, int64_t lease_ns)
{
	if (!beat)
		return;
	worker_beat_sign(beat);
	pthread_mutex_lock(&beat->lock);
	beat->held = *held;
	if (lease_ns > 0)
		beat->every_ns = lease_ns / BEATS_IN_A_LEASE;
	pthread_mutex_unlock(&beat->lock);
}
