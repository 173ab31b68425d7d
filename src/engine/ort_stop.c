/* Watching the flags of runs: see ort_stop.h. */
#include "engine/ort_stop.h"

#include <pthread.h>
#include <time.h>

enum { LOOK_NS = 10 * 1000 * 1000 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct ort_stop *first;
	bool started, asleep;
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

static void *look(void *arg)
{
	const struct timespec pause = { 0, LOOK_NS };

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&watch.lock);
		while (!watch.first) {
			watch.asleep = true;
			pthread_cond_wait(&watch.wake, &watch.lock);
		}
		watch.asleep = false;
		for (struct ort_stop *run = watch.first; run; run = run->next)
			if (*run->stop)
				ort_fail(run->ort, run->ort->set_terminate(run->options), -1, "",
					 NULL);
		pthread_mutex_unlock(&watch.lock);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void start(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	watch.started = pthread_create(&thread, &attr, look, NULL) == 0;
	pthread_attr_destroy(&attr);
}

void ort_stop_begin(struct ort_stop *run)
{
	pthread_mutex_lock(&watch.lock);
	if (!watch.started)
		start();
	run->next = watch.first;
	watch.first = run;
	if (watch.asleep)
		pthread_cond_signal(&watch.wake);
	pthread_mutex_unlock(&watch.lock);
}

void ort_stop_end(struct ort_stop *run)
{
	pthread_mutex_lock(&watch.lock);
	struct ort_stop **at = &watch.first;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	pthread_mutex_unlock(&watch.lock);
}
