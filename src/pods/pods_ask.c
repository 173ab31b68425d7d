/* The threads that ask, and the queues before and behind them. */
#include "pods/pods_ask_int.h"

#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { TALK_MAX = 4096 };

static struct asked *make_asked(const struct pods_order *order)
{
	const char *const texts[] = { order->space, order->name,   order->uid,     order->node,
				      order->gpus,  order->reason, order->sentence };
	const char *copies[7] = { NULL };
	size_t bytes = 0;

	for (size_t i = 0; i < 7; i++)
		bytes += texts[i] ? strlen(texts[i]) + 1 : 0;
	struct asked *asked = calloc(1, sizeof(*asked) + bytes);
	char *at = asked ? (char *)(asked + 1) : NULL;

	if (!asked)
		return NULL;
	for (size_t i = 0; i < 7; i++)
		if (texts[i]) {
			copies[i] = memcpy(at, texts[i], strlen(texts[i]) + 1);
			at += strlen(texts[i]) + 1;
		}
	asked->order = *order;
	asked->order.space = copies[0];
	asked->order.name = copies[1];
	asked->order.uid = copies[2];
	asked->order.node = copies[3];
	asked->order.gpus = copies[4];
	asked->order.reason = copies[5];
	asked->order.sentence = copies[6];
	return asked;
}

static void put_last(struct asked_queue *queue, struct asked *asked)
{
	asked->next = NULL;
	*(queue->last ? &queue->last->next : &queue->first) = asked;
	queue->last = asked;
	queue->count++;
}

static struct asked *take_first(struct asked_queue *queue)
{
	struct asked *asked = queue->first;

	if (!asked)
		return NULL;
	queue->first = asked->next;
	if (!queue->first)
		queue->last = NULL;
	queue->count--;
	return asked;
}

static void free_queue(struct asked_queue *queue)
{
	for (struct asked *asked; (asked = take_first(queue));)
		free(asked);
}

static bool is_talk(const struct pods_order *order)
{
	return order->kind == PODS_ORDER_TELL || order->kind == PODS_ORDER_EVENT;
}

int pods_ask_order(struct pods_ask *ask, const struct pods_order *order, struct strata_error *err)
{
	struct asked *asked = make_asked(order);
	bool talk = is_talk(order), full;

	if (!asked)
		return strata_fail_memory(err);
	asked->since_ns = env_now_ns(ask->conf.env, ENV_MONOTONIC);
	pthread_mutex_lock(&ask->lock);
	full = talk && ask->talk.count >= TALK_MAX;
	if (full)
		ask->left_out++;
	else
		put_last(talk ? &ask->talk : &ask->urgent, asked);
	ask->under_way += !full;
	pthread_cond_signal(&ask->changed);
	pthread_mutex_unlock(&ask->lock);
	if (full)
		free(asked);
	return full ? strata_fail(err, -EAGAIN, "too much is to be said") : 0;
}

/* ---- a thread ---- */

/* What is merely said has its turn when nothing else waits and enough time has passed. */
static struct asked *take_talk(struct pods_ask *ask, int64_t *ret_wait_ns)
{
	int64_t now_ns = env_now_ns(ask->conf.env, ENV_MONOTONIC);

	*ret_wait_ns = 0;
	if (!ask->talk.first)
		return NULL;
	if (ask->talk_ns > now_ns) {
		*ret_wait_ns = ask->talk_ns - now_ns;
		return NULL;
	}
	ask->talk_ns = now_ns + STRATA_SECOND_NS / ask->conf.talk_per_second;
	return take_first(&ask->talk);
}

static void wait_for(struct pods_ask *ask, int64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += until.tv_nsec;
	until.tv_sec += ns / STRATA_SECOND_NS;
	until.tv_nsec = ns % STRATA_SECOND_NS;
	pthread_cond_timedwait(&ask->changed, &ask->lock, &until);
}

static struct asked *take(struct pods_ask *ask)
{
	struct asked *asked = NULL;

	pthread_mutex_lock(&ask->lock);
	while (!asked && !atomic_load(&ask->stops)) {
		int64_t wait_ns = 0;

		asked = take_first(&ask->urgent);
		if (!asked)
			asked = take_talk(ask, &wait_ns);
		if (!asked && wait_ns)
			wait_for(ask, wait_ns);
		else if (!asked)
			pthread_cond_wait(&ask->changed, &ask->lock);
	}
	pthread_mutex_unlock(&ask->lock);
	return asked;
}

static void give_result(struct pods_ask *ask, struct asked *asked)
{
	bool told = !is_talk(&asked->order);

	asked->took_ns = env_now_ns(ask->conf.env, ENV_MONOTONIC) - asked->since_ns;
	pthread_mutex_lock(&ask->lock);
	ask->under_way--;
	if (told)
		put_last(&ask->results, asked);
	pthread_mutex_unlock(&ask->lock);
	if (told)
		eventfd_write(ask->wake, 1);
	else
		free(asked);
}

bool pods_ask_pause(struct pods_ask *ask, int64_t ns)
{
	bool goes_on;

	pthread_mutex_lock(&ask->lock);
	if (!atomic_load(&ask->stops))
		wait_for(ask, ns);
	goes_on = !atomic_load(&ask->stops) && atomic_load(ask->conf.leads);
	pthread_mutex_unlock(&ask->lock);
	return goes_on;
}

static void *run(void *asker_any)
{
	struct asker *asker = asker_any;
	struct pods_ask *ask = asker->ask;

	for (struct asked *asked; (asked = take(ask));) {
		if (atomic_load(ask->conf.leads))
			pods_ask_do(asker, asked);
		else
			asked->outcome = PODS_DROPPED;
		give_result(ask, asked);
	}
	return NULL;
}

/* ---- beginning and end ---- */

static int start(struct pods_ask *ask, struct asker *asker, struct strata_error *err)
{
	asker->ask = ask;
	int rc = kube_client_open(ask->conf.config, ask->conf.env, &asker->memory, &asker->client,
				  err);

	if (rc)
		return rc;
	rc = pthread_create(&asker->thread, NULL, run, asker);
	if (rc)
		return strata_fail(err, -rc, "cannot start a thread: %s", strerror(rc));
	asker->runs = true;
	return 0;
}

int pods_ask_open(const struct pods_ask_conf *conf, struct pods_ask **ret_ask,
		  struct strata_error *err)
{
	struct pods_ask *ask = calloc(1, sizeof(*ask) + conf->threads * sizeof(struct asker));
	pthread_condattr_t monotonic;
	int rc = 0;

	if (!ask)
		return strata_fail_memory(err);
	ask->conf = *conf;
	pthread_mutex_init(&ask->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&ask->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	ask->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ask->wake < 0)
		rc = strata_fail(err, -errno, "cannot make an eventfd: %s", strerror(errno));
	for (unsigned i = 0; rc == 0 && i < conf->threads; i++)
		rc = start(ask, &ask->askers[i], err);
	if (rc)
		pods_ask_close(ask);
	else
		*ret_ask = ask;
	return rc;
}

void pods_ask_close(struct pods_ask *ask)
{
	if (!ask)
		return;
	pthread_mutex_lock(&ask->lock);
	atomic_store(&ask->stops, true);
	pthread_cond_broadcast(&ask->changed);
	pthread_mutex_unlock(&ask->lock);
	for (unsigned i = 0; i < ask->conf.threads; i++) {
		if (ask->askers[i].runs)
			pthread_join(ask->askers[i].thread, NULL);
		kube_client_close(ask->askers[i].client);
	}
	free_queue(&ask->urgent);
	free_queue(&ask->talk);
	free_queue(&ask->results);
	free(ask->shown);
	if (ask->wake >= 0)
		close(ask->wake);
	pthread_cond_destroy(&ask->changed);
	pthread_mutex_destroy(&ask->lock);
	free(ask);
}

int pods_ask_fd(const struct pods_ask *ask)
{
	return ask->wake;
}

bool pods_ask_next(struct pods_ask *ask, struct pods_result *ret_result)
{
	eventfd_t count;

	free(ask->shown);
	pthread_mutex_lock(&ask->lock);
	ask->shown = take_first(&ask->results);
	if (!ask->shown)
		eventfd_read(ask->wake, &count); /* it does not block */
	pthread_mutex_unlock(&ask->lock);
	if (!ask->shown)
		return false;
	*ret_result = (struct pods_result){
		.kind = ask->shown->order.kind,
		.outcome = ask->shown->outcome,
		.space = ask->shown->order.space,
		.name = ask->shown->order.name,
		.uid = ask->shown->order.uid,
		.error = ask->shown->err.text,
		.took_ns = ask->shown->took_ns,
	};
	return true;
}

size_t pods_ask_under_way(struct pods_ask *ask)
{
	size_t count;

	pthread_mutex_lock(&ask->lock);
	count = ask->under_way;
	pthread_mutex_unlock(&ask->lock);
	return count;
}

uint64_t pods_ask_left_out(struct pods_ask *ask)
{
	uint64_t count;

	pthread_mutex_lock(&ask->lock);
	count = ask->left_out;
	pthread_mutex_unlock(&ask->lock);
	return count;
}
