/* Two lists under one lock, and a descriptor for each side to wait at. */
#include "exec/exec_queue.h"

#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define READY_NS (5 * STRATA_SECOND_NS)

int exec_queue_init(struct exec_queue *queue, struct strata_error *err)
{
	pthread_condattr_t clock;

	*queue = (struct exec_queue){ .to_owner = -1 };
	pthread_mutex_init(&queue->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->changed, &clock);
	pthread_condattr_destroy(&clock);
	queue->to_thread = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return queue->to_thread < 0 ? strata_fail(err, -errno, "no descriptor: %s", strerror(errno))
				    : 0;
}

void exec_queue_fini(struct exec_queue *queue)
{
	struct exec_event ignored;

	exec_work_free(queue->first);
	while (exec_queue_take_news(queue, &ignored))
		;
	if (queue->to_thread >= 0)
		close(queue->to_thread);
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->lock);
}

/* ---- work ---- */

int exec_queue_add(struct exec_queue *queue, enum exec_work_type type, struct exec_key key,
		   struct strata_error *err)
{
	struct exec_work *work = calloc(1, sizeof(*work));

	if (!work)
		return strata_fail_memory(err);
	work->type = type;
	work->key = key;
	pthread_mutex_lock(&queue->lock);
	*(queue->last ? &queue->last->next : &queue->first) = work;
	queue->last = work;
	pthread_mutex_unlock(&queue->lock);
	eventfd_write(queue->to_thread, 1);
	return 0;
}

bool exec_queue_take_work(struct exec_queue *queue, struct exec_work **ret_work)
{
	eventfd_t count;
	bool goes_on;

	eventfd_read(queue->to_thread, &count);
	pthread_mutex_lock(&queue->lock);
	*ret_work = queue->first;
	queue->first = queue->last = NULL;
	goes_on = !queue->stops;
	pthread_mutex_unlock(&queue->lock);
	return goes_on;
}

bool exec_queue_is_stopping(struct exec_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	bool stops = queue->stops;

	pthread_mutex_unlock(&queue->lock);
	return stops;
}

void exec_work_free(struct exec_work *work)
{
	while (work) {
		struct exec_work *next = work->next;

		free(work);
		work = next;
	}
}

void exec_queue_stop(struct exec_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->stops = true;
	pthread_mutex_unlock(&queue->lock);
	eventfd_write(queue->to_thread, 1);
}

/* ---- what there is at first ---- */

void exec_queue_set_ready(struct exec_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->ready = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

void exec_queue_await_ready(struct exec_queue *queue, const struct env *env)
{
	int64_t until_ns = env_now_ns(env, ENV_MONOTONIC) + READY_NS;
	struct timespec until = { .tv_sec = until_ns / STRATA_SECOND_NS,
				  .tv_nsec = until_ns % STRATA_SECOND_NS };

	pthread_mutex_lock(&queue->lock);
	while (!queue->ready && pthread_cond_timedwait(&queue->changed, &queue->lock, &until) == 0)
		;
	pthread_mutex_unlock(&queue->lock);
}

/* ---- news ---- */

struct exec_news *exec_news_new(enum exec_event_type type, struct exec_key key)
{
	struct exec_news *news = calloc(1, sizeof(*news));

	if (news) {
		strata_arena_init(&news->arena, &news->memory, 0);
		news->event = (struct exec_event){ .type = type, .key = key };
	}
	return news;
}

void exec_news_drop(struct exec_news *news)
{
	if (!news)
		return;
	strata_arena_fini(&news->arena);
	free(news);
}

void exec_queue_tell(struct exec_queue *queue, struct exec_news *news)
{
	pthread_mutex_lock(&queue->lock);
	*(queue->news_last ? &queue->news_last->next : &queue->news) = news;
	queue->news_last = news;
	pthread_mutex_unlock(&queue->lock);
	eventfd_write(queue->to_owner, 1);
}

void exec_queue_tell_trouble(struct exec_queue *queue, struct exec_key key, int code,
			     const char *text)
{
	struct exec_news *news = exec_news_new(EXEC_TROUBLE, key);

	if (!news)
		return;
	news->event.status.error_code = -code;
	news->event.status.error = strata_arena_text(&news->arena, text, strlen(text));
	exec_queue_tell(queue, news);
}

bool exec_queue_take_news(struct exec_queue *queue, struct exec_event *ret_event)
{
	struct exec_news *news;

	exec_news_drop(queue->shown);
	queue->shown = NULL;
	pthread_mutex_lock(&queue->lock);
	news = queue->news;
	if (news)
		queue->news = news->next;
	if (!queue->news)
		queue->news_last = NULL;
	pthread_mutex_unlock(&queue->lock);
	if (!news)
		return false;
	queue->shown = news;
	*ret_event = news->event;
	return true;
}
