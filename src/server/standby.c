/*
 * Servers that do not lead. One that stands by answers reads from a picture of its own, loaded from
 * the store as a leader would load it but without an executor, and loaded again when a read comes
 * in after the store has moved on; it sends those who want to change something to the leader. Once
 * a second it asks for the lead. A leader that ends lets go of the lock; one that neither ends nor
 * beats any more is deposed. Either way the epoch and the executor's fence keep the earlier one
 * from doing harm, whenever it wakes up.
 */
#include "server/standby.h"

#include "server/decider.h"
#include "server/front.h"
#include "server/http.h"
#include "server/load.h"
#include "server/reload.h"
#include "server/route.h"
#include "core/env_log.h"
#include "server/tls.h"
#include "server/token.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ASK_NS (INT64_C(1000) * 1000000)
#define STALLED_NS (INT64_C(10000) * 1000000) /* without a beat, which comes every second */
#define OLD_NS (INT64_C(2000) * 1000000)      /* a picture, in case a change made no event */

static int64_t now(const struct decider *decider)
{
	return env_now_ns(decider->env, ENV_MONOTONIC);
}

/* ---- the lead ---- */

int standby_lead(struct decider *decider, struct strata_error *err)
{
	char url[300], host[256] = "";
	struct store_leader self = { .address = decider->conf->socket,
				     .host = host,
				     .since_ns = decider_now_ns(decider) };

	gethostname(host, sizeof(host) - 1);
	/* a port that the system is to choose is not known yet at the start */
	if (decider->conf->listen && !strstr(decider->conf->listen, ":0")) {
		snprintf(url, sizeof(url), "http%s://%.280s", tls_is_open() ? "s" : "",
			 decider->conf->listen);
		self.address = url;
	}
	return store_lead(decider->store, &self, &decider->epoch, err);
}

void standby_init(struct standby *standby, struct decider *decider)
{
	standby->decider = decider;
	pthread_mutex_init(&standby->lock, NULL);
}

void standby_fini(struct standby *standby)
{
	pthread_mutex_destroy(&standby->lock);
}

static void set_leader(struct standby *standby, const char *address)
{
	pthread_mutex_lock(&standby->lock);
	snprintf(standby->leader, sizeof(standby->leader), "%s", address);
	pthread_mutex_unlock(&standby->lock);
}

void standby_begin(struct standby *standby)
{
	struct decider *decider = standby->decider;

	atomic_store(&decider->common->standing_by, true);
	decider_unload(decider);
	store_close(decider->store); /* and with it the lock */
	decider->store = NULL;
	standby->known = (struct standby_known){ 0 };
	set_leader(standby, "");
}

/* A store of its own, made again when it was given up. */
static int reach_store(struct decider *decider, struct strata_error *err)
{
	return decider->store ? 0
			      : store_open_marked(decider->conf->store, decider->mark,
						  &decider->memory, &decider->store, err);
}

/* Who leads, and is it alive? */
static int look_at_leader(struct standby *standby, struct strata_error *err)
{
	struct decider *decider = standby->decider;
	struct standby_known *known = &standby->known;
	struct store_leader leader;
	int rc = store_leader(decider->store, &decider->scratch, &leader, err);

	if (rc)
		return rc;
	if (leader.beats != known->beats || !known->beats_ns) {
		known->beats = leader.beats;
		known->beats_ns = now(decider);
	}
	set_leader(standby, leader.address);
	return 0;
}

/* What HTTP threads go by without asking: who may come in, and how far the events are. */
static int keep_up(struct decider *decider, struct strata_error *err)
{
	int64_t last = 0;
	int rc = token_recover(decider, err);

	if (rc == 0)
		rc = store_last(decider->store, STORE_EVENT, &last, err);
	if (rc == 0)
		atomic_store(&decider->common->event_last, last);
	return rc;
}

static int take_over(struct standby *standby, struct strata_error *err)
{
	struct decider *decider = standby->decider;

	log_info("standby", "this server leads now, in epoch %llu",
		 (unsigned long long)decider->epoch);
	decider_unload(decider);
	int rc = decider_load(decider, true, err);

	if (rc == 0) {
		atomic_store(&decider->common->standing_by, false);
		return 0;
	}
	standby_begin(standby);
	standby->known.asked_ns = now(decider); /* not at once again */
	return rc;
}

static int ask_for_lead(struct standby *standby, struct strata_error *err)
{
	struct decider *decider = standby->decider;
	int rc = reach_store(decider, err);

	standby->known.asked_ns = now(decider);
	if (rc == 0)
		rc = standby_lead(decider, err);
	if (rc == 0)
		return take_over(standby, err);
	if (rc != -EBUSY)
		return rc;
	rc = look_at_leader(standby, err);
	if (rc == 0)
		rc = keep_up(decider, err);
	if (rc == 0 && now(decider) - standby->known.beats_ns > STALLED_NS) {
		log_warning("standby", "the leader at %s gives no sign of life: deposed",
			    standby->leader);
		rc = store_depose(decider->store, err);
		standby->known.asked_ns = 0; /* at once */
		standby->known.beats_ns = 0; /* once */
	}
	return rc;
}

/* ---- reads ---- */

/* A small picture is as new as the store; a large one may be a little older, so that loading it is
 * not all that is done. */
static int refresh(struct standby *standby, struct strata_error *err)
{
	struct decider *decider = standby->decider;
	struct standby_known *known = &standby->known;
	int64_t last = 0, age_ns = now(decider) - known->loaded_ns;
	int rc = reach_store(decider, err);

	if (rc == 0)
		rc = store_last(decider->store, STORE_EVENT, &last, err);
	if (rc || (known->loaded &&
		   (age_ns < 2 * known->took_ns || (last == known->last_event && age_ns < OLD_NS))))
		return rc;
	int64_t start_ns = now(decider);

	known->loaded = false;
	decider_unload(decider);
	rc = decider_load(decider, false, err);
	if (rc)
		return rc;
	known->loaded = true;
	known->last_event = last;
	known->loaded_ns = now(decider);
	known->took_ns = known->loaded_ns - start_ns;
	return 0;
}

void standby_refuse(struct request *request)
{
	struct standby *standby = request->front->standby;
	char leader[sizeof(standby->leader)];

	pthread_mutex_lock(&standby->lock);
	memcpy(leader, standby->leader, sizeof(leader));
	pthread_mutex_unlock(&standby->lock);
	request_answer(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		       json_pack("{s:{s:s,s:s,s:s?}}", "error", "code", "unavailable", "message",
				 "this server stands by: it can be asked, and takes over when the "
				 "one that leads is gone",
				 "leader", *leader ? leader : NULL));
}

static bool changes_something(const struct request *request)
{
	return strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0;
}

bool standby_refuses(struct request *request)
{
	if (!atomic_load(&request->front->common->standing_by) || !changes_something(request))
		return false;
	standby_refuse(request);
	return true;
}

static void answer_requests(struct standby *standby)
{
	struct decider *decider = standby->decider;
	struct request *request = inbox_take(&decider->common->inbox);
	struct strata_error err = { 0 };
	int rc = request ? refresh(standby, &err) : 0;

	while (request) {
		struct request *next = request->next;

		if (rc)
			request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
				       "the store is away (%s)", err.text);
		else if (changes_something(request))
			standby_refuse(request);
		else
			request->route->decide(decider, request);
		http_answered(request);
		request = next;
	}
	strata_arena_reset(&decider->scratch);
}

static void note_store(struct decider *decider, bool away, const struct strata_error *err)
{
	if (atomic_exchange(&decider->common->store_down, away) == away)
		return;
	if (away)
		log_warning("store", "the store is away: %s", err->text);
	else
		log_info("store", "the store is back");
}

int standby_run(struct standby *standby, struct strata_error *err)
{
	struct decider *decider = standby->decider;

	while (atomic_load(&decider->common->standing_by) &&
	       !atomic_load(&decider->common->stopping)) {
		struct pollfd fd = { .fd = decider->common->inbox.wake_fd, .events = POLLIN };
		int64_t wait_ns = standby->known.asked_ns + ASK_NS - now(decider);

		if (wait_ns > 0) {
			poll(&fd, 1, (int)(wait_ns / 1000000) + 1);
			reload_look(decider->common);
			answer_requests(standby);
			continue;
		}
		int rc = ask_for_lead(standby, err);

		/* that the store is away passes; what a leader could not start with does not */
		note_store(decider, rc == -EAGAIN || rc == -ECONNREFUSED, err);
		if (rc && rc != -EBUSY && rc != -EAGAIN && rc != -ECONNREFUSED && rc != -ESTALE)
			return rc;
	}
	return 0;
}
