/* The thread of remover.h. */
#include "server/remover.h"

#include "server/checkpoint.h"
#include "server/decider.h"
#include "server/live.h"
#include "server/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct remover {
	const struct common *common;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	struct removal *first, *last;
	bool ends;
};

static struct removal *next_removal(struct remover *remover)
{
	pthread_mutex_lock(&remover->lock);
	while (!remover->first && !remover->ends)
		pthread_cond_wait(&remover->more, &remover->lock);
	struct removal *removal = remover->first;

	if (removal)
		remover->first = removal->next;
	if (!remover->first)
		remover->last = NULL;
	pthread_mutex_unlock(&remover->lock);
	return removal;
}

static void *run(void *context)
{
	struct remover *remover = context;
	struct removal *removal;

	while ((removal = next_removal(remover))) {
		checkpoint_remove(remover->common, removal);
		free(removal);
	}
	return NULL;
}

int remover_start(struct decider *decider, struct strata_error *err)
{
	struct remover *remover = calloc(1, sizeof(*remover));

	if (!remover)
		return strata_fail_memory(err);
	remover->common = decider->common;
	pthread_mutex_init(&remover->lock, NULL);
	pthread_cond_init(&remover->more, NULL);
	int code = pthread_create(&remover->thread, NULL, run, remover);

	if (code) {
		free(remover);
		return strata_fail(err, -code, "no thread: %s", strerror(code));
	}
	decider->remover = remover;
	return 0;
}

void remover_stop(struct decider *decider)
{
	struct remover *remover = decider->remover;

	if (!remover)
		return;
	pthread_mutex_lock(&remover->lock);
	remover->ends = true;
	pthread_cond_signal(&remover->more);
	pthread_mutex_unlock(&remover->lock);
	pthread_join(remover->thread, NULL);
	pthread_mutex_destroy(&remover->lock);
	pthread_cond_destroy(&remover->more);
	free(remover);
	decider->remover = NULL;
}

void remover_add(struct decider *decider, const struct live *live, const char *path)
{
	struct remover *remover = decider->remover;
	size_t length = strlen(path) + 1;
	struct removal *removal = malloc(sizeof(*removal) + length);

	if (!removal) /* the file stays: better than to end the service for it */
		return;
	*removal = (struct removal){ .job = live->job.id,
				     .uid = (uid_t)live->job.uid,
				     .gid = (gid_t)live->job.gid };
	memcpy(removal->path, path, length);
	pthread_mutex_lock(&remover->lock);
	*(remover->last ? &remover->last->next : &remover->first) = removal;
	remover->last = removal;
	pthread_cond_signal(&remover->more);
	pthread_mutex_unlock(&remover->lock);
}
