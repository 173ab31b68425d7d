/*
 * A channel by io_uring. One thread has the ring: it keeps a few requests with the kernel, in the order in which they were asked for, so that
 * the disk is never without work and what is needed first comes first, whatever the loop that asks is doing. The thread sleeps in the kernel
 * and is woken by what is done, or by an eventfd that the ring reads too.
 */
#include "stream/channel.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { DEPTH = 8 }; /* requests with the kernel: of 2 MiB each more than any disk's own queue */

struct uring {
	struct channel base;
	struct strata_memory *memory;
	const int *fds;
	struct io_uring ring; /* the thread's, as those below */
	uint64_t woken;       /* what the eventfd was read into */
	size_t with_kernel;
	struct request_line again; /* begun and not done */
	bool listening;            /* the eventfd is being read */

	int wake;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct request_line todo, done; /* under the lock, as all below */
	size_t under_way;
	bool closing;
};

/* ---- the thread ---- */

static struct request *next_request(struct uring *uring)
{
	struct request *request = request_line_take(&uring->again);

	if (request)
		return request;
	pthread_mutex_lock(&uring->lock);
	request = request_line_take(&uring->todo);
	pthread_mutex_unlock(&uring->lock);
	if (request)
		request->begin_ns = channel_now_ns();
	return request;
}

static void give_to_kernel(struct uring *uring, struct request *request)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
	char *at = request->at + request->done;
	unsigned left = (unsigned)(request->bytes - request->done);
	uint64_t offset = (uint64_t)request->offset + request->done;
	int fd = uring->fds[request->file];

	assert(sqe); /* the ring has room for DEPTH and the eventfd */
	if (request->write)
		io_uring_prep_write(sqe, fd, at, left, offset);
	else
		io_uring_prep_read(sqe, fd, at, left, offset);
	io_uring_sqe_set_data(sqe, request);
	uring->with_kernel++;
}

static void listen_for_news(struct uring *uring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);

	assert(sqe);
	io_uring_prep_read(sqe, uring->wake, &uring->woken, sizeof(uring->woken), 0);
	io_uring_sqe_set_data(sqe, NULL);
	uring->listening = true;
}

static void hand_over(struct uring *uring, struct request *request)
{
	request->end_ns = channel_now_ns();
	pthread_mutex_lock(&uring->lock);
	request_line_add(&uring->done, request);
	pthread_cond_signal(&uring->news);
	pthread_mutex_unlock(&uring->lock);
}

/* What the kernel has done since. */
static void collect(struct uring *uring)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&uring->ring, &cqe) == 0) {
		struct request *request = io_uring_cqe_get_data(cqe);
		int result = cqe->res;

		io_uring_cqe_seen(&uring->ring, cqe);
		if (!request) {
			uring->listening = false;
			continue;
		}
		uring->with_kernel--;
		if (request_advance(request, result))
			hand_over(uring, request);
		else
			request_line_add(&uring->again, request);
	}
}

static bool is_over(struct uring *uring)
{
	pthread_mutex_lock(&uring->lock);
	bool over = uring->closing && !uring->todo.first;

	pthread_mutex_unlock(&uring->lock);
	return over && !uring->with_kernel && !uring->again.first;
}

static void *work(void *context)
{
	struct uring *uring = context;

	while (!is_over(uring)) {
		struct request *request;

		while (uring->with_kernel < DEPTH && (request = next_request(uring)))
			give_to_kernel(uring, request);
		if (!uring->listening)
			listen_for_news(uring);
		int rc = io_uring_submit_and_wait(&uring->ring, 1);

		/* these leave the entries where they are: they go with the next call */
		assert(rc >= 0 || rc == -EINTR || rc == -EAGAIN || rc == -EBUSY);
		collect(uring);
	}
	return NULL;
}

static void wake_thread(struct uring *uring)
{
	uint64_t one = 1;

	while (write(uring->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* ---- the channel ---- */

static void uring_submit(struct channel *channel, struct request *list)
{
	struct uring *uring = (struct uring *)channel;
	size_t count = 0;

	for (struct request *request = list; request; request = request->next, count++) {
		request->done = 0;
		request->rc = 0;
	}
	if (!count)
		return;
	pthread_mutex_lock(&uring->lock);
	request_line_add(&uring->todo, list);
	uring->under_way += count;
	pthread_mutex_unlock(&uring->lock);
	wake_thread(uring);
}

static struct request *uring_reap(struct channel *channel, bool wait)
{
	struct uring *uring = (struct uring *)channel;

	pthread_mutex_lock(&uring->lock);
	while (wait && uring->under_way && !uring->done.first)
		pthread_cond_wait(&uring->news, &uring->lock);
	struct request *request = request_line_take(&uring->done);

	uring->under_way -= request != NULL;
	pthread_mutex_unlock(&uring->lock);
	return request;
}

static void put_uring(struct uring *uring)
{
	io_uring_queue_exit(&uring->ring);
	close(uring->wake);
	pthread_mutex_destroy(&uring->lock);
	pthread_cond_destroy(&uring->news);
	strata_memory_put(uring->memory, uring, sizeof(*uring));
}

static void uring_close(struct channel *channel)
{
	struct uring *uring = (struct uring *)channel;

	pthread_mutex_lock(&uring->lock);
	uring->closing = true;
	pthread_mutex_unlock(&uring->lock);
	wake_thread(uring);
	pthread_join(uring->thread, NULL);
	put_uring(uring);
}

static const struct channel_class uring_class = { "io_uring", uring_submit, uring_reap,
						  uring_close };

int channel_uring_open(const int *fds, size_t fd_count, struct strata_memory *memory,
		       struct channel **ret_channel, struct strata_error *err)
{
	struct uring *uring = strata_memory_get(memory, sizeof(*uring));

	(void)fd_count;
	if (!uring)
		return strata_fail_memory(err);
	uring->base.cls = &uring_class;
	uring->memory = memory;
	uring->fds = fds;
	uring->wake = eventfd(0, EFD_CLOEXEC);
	int rc = uring->wake < 0 ? -errno : io_uring_queue_init(2 * DEPTH, &uring->ring, 0);

	if (rc) {
		if (uring->wake >= 0)
			close(uring->wake);
		strata_memory_put(memory, uring, sizeof(*uring));
		return strata_fail(err, rc, "the kernel has no io_uring: %s", strerror(-rc));
	}
	pthread_mutex_init(&uring->lock, NULL);
	pthread_cond_init(&uring->news, NULL);
	rc = pthread_create(&uring->thread, NULL, work, uring);
	if (rc) {
		put_uring(uring);
		return strata_fail(err, -rc, "cannot start a thread: %s", strerror(rc));
	}
	*ret_channel = &uring->base;
	return 0;
}
