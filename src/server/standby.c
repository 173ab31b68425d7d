/*
 * Servers that do not lead. One that stands by answers reads from a picture of its own, loaded from the store as a leader would load it but
 * without an executor, and loaded again when a read comes in after the store has moved on; it sends those who want to change something to the
 * leader. Once a second it asks for the lead. A leader that ends lets go of the lock; one that neither ends nor beats any more is
 * deposed. Either way the epoch and the executor's fence keep the earlier one from doing harm, whenever it wakes up.
 */
#include "server/server.h"

#include "server/route.h"
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

static int64_t now(const struct server *server)
{
	return env_now_ns(server->env, ENV_MONOTONIC);
}

/* ---- the lead ---- */

int standby_lead(struct server *server, struct strata_error *err)
{
	char url[300], host[256] = "";
	struct store_leader self = { .address = server->conf->socket,
				     .host = host,
				     .since_ns = server_now_ns(server) };

	gethostname(host, sizeof(host) - 1);
	/* a port that the system is to choose is not known yet at the start */
	if (server->conf->listen && !strstr(server->conf->listen, ":0")) {
		snprintf(url, sizeof(url), "http://%.280s", server->conf->listen);
		self.address = url;
	}
	return store_lead(server->store, &self, &server->epoch, err);
}

void standby_begin(struct server *server)
{
	atomic_store(&server->standing_by, true);
	server_unload(server);
	store_close(server->store); /* and with it the lock */
	server->store = NULL;
	server->standby = (struct standby){ 0 };
	pthread_mutex_lock(&server->lock);
	server->leader[0] = '\0';
	pthread_mutex_unlock(&server->lock);
}

/* A store of its own, made again when it was given up. */
static int reach_store(struct server *server, struct strata_error *err)
{
	return server->store ? 0
			     : store_open_marked(server->conf->store, server->mark, &server->memory,
						 &server->store, err);
}

/* Who leads, and is it alive? */
static int look_at_leader(struct server *server, struct strata_error *err)
{
	struct standby *standby = &server->standby;
	struct store_leader leader;
	int rc = store_leader(server->store, &server->scratch, &leader, err);

	if (rc)
		return rc;
	if (leader.beats != standby->beats || !standby->beats_ns) {
		standby->beats = leader.beats;
		standby->beats_ns = now(server);
	}
	pthread_mutex_lock(&server->lock);
	snprintf(server->leader, sizeof(server->leader), "%s", leader.address);
	pthread_mutex_unlock(&server->lock);
	return 0;
}

/* What HTTP threads go by without asking: who may come in, and how far the events are. */
static int keep_up(struct server *server, struct strata_error *err)
{
	int64_t last = 0;
	int rc = token_recover(server, err);

	if (rc == 0)
		rc = store_last(server->store, STORE_EVENT, &last, err);
	if (rc == 0)
		atomic_store(&server->event_last, last);
	return rc;
}

static int take_over(struct server *server, struct strata_error *err)
{
	server_say("this server leads now, in epoch %llu", (unsigned long long)server->epoch);
	server_unload(server);
	int rc = server_load(server, true, err);

	if (rc == 0) {
		atomic_store(&server->standing_by, false);
		return 0;
	}
	standby_begin(server);
	server->standby.asked_ns = now(server); /* not at once again */
	return rc;
}

static int ask_for_lead(struct server *server, struct strata_error *err)
{
	int rc = reach_store(server, err);

	server->standby.asked_ns = now(server);
	if (rc == 0)
		rc = standby_lead(server, err);
	if (rc == 0)
		return take_over(server, err);
	if (rc != -EBUSY)
		return rc;
	rc = look_at_leader(server, err);
	if (rc == 0)
		rc = keep_up(server, err);
	if (rc == 0 && now(server) - server->standby.beats_ns > STALLED_NS) {
		server_say("the leader at %s gives no sign of life: deposed", server->leader);
		rc = store_depose(server->store, err);
		server->standby.asked_ns = 0; /* at once */
		server->standby.beats_ns = 0; /* once */
	}
	return rc;
}

/* ---- reads ---- */

/* A small picture is as new as the store; a large one may be a little older, so that loading it is not all that is done. */
static int refresh(struct server *server, struct strata_error *err)
{
	struct standby *standby = &server->standby;
	int64_t last = 0, age_ns = now(server) - standby->loaded_ns;
	int rc = reach_store(server, err);

	if (rc == 0)
		rc = store_last(server->store, STORE_EVENT, &last, err);
	if (rc || (standby->loaded && (age_ns < 2 * standby->took_ns ||
				       (last == standby->last_event && age_ns < OLD_NS))))
		return rc;
	int64_t start_ns = now(server);

	standby->loaded = false;
	server_unload(server);
	rc = server_load(server, false, err);
	if (rc)
		return rc;
	standby->loaded = true;
	standby->last_event = last;
	standby->loaded_ns = now(server);
	standby->took_ns = standby->loaded_ns - start_ns;
	return 0;
}

void standby_refuse(struct request *request)
{
	struct server *server = request->server;
	char leader[sizeof(server->leader)];

	pthread_mutex_lock(&server->lock);
	memcpy(leader, server->leader, sizeof(leader));
	pthread_mutex_unlock(&server->lock);
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
	if (!atomic_load(&request->server->standing_by) || !changes_something(request))
		return false;
	standby_refuse(request);
	return true;
}

static void answer_requests(struct server *server)
{
	struct request *request = decider_given(server);
	struct strata_error err = { 0 };
	int rc = request ? refresh(server, &err) : 0;

	while (request) {
		struct request *next = request->next;

		if (rc)
			request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
				       "the store is away (%s)", err.text);
		else if (changes_something(request))
			standby_refuse(request);
		else
			request->route->decide(server, request);
		http_answered(request);
		request = next;
	}
	strata_arena_reset(&server->scratch);
}

static void note_store(struct server *server, bool away, const struct strata_error *err)
{
	if (atomic_exchange(&server->store_down, away) == away)
		return;
	if (away)
		server_say("the store is away: %s", err->text);
	else
		server_say("the store is back");
}

int standby_run(struct server *server, struct strata_error *err)
{
	while (atomic_load(&server->standing_by) && !atomic_load(&server->stopping)) {
		struct pollfd fd = { .fd = server->wake_fd, .events = POLLIN };
		int64_t wait_ns = server->standby.asked_ns + ASK_NS - now(server);

		if (wait_ns > 0) {
			poll(&fd, 1, (int)(wait_ns / 1000000) + 1);
			reload_look(server);
			answer_requests(server);
			continue;
		}
		int rc = ask_for_lead(server, err);

		/* that the store is away passes; what a leader could not start with does not */
		note_store(server, rc == -EAGAIN || rc == -ECONNREFUSED, err);
		if (rc && rc != -EBUSY && rc != -EAGAIN && rc != -ECONNREFUSED && rc != -ESTALE)
			return rc;
	}
	return 0;
}
