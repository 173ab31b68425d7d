/*
 * The loop. One thread: objects come from a watch, each with a time at which it is looked at next;
 * a step that fails is tried again later and later. What a step has changed comes back by the
 * watch, so nothing is remembered of it.
 */
#include "stratajobs/stratajobs.h"

#include "core/env_log.h"
#include "core/map.h"
#include "kubernetes/kube_watch.h"
#include "stratajobs/stratajob.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, EVENTS_AT_ONCE = 4096, STEPS_AT_ONCE = 256 };
#define AGAIN_FIRST_NS (250 * STRATA_MS_NS)
#define AGAIN_MAX_NS (30 * STRATA_SECOND_NS)

struct known {
	json_t *object;   /* owned; as the API server had it last */
	int64_t due_ns;   /* monotonic; INT64_MAX: nothing is to be done until it changes */
	int64_t again_ns; /* how long was waited after the last failure */
};

struct stratajobs {
	const struct stratajobs_conf *conf;
	struct strata_memory memory;
	struct map_text known; /* of struct known, by "namespace/name" */
	struct kube_watch *watch;
	struct kube_client *client;
	int signals;
	char list_path[PATH_BYTES];
};

static int64_t now_ns(const struct stratajobs *jobs)
{
	return env_now_ns(jobs->conf->env, ENV_MONOTONIC);
}

/* ---- what the watch tells ---- */

static size_t key_of(const json_t *object, char ret_key[PATH_BYTES])
{
	return (size_t)snprintf(ret_key, PATH_BYTES, "%.253s/%.253s",
				kube_text(object, "metadata", "namespace", NULL),
				kube_text(object, "metadata", "name", NULL));
}

static void forget(struct stratajobs *jobs, const char *key, size_t length)
{
	struct known *known = map_text_remove(&jobs->known, key, length);

	if (known)
		json_decref(known->object);
	strata_memory_put(&jobs->memory, known, sizeof(*known));
}

static int note(struct stratajobs *jobs, json_t *object)
{
	char key[PATH_BYTES];
	size_t length = key_of(object, key);
	struct known *known = map_text_get(&jobs->known, key, length);

	if (!known) {
		known = strata_memory_get(&jobs->memory, sizeof(*known));
		if (!known || map_text_put(&jobs->known, key, length, known, NULL)) {
			strata_memory_put(&jobs->memory, known, sizeof(*known));
			return -ENOMEM;
		}
	}
	json_decref(known->object);
	known->object = json_incref(object);
	known->due_ns = 0;
	known->again_ns = 0;
	return 0;
}

static void take_events(struct stratajobs *jobs)
{
	struct kube_watch_event event;
	char key[PATH_BYTES];

	for (int i = 0; i < EVENTS_AT_ONCE && kube_watch_next(jobs->watch, &event); i++) {
		if (event.type == KUBE_DELETED)
			forget(jobs, key, key_of(event.object, key));
		else if (event.type == KUBE_TROUBLE)
			log_warning("jobs", "StrataJobs cannot be watched: %s", event.error);
		else if (event.object && note(jobs, event.object))
			log_error("jobs", "out of memory: a StrataJob is left out");
		json_decref(event.object);
	}
}

/* ---- asking Kubernetes ---- */

/* A merge patch of the object, or with "/status" of its status; the patch is taken. */
static int patch(struct stratajobs *jobs, const json_t *object, const char *rest, json_t *body,
		 struct strata_error *err)
{
	struct kube_answer answer = { 0 };
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), STRATAJOB_PATH "/namespaces/%.253s/stratajobs/%.253s%s",
		 kube_text(object, "metadata", "namespace", NULL),
		 kube_text(object, "metadata", "name", NULL), rest);
	int rc = body ? kube_call(jobs->client,
				  &(struct kube_request){
					  .method = KUBE_PATCH_MERGE, .path = path, .body = body },
				  &answer, err)
		      : strata_fail_memory(err);

	kube_answer_fini(&answer);
	json_decref(body);
	return rc == -ENOENT ? 0 : rc; /* it is gone, which the watch will tell */
}

/* ---- asking the service ---- */

static int ask(struct stratajobs *jobs, const char *method, int64_t id, json_t **ret_json,
	       struct strata_error *err)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/api/v1/jobs/%" PRId64, id);
	return client_json(jobs->conf->service,
			   &(struct client_request){ .method = method, .path = path }, ret_json,
			   err);
}

/* Is the request itself at fault, so that it will be no better next time? A token that is not
 * known, a limit that is reached and an answer that is none may be. */
static bool is_refusal(int rc)
{
	int status = strata_error_kind(rc)->http_status;

	return status >= 400 && status < 500 && rc != -ENOKEY && rc != -EACCES && rc != -EDQUOT &&
	       rc != -EBADMSG;
}

static int submit(struct stratajobs *jobs, const json_t *object, struct strata_error *err)
{
	const char *uid = kube_text(object, "metadata", "uid", NULL);
	struct strata_error trouble = { 0 };
	json_t *body = stratajob_job(object), *answer = NULL;
	int rc = body ? client_json(jobs->conf->service,
				    &(struct client_request){ .method = "POST",
							      .path = "/api/v1/jobs",
							      .body = body,
							      .key = uid },
				    &answer, &trouble)
		      : strata_fail_memory(&trouble);

	json_decref(body);
	if (rc && is_refusal(rc)) {
		char message[2 * STRATA_ERROR_TEXT_BYTES];

		snprintf(message, sizeof(message), "%s%s%s", trouble.field,
			 *trouble.field ? ": " : "", trouble.text);
		return patch(jobs, object, "/status",
			     stratajob_failed(strata_error_kind(rc)->name, message), err);
	}
	if (rc) {
		*err = trouble;
		return rc;
	}
	json_int_t id = json_integer_value(json_object_get(answer, "id"));

	json_decref(answer);
	log_info("jobs", "%s/%s is job %lld", kube_text(object, "metadata", "namespace", NULL),
		 kube_text(object, "metadata", "name", NULL), (long long)id);
	return patch(jobs, object, "/status",
		     json_pack("{s:{s:I,s:s}}", "status", "id", id, "state", "queued"), err);
}

static int look(struct stratajobs *jobs, const json_t *object, struct strata_error *err)
{
	json_t *job = NULL;
	bool same = false;
	int rc = ask(jobs, "GET", stratajob_id(object), &job, err);

	if (rc == -ENOENT)
		return patch(jobs, object, "/status",
			     stratajob_failed("not_found", "the service knows this job no more"),
			     err);
	if (rc)
		return rc;
	json_t *status = stratajob_status(object, job, &same);

	json_decref(job);
	if (status && same) {
		json_decref(status);
		return 0;
	}
	return patch(jobs, object, "/status", status, err);
}

/* It has ended already, or does so now. */
static int cancel(struct stratajobs *jobs, const json_t *object, struct strata_error *err)
{
	json_t *answer = NULL;
	int rc = ask(jobs, "DELETE", stratajob_id(object), &answer, err);

	json_decref(answer);
	if (rc && rc != -ENOENT && !is_refusal(rc))
		return rc;
	return look(jobs, object, err);
}

/* ---- steps ---- */

static int step(struct stratajobs *jobs, struct known *known, struct strata_error *err)
{
	const json_t *object = known->object;

	known->due_ns = INT64_MAX; /* what it changes comes back by the watch */
	switch (stratajob_next(object)) {
	case STRATAJOB_GUARD:
		return patch(jobs, object, "", stratajob_finalizers(object, true), err);
	case STRATAJOB_SUBMIT:
		return submit(jobs, object, err);
	case STRATAJOB_LOOK:
		known->due_ns = now_ns(jobs) + jobs->conf->look_ns;
		return look(jobs, object, err);
	case STRATAJOB_CANCEL:
		known->due_ns = now_ns(jobs) + jobs->conf->look_ns;
		return cancel(jobs, object, err);
	case STRATAJOB_RELEASE:
		return patch(jobs, object, "", stratajob_finalizers(object, false), err);
	default:
		return 0;
	}
}

static void try(struct stratajobs *jobs, struct known *known)
{
	struct strata_error err = { 0 };
	int rc = step(jobs, known, &err);

	if (rc == 0) {
		known->again_ns = 0;
		return;
	}
	known->again_ns = known->again_ns ? 2 * known->again_ns : AGAIN_FIRST_NS;
	if (known->again_ns > AGAIN_MAX_NS)
		known->again_ns = AGAIN_MAX_NS;
	known->due_ns = now_ns(jobs) + known->again_ns;
	if (rc != -EBUSY) /* somebody else has changed it: the watch says how */
		log_warning("jobs", "%s/%s: %s",
			    kube_text(known->object, "metadata", "namespace", NULL),
			    kube_text(known->object, "metadata", "name", NULL), err.text);
}

/* Does what is due; when the next is. */
static int64_t do_steps(struct stratajobs *jobs)
{
	const struct map_text_entry *at = NULL;
	int64_t next_ns = INT64_MAX;
	int done = 0;

	while ((at = map_text_next(&jobs->known, at))) {
		struct known *known = at->value;

		if (known->due_ns <= now_ns(jobs) && done < STEPS_AT_ONCE) {
			try(jobs, known);
			done++;
		}
		if (known->due_ns < next_ns)
			next_ns = known->due_ns;
	}
	return next_ns;
}

static int wait_ms(const struct stratajobs *jobs, int64_t next_ns)
{
	int64_t left_ns = next_ns == INT64_MAX ? STRATA_SECOND_NS : next_ns - now_ns(jobs);

	if (left_ns > STRATA_SECOND_NS)
		left_ns = STRATA_SECOND_NS;
	return left_ns <= 0 ? 0 : (int)((left_ns + STRATA_MS_NS - 1) / STRATA_MS_NS);
}

static int loop(struct stratajobs *jobs, struct strata_error *err)
{
	struct pollfd sources[] = { { kube_watch_fd(jobs->watch), POLLIN, 0 },
				    { jobs->signals, POLLIN, 0 } };
	int64_t next_ns = 0;

	for (;;) {
		if (poll(sources, 2, wait_ms(jobs, next_ns)) < 0 && errno != EINTR)
			return strata_fail(err, -errno, "cannot wait: %s", strerror(errno));
		if (sources[1].revents)
			return 0;
		if (sources[0].revents)
			take_events(jobs);
		next_ns = do_steps(jobs);
	}
}

/* ---- beginning and end ---- */

static int open_all(struct stratajobs *jobs, struct strata_error *err)
{
	const struct stratajobs_conf *conf = jobs->conf;
	struct kube_watch_conf watch = { .config = conf->config,
					 .env = conf->env,
					 .path = jobs->list_path };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	jobs->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (jobs->signals < 0)
		return strata_fail(err, -errno, "cannot wait for signals: %s", strerror(errno));
	if (conf->space)
		snprintf(jobs->list_path, sizeof(jobs->list_path),
			 STRATAJOB_PATH "/namespaces/%.253s/stratajobs", conf->space);
	else
		snprintf(jobs->list_path, sizeof(jobs->list_path), STRATAJOB_PATH "/stratajobs");
	int rc = kube_client_open(conf->config, conf->env, &jobs->memory, &jobs->client, err);

	return rc ? rc : kube_watch_open(&watch, &jobs->watch, err);
}

int stratajobs_run(const struct stratajobs_conf *conf, struct strata_error *err)
{
	struct stratajobs jobs = { .conf = conf, .signals = -1 };
	const struct map_text_entry *at, *next;

	map_text_init(&jobs.known, &jobs.memory);
	int rc = open_all(&jobs, err);

	if (rc == 0)
		rc = loop(&jobs, err);
	kube_watch_close(jobs.watch);
	kube_client_close(jobs.client);
	for (at = map_text_next(&jobs.known, NULL); at; at = next) {
		next = map_text_next(&jobs.known, at);
		forget(&jobs, at->key, at->key_bytes);
	}
	map_text_fini(&jobs.known);
	if (jobs.signals >= 0)
		close(jobs.signals);
	return rc;
}
