/*
 * A channel of threads that each do one request at a time by a function that may block. For files where there is no io_uring, and for memory,
 * whose transfers are copies.
 */
#include "stream/channel.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 16 };

struct threads {
	struct channel base;
	struct channel_class cls; /* with a name of its own */
	struct strata_memory *memory;
	channel_transfer *transfer;
	void *context;

	pthread_mutex_t lock;
	pthread_cond_t work, news;      /* there is something to do; something is done */
	struct request_line todo, done; /* under the lock, as all below */
	size_t under_way;               /* taken and not handed back */
	bool closing;
	pthread_t threads[THREADS_MAX];
	size_t thread_count;
};

static void serve(struct threads *threads, struct request *request)
{
	request->begin_ns = channel_now_ns();
	while (!request_advance(request, threads->transfer(threads->context, request)))
		;
	request->end_ns = channel_now_ns();
}

static void *work(void *context)
{
	struct threads *threads = context;

	pthread_mutex_lock(&threads->lock);
	for (;;) {
		struct request *request = request_line_take(&threads->todo);

		if (!request && threads->closing)
			break;
		if (!request) {
			pthread_cond_wait(&threads->work, &threads->lock);
			continue;
		}
		pthread_mutex_unlock(&threads->lock);
		serve(threads, request);
		pthread_mutex_lock(&threads->lock);
		request_line_add(&threads->done, request);
		pthread_cond_signal(&threads->news);
	}
	pthread_mutex_unlock(&threads->lock);
	return NULL;
}

static void threads_submit(struct channel *channel, struct request *list)
{
	struct threads *threads = (struct threads *)channel;
	size_t count = 0;

	for (struct request *request = list; request; request = request->next, count++) {
		request->done = 0;
		request->rc = 0;
	}
	pthread_mutex_lock(&threads->lock);
	request_line_add(&threads->todo, list);
	threads->under_way += count;
	pthread_cond_broadcast(&threads->work);
	pthread_mutex_unlock(&threads->lock);
}

static struct request *threads_reap(struct channel *channel, bool wait)
{
	struct threads *threads = (struct threads *)channel;

	pthread_mutex_lock(&threads->lock);
	while (wait && threads->under_way && !threads->done.first)
		pthread_cond_wait(&threads->news, &threads->lock);
	struct request *request = request_line_take(&threads->done);

	threads->under_way -= request != NULL;
	pthread_mutex_unlock(&threads->lock);
	return request;
}

static void threads_close(struct channel *channel)
{
	struct threads *threads = (struct threads *)channel;

	pthread_mutex_lock(&threads->lock);
	threads->closing = true;
	pthread_cond_broadcast(&threads->work);
	pthread_mutex_unlock(&threads->lock);
	for (size_t i = 0; i < threads->thread_count; i++)
		pthread_join(threads->threads[i], NULL);
	pthread_mutex_destroy(&threads->lock);
	pthread_cond_destroy(&threads->work);
	pthread_cond_destroy(&threads->news);
	strata_memory_put(threads->memory, threads, sizeof(*threads));
}

int channel_threads_open(const char *name, channel_transfer *transfer, void *context,
			 size_t thread_count, struct strata_memory *memory,
			 struct channel **ret_channel, struct strata_error *err)
{
	struct threads *threads = strata_memory_get(memory, sizeof(*threads));

	assert(thread_count >= 1 && thread_count <= THREADS_MAX);
	if (!threads)
		return strata_fail_memory(err);
	threads->cls = (struct channel_class){ name, threads_submit, threads_reap, threads_close };
	threads->base.cls = &threads->cls;
	threads->memory = memory;
	threads->transfer = transfer;
	threads->context = context;
	pthread_mutex_init(&threads->lock, NULL);
	pthread_cond_init(&threads->work, NULL);
	pthread_cond_init(&threads->news, NULL);
	for (; threads->thread_count < thread_count; threads->thread_count++) {
		int rc = pthread_create(&threads->threads[threads->thread_count], NULL, work,
					threads);

		if (rc) {
			threads_close(&threads->base);
			return strata_fail(err, -rc, "cannot start a thread: %s", strerror(rc));
		}
	}
	*ret_channel = &threads->base;
	return 0;
}

/* ---- transfers ---- */

ssize_t channel_transfer_files(void *context, const struct request *request)
{
	const int *fds = context;
	char *at = request->at + request->done;
	size_t left = request->bytes - request->done;
	off_t offset = request->offset + (off_t)request->done;
	ssize_t result = request->write ? pwrite(fds[request->file], at, left, offset)
					: pread(fds[request->file], at, left, offset);

	return result < 0 ? -errno : result;
}

ssize_t channel_transfer_memory(void *context, const struct request *request)
{
	const struct channel_block *block = &((const struct channel_block *)context)[request->file];
	int64_t offset = request->offset + (int64_t)request->done;
	char *at = request->at + request->done;
	size_t left = request->bytes - request->done;

	if (offset >= block->size)
		return 0;
	if ((int64_t)left > block->size - offset)
		left = (size_t)(block->size - offset);
	if (request->write)
		memcpy(block->bytes + offset, at, left);
	else
		memcpy(at, block->bytes + offset, left);
	return (ssize_t)left;
}
