/* The inbox of inbox.h. */
#include "server/inbox.h"

#include "server/request.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int inbox_open(struct inbox *inbox, struct strata_error *err)
{
	pthread_mutex_init(&inbox->lock, NULL);
	inbox->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return inbox->wake_fd < 0 ? strata_fail(err, -errno, "no eventfd: %s", strerror(errno)) : 0;
}

void inbox_close(struct inbox *inbox)
{
	if (inbox->wake_fd >= 0)
		close(inbox->wake_fd);
	pthread_mutex_destroy(&inbox->lock);
}

void inbox_wake(struct inbox *inbox)
{
	uint64_t one = 1;

	if (write(inbox->wake_fd, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

bool inbox_put(struct inbox *inbox, struct request *request)
{
	pthread_mutex_lock(&inbox->lock);
	bool room = inbox->count < STRATA_SERVER_QUEUE_MAX && !inbox->ended;

	if (room) {
		request->next = NULL;
		*(inbox->last ? &inbox->last->next : &inbox->first) = request;
		inbox->last = request;
		inbox->count++;
	}
	pthread_mutex_unlock(&inbox->lock);
	if (room)
		inbox_wake(inbox);
	return room;
}

struct request *inbox_take(struct inbox *inbox)
{
	struct request *first;
	uint64_t count;

	if (read(inbox->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		perror("strata: eventfd");
	pthread_mutex_lock(&inbox->lock);
	first = inbox->first;
	inbox->first = inbox->last = NULL;
	inbox->count = 0;
	pthread_mutex_unlock(&inbox->lock);
	return first;
}

struct request *inbox_end(struct inbox *inbox)
{
	pthread_mutex_lock(&inbox->lock);
	inbox->ended = true;
	pthread_mutex_unlock(&inbox->lock);
	return inbox_take(inbox);
}

void inbox_give_back(struct inbox *inbox, struct request *first)
{
	struct request *last = first;
	size_t count = 1;

	for (; last->next; last = last->next)
		count++;
	pthread_mutex_lock(&inbox->lock);
	last->next = inbox->first;
	inbox->first = first;
	if (!inbox->last)
		inbox->last = last;
	inbox->count += count;
	pthread_mutex_unlock(&inbox->lock);
}
