/* The lease: a thread that asks for it, renews it, and says when it is lost. */
#include "pods/pods_lease.h"

#include "core/env_log.h"

#include <strata/text.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct pods_lease {
	struct pods_lease_conf conf;
	struct strata_memory memory;
	struct kube_client *client;
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock; /* of `stops`, for the thread's sleep */
	pthread_cond_t changed;
	bool stops;
	atomic_bool leads, lost;
	int wake;
	char path[600], list_path[600];
	struct pods_lease_seen seen;
	json_t *current; /* as the server has it; NULL: none or not known */
	int64_t renewed_ns;
	bool told; /* that another leads */
};

/* ---- pure ---- */

enum pods_lease_step pods_lease_look(struct pods_lease_seen *seen, const json_t *lease,
				     const char *self, int64_t now_ns)
{
	const char *version = kube_text(lease, "metadata", "resourceVersion", NULL);
	const char *holder = kube_text(lease, "spec", "holderIdentity", NULL);
	json_int_t seconds =
		json_integer_value(kube_at(lease, "spec", "leaseDurationSeconds", NULL));

	if (!lease)
		return PODS_LEASE_CREATE;
	if (strncmp(seen->version, version, sizeof(seen->version) - 1) != 0 || !*seen->version) {
		snprintf(seen->version, sizeof(seen->version), "%s", version);
		seen->since_ns = now_ns;
	}
	if (!*holder || strcmp(holder, self) == 0 || seconds < 0 || seconds > 86400)
		return PODS_LEASE_TAKE;
	return now_ns >= seen->since_ns + seconds * STRATA_SECOND_NS ? PODS_LEASE_TAKE
								     : PODS_LEASE_WAIT;
}

/* With six digits behind the second: the API takes no other form. */
static void micro_time(int64_t ns, char ret_text[STRATA_FORM_BYTES])
{
	time_t seconds = ns / STRATA_SECOND_NS;
	struct tm day;

	gmtime_r(&seconds, &day);
	size_t length = strftime(ret_text, STRATA_FORM_BYTES, "%Y-%m-%dT%H:%M:%S", &day);

	snprintf(ret_text + length, STRATA_FORM_BYTES - length, ".%06dZ",
		 (int)(ns % STRATA_SECOND_NS / 1000));
}

json_t *pods_lease_body(const json_t *old, const char *space, const char *name, const char *holder,
			int64_t duration_ns, int64_t now_ns)
{
	const char *before = kube_text(old, "spec", "holderIdentity", NULL);
	const char *version = kube_text(old, "metadata", "resourceVersion", NULL);
	const char *acquired = kube_text(old, "spec", "acquireTime", NULL);
	json_int_t changes = json_integer_value(kube_at(old, "spec", "leaseTransitions", NULL));
	bool same = strcmp(before, holder) == 0 && *acquired;
	char now[STRATA_FORM_BYTES];

	micro_time(now_ns, now);
	return json_pack("{s:s,s:s,s:{s:s,s:s,s:s*},s:{s:s,s:I,s:s,s:s,s:I}}", "apiVersion",
			 "coordination.k8s.io/v1", "kind", "Lease", "metadata", "name", name,
			 "namespace", space, "resourceVersion", *version ? version : NULL, "spec",
			 "holderIdentity", holder, "leaseDurationSeconds",
			 (json_int_t)((duration_ns + STRATA_SECOND_NS - 1) / STRATA_SECOND_NS),
			 "acquireTime", same ? acquired : now, "renewTime", now, "leaseTransitions",
			 changes + (old && !same));
}

/* ---- asking ---- */

static int64_t now_ns(const struct pods_lease *lease)
{
	return env_now_ns(lease->conf.env, ENV_MONOTONIC);
}

static int call(struct pods_lease *lease, enum kube_method method, json_t *body,
		struct kube_answer *answer, struct strata_error *err)
{
	struct kube_request request = {
		.method = method,
		.path = method == KUBE_POST ? lease->list_path : lease->path,
		.body = body,
		.timeout_ns = lease->conf.duration_ns / 3,
	};

	*answer = (struct kube_answer){ 0 };
	return kube_call(lease->client, &request, answer, err);
}

/* Writes it, and keeps what the server made of it. */
static int write_lease(struct pods_lease *lease, const char *holder, struct strata_error *err)
{
	const struct pods_lease_conf *conf = &lease->conf;
	struct kube_answer answer = { 0 };
	json_t *body = pods_lease_body(lease->current, conf->space, conf->name, holder,
				       conf->duration_ns, env_now_ns(conf->env, ENV_REALTIME));
	int rc = body ? call(lease, lease->current ? KUBE_PUT : KUBE_POST, body, &answer, err)
		      : strata_fail_memory(err);

	json_decref(body);
	json_decref(lease->current);
	lease->current = rc == 0 ? json_incref(answer.body) : NULL;
	kube_answer_fini(&answer);
	return rc;
}

static int read_lease(struct pods_lease *lease, struct strata_error *err)
{
	struct kube_answer answer;
	int rc = call(lease, KUBE_GET, NULL, &answer, err);

	json_decref(lease->current);
	lease->current = rc == 0 ? json_incref(answer.body) : NULL;
	kube_answer_fini(&answer);
	return rc == -ENOENT ? 0 : rc;
}

static void say_who_leads(struct pods_lease *lease)
{
	if (lease->told)
		return;
	lease->told = true;
	log_info("lease", "%s leads; this one waits",
		 kube_text(lease->current, "spec", "holderIdentity", NULL));
}

/* One attempt; 0 when it is ours now. */
static int attempt(struct pods_lease *lease, struct strata_error *err)
{
	int64_t begun_ns = now_ns(lease);
	int rc = lease->current && atomic_load(&lease->leads) ? 0 : read_lease(lease, err);

	if (rc)
		return rc;
	if (!atomic_load(&lease->leads) &&
	    pods_lease_look(&lease->seen, lease->current, lease->conf.self, begun_ns) ==
		    PODS_LEASE_WAIT) {
		say_who_leads(lease);
		return -EBUSY;
	}
	if (atomic_load(&lease->leads) && lease->current &&
	    strcmp(kube_text(lease->current, "spec", "holderIdentity", NULL), lease->conf.self) !=
		    0)
		return strata_fail(err, -EPERM, "%s has taken the lease",
				   kube_text(lease->current, "spec", "holderIdentity", NULL));
	rc = write_lease(lease, lease->conf.self, err);
	if (rc == 0)
		lease->renewed_ns = begun_ns;
	return rc;
}

static void become(struct pods_lease *lease, bool leads)
{
	atomic_store(leads ? &lease->leads : &lease->lost, true);
	if (!leads)
		atomic_store(&lease->leads, false);
	eventfd_write(lease->wake, 1);
}

static bool sleep_for(struct pods_lease *lease, int64_t ns)
{
	struct timespec until;
	bool stops;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += until.tv_nsec;
	until.tv_sec += ns / STRATA_SECOND_NS;
	until.tv_nsec = ns % STRATA_SECOND_NS;
	pthread_mutex_lock(&lease->lock);
	if (!lease->stops)
		pthread_cond_timedwait(&lease->changed, &lease->lock, &until);
	stops = lease->stops;
	pthread_mutex_unlock(&lease->lock);
	return !stops;
}

static void *run(void *lease_any)
{
	struct pods_lease *lease = lease_any;
	int64_t duration_ns = lease->conf.duration_ns;
	bool told = false; /* that it cannot be had, since when it last could be asked for */

	do {
		struct strata_error err = { 0 };
		int rc = attempt(lease, &err);
		bool leads = atomic_load(&lease->leads);

		if (rc == 0 && !leads)
			become(lease, true);
		else if (leads && (rc == -EPERM ||
				   now_ns(lease) >= lease->renewed_ns + duration_ns * 2 / 3)) {
			log_error("lease", "the lease is lost: %s", err.text);
			become(lease, false);
			break;
		} else if (rc && rc != -EBUSY && !told) {
			log_warning("lease", "the lease cannot be had: %s", err.text);
		}
		told = rc && rc != -EBUSY;
	} while (sleep_for(lease, duration_ns * 2 / 15));
	return NULL;
}

/* ---- beginning and end ---- */

int pods_lease_open(const struct pods_lease_conf *conf, struct pods_lease **ret_lease,
		    struct strata_error *err)
{
	struct pods_lease *lease = calloc(1, sizeof(*lease));
	pthread_condattr_t monotonic;

	if (!lease)
		return strata_fail_memory(err);
	lease->conf = *conf;
	snprintf(lease->list_path, sizeof(lease->list_path),
		 "/apis/coordination.k8s.io/v1/namespaces/%.253s/leases", conf->space);
	snprintf(lease->path, sizeof(lease->path),
		 "/apis/coordination.k8s.io/v1/namespaces/%.253s/leases/%.253s", conf->space,
		 conf->name);
	pthread_mutex_init(&lease->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&lease->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	lease->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = lease->wake < 0
			 ? strata_fail(err, -errno, "cannot make an eventfd: %s", strerror(errno))
			 : kube_client_open(conf->config, conf->env, &lease->memory, &lease->client,
					    err);

	if (rc == 0) {
		rc = -pthread_create(&lease->thread, NULL, run, lease);
		lease->runs = rc == 0;
		if (rc)
			strata_fail(err, rc, "cannot start a thread: %s", strerror(-rc));
	}
	if (rc)
		pods_lease_close(lease);
	else
		*ret_lease = lease;
	return rc;
}

void pods_lease_close(struct pods_lease *lease)
{
	if (!lease)
		return;
	pthread_mutex_lock(&lease->lock);
	lease->stops = true;
	pthread_cond_broadcast(&lease->changed);
	pthread_mutex_unlock(&lease->lock);
	if (lease->runs)
		pthread_join(lease->thread, NULL);
	if (atomic_load(&lease->leads))
		(void)write_lease(lease, "", NULL);
	kube_client_close(lease->client);
	json_decref(lease->current);
	if (lease->wake >= 0)
		close(lease->wake);
	pthread_cond_destroy(&lease->changed);
	pthread_mutex_destroy(&lease->lock);
	free(lease);
}

const atomic_bool *pods_lease_leads(const struct pods_lease *lease)
{
	return &lease->leads;
}

bool pods_lease_lost(const struct pods_lease *lease)
{
	return atomic_load(&lease->lost);
}

int pods_lease_fd(const struct pods_lease *lease)
{
	return lease->wake;
}
