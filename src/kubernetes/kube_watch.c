/* The thread of a watch, and the queue between it and its owner. libcurl's multi interface is used
 * for one transfer at a time, because waiting in it can be ended from outside. */
#include "kubernetes/kube_watch_int.h"

#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { USUAL_PAGE = 500, USUAL_AHEAD = 4096, POLL_MS = 60000 };
#define USUAL_RETRY_NS (250 * STRATA_MS_NS)
#define USUAL_RETRY_MAX_NS (10 * STRATA_SECOND_NS)
#define USUAL_FOLLOW_NS (5 * STRATA_MINUTE_NS)

/* ---- the queue ---- */

static struct kube_waiting *make_waiting(enum kube_watch_type type, json_t *object,
					 const struct strata_error *error)
{
	size_t length = error ? strlen(error->text) : 0;
	struct kube_waiting *waiting = calloc(1, sizeof(*waiting) + length + 1);

	if (!waiting)
		return NULL;
	waiting->event.type = type;
	waiting->event.object = object;
	if (error) {
		waiting->event.error = memcpy(waiting + 1, error->text, length);
		waiting->event.code = error->code;
	}
	return waiting;
}

int kube_watch_push(struct kube_watch *watch, enum kube_watch_type type, json_t *object,
		    const struct strata_error *error)
{
	struct kube_waiting *waiting = make_waiting(type, object, error);
	bool stops;

	if (!waiting)
		return -ENOMEM;
	pthread_mutex_lock(&watch->lock);
	while (watch->waiting >= watch->conf.ahead && !atomic_load(&watch->stops))
		pthread_cond_wait(&watch->changed, &watch->lock);
	stops = atomic_load(&watch->stops);
	if (!stops) {
		*(watch->last ? &watch->last->next : &watch->first) = waiting;
		watch->last = waiting;
		watch->waiting++;
		eventfd_write(watch->wake, 1);
	}
	pthread_mutex_unlock(&watch->lock);
	if (stops)
		free(waiting);
	return stops ? -ECANCELED : 0;
}

bool kube_watch_next(struct kube_watch *watch, struct kube_watch_event *ret_event)
{
	struct kube_waiting *waiting;
	eventfd_t count;

	free(watch->shown);
	pthread_mutex_lock(&watch->lock);
	waiting = watch->first;
	if (waiting) {
		watch->first = waiting->next;
		watch->waiting--;
		pthread_cond_signal(&watch->changed);
	} else {
		eventfd_read(watch->wake, &count); /* it does not block */
	}
	if (!watch->first)
		watch->last = NULL;
	pthread_mutex_unlock(&watch->lock);
	watch->shown = waiting;
	if (waiting)
		*ret_event = waiting->event;
	return waiting != NULL;
}

int kube_watch_fd(const struct kube_watch *watch)
{
	return watch->wake;
}

/* ---- transfers ---- */

/* Told once when an outage begins, and once when it is over. */
static void set_troubled(struct kube_watch *watch, bool troubled, const struct strata_error *error)
{
	if (watch->troubled != troubled &&
	    kube_watch_push(watch, troubled ? KUBE_TROUBLE : KUBE_FINE, NULL, error) == 0)
		watch->troubled = troubled;
}

void kube_watch_look(struct kube_watch *watch)
{
	long status = 0;

	curl_easy_getinfo(watch->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300 && !watch->moved) {
		watch->moved = true;
		watch->wait_ns = 0;
		set_troubled(watch, false, NULL);
	}
}

static bool find_end(struct kube_watch *watch, CURLcode *ret_code)
{
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(watch->multi, &left)))
		if (message->msg == CURLMSG_DONE) {
			*ret_code = message->data.result;
			return true;
		}
	return false;
}

int kube_watch_perform(struct kube_watch *watch, struct kube_transfer *transfer,
		       struct kube_answer *answer, struct strata_error *err)
{
	CURLcode code = CURLE_OUT_OF_MEMORY;
	CURLMcode state = curl_multi_add_handle(watch->multi, watch->curl);
	int running;

	watch->moved = false;
	while (state == CURLM_OK && !atomic_load(&watch->stops)) {
		state = curl_multi_perform(watch->multi, &running);
		kube_watch_look(watch);
		if (state == CURLM_OK && find_end(watch, &code))
			break;
		if (state == CURLM_OK)
			state = curl_multi_poll(watch->multi, NULL, 0, POLL_MS, NULL);
	}
	curl_multi_remove_handle(watch->multi, watch->curl);
	if (atomic_load(&watch->stops))
		return strata_fail(err, -ECANCELED, "the watch ends");
	int rc = kube_transfer_end(transfer, code, answer, err);

	watch->asked_wait_ns = answer->retry_after_ns;
	return rc;
}

/* ---- the thread ---- */

/* After a failure; until then the owner may end it. */
static void pause_before_next(struct kube_watch *watch)
{
	const struct kube_watch_conf *conf = &watch->conf;
	int64_t wait_ns = watch->wait_ns ? 2 * watch->wait_ns : conf->retry_ns;
	uint32_t chance = 0;
	struct timespec until;

	wait_ns = wait_ns < conf->retry_max_ns ? wait_ns : conf->retry_max_ns;
	watch->wait_ns = wait_ns;
	env_random(conf->env, &chance, sizeof(chance), NULL);
	wait_ns = wait_ns / 2 + (int64_t)((double)wait_ns / 2 * chance / UINT32_MAX);
	if (wait_ns < watch->asked_wait_ns)
		wait_ns = watch->asked_wait_ns;
	watch->asked_wait_ns = 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (until.tv_nsec + wait_ns) / STRATA_SECOND_NS;
	until.tv_nsec = (until.tv_nsec + wait_ns) % STRATA_SECOND_NS;
	pthread_mutex_lock(&watch->lock);
	while (!atomic_load(&watch->stops) &&
	       pthread_cond_timedwait(&watch->changed, &watch->lock, &until) == 0)
		;
	pthread_mutex_unlock(&watch->lock);
}

/* Is the next request to be sent at once? A server that ends streams as soon as they begin, or says
 * again and again that it has forgotten, is not asked without a pause. */
static bool goes_on_at_once(struct kube_watch *watch, int rc, bool listed, int64_t began_ns)
{
	int64_t now_ns = env_now_ns(watch->conf.env, ENV_MONOTONIC), before_ns = watch->stale_ns;

	if (rc == -ESTALE) {
		watch->stale_ns = now_ns;
		return !before_ns || now_ns - before_ns > watch->conf.retry_max_ns;
	}
	return rc == 0 && (listed || watch->took || now_ns - began_ns > STRATA_SECOND_NS);
}

static void *run(void *context)
{
	struct kube_watch *watch = context;

	while (!atomic_load(&watch->stops)) {
		struct strata_error err = { 0 };
		int64_t began_ns = env_now_ns(watch->conf.env, ENV_MONOTONIC);
		bool lists = !watch->version;
		int rc = lists ? kube_watch_list(watch, &err) : kube_watch_follow(watch, &err);

		if (rc == -ESTALE || rc == -EBADMSG || rc == -E2BIG || rc == -EINVAL) {
			free(watch->version);
			watch->version = NULL;
		}
		if (rc && rc != -ECANCELED && rc != -ESTALE)
			set_troubled(watch, true, &err);
		if (!goes_on_at_once(watch, rc, lists, began_ns))
			pause_before_next(watch);
	}
	return NULL;
}

/* ---- open and close ---- */

static void set_usual(int64_t *value, int64_t usual)
{
	if (*value <= 0)
		*value = usual;
}

static int open_parts(struct kube_watch *watch, struct strata_error *err)
{
	struct kube_watch_conf *conf = &watch->conf;

	set_usual(&conf->page, USUAL_PAGE);
	set_usual(&conf->ahead, USUAL_AHEAD);
	set_usual(&conf->retry_ns, USUAL_RETRY_NS);
	set_usual(&conf->retry_max_ns, USUAL_RETRY_MAX_NS);
	set_usual(&conf->follow_ns, USUAL_FOLLOW_NS);
	watch->path = strdup(conf->path);
	watch->query = strdup(conf->query ? conf->query : "");
	watch->multi = curl_multi_init();
	watch->curl = curl_easy_init();
	watch->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!watch->path || !watch->query || !watch->multi || !watch->curl)
		return strata_fail_memory(err);
	if (watch->wake < 0)
		return strata_fail(err, -errno, "no descriptor: %s", strerror(errno));
	return kube_client_open(conf->config, conf->env, &watch->memory, &watch->client, err);
}

int kube_watch_open(const struct kube_watch_conf *conf, struct kube_watch **ret_watch,
		    struct strata_error *err)
{
	struct kube_watch *watch = calloc(1, sizeof(*watch));
	pthread_condattr_t clock;

	if (!watch)
		return strata_fail_memory(err);
	watch->conf = *conf;
	watch->wake = -1;
	map_text_init(&watch->known, &watch->memory);
	buf_init(&watch->line, &watch->memory, 0);
	pthread_mutex_init(&watch->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->changed, &clock);
	pthread_condattr_destroy(&clock);
	int rc = open_parts(watch, err);
	int code = rc ? 0 : pthread_create(&watch->thread, NULL, run, watch);

	if (code)
		rc = strata_fail(err, -code, "no thread: %s", strerror(code));
	watch->runs = rc == 0;
	if (rc)
		kube_watch_close(watch);
	else
		*ret_watch = watch;
	return rc;
}

static void stop(struct kube_watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	atomic_store(&watch->stops, true);
	pthread_cond_broadcast(&watch->changed);
	pthread_mutex_unlock(&watch->lock);
	curl_multi_wakeup(watch->multi);
	pthread_join(watch->thread, NULL);
}

void kube_watch_close(struct kube_watch *watch)
{
	struct kube_watch_event event;

	if (!watch)
		return;
	if (watch->runs)
		stop(watch);
	while (kube_watch_next(watch, &event))
		json_decref(event.object);
	kube_watch_forget(watch);
	map_text_fini(&watch->known);
	buf_fini(&watch->line);
	kube_client_close(watch->client);
	curl_easy_cleanup(watch->curl);
	curl_multi_cleanup(watch->multi);
	pthread_cond_destroy(&watch->changed);
	pthread_mutex_destroy(&watch->lock);
	if (watch->wake >= 0)
		close(watch->wake);
	free(watch->version);
	free(watch->path);
	free(watch->query);
	free(watch);
}
