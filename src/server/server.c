/* The service's beginning and end: what it is made of, opened in order and closed in reverse. */
#include "server/server.h"

#include "server/reaper.h"
#include "server/connection.h"
#include "server/http.h"
#include "server/load.h"
#include "server/mirror.h"
#include "server/places.h"
#include "server/remover.h"
#include "core/env_log.h"
#include "server/event_ring.h"
#include "server/event_stream.h"
#include "server/reload.h"
#include "server/studies.h"
#include "server/tls.h"
#include "server/token.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LEAD_TRIES = 40, LEAD_PAUSE_MS = 50, READERS = 4 };

/* To lead if nobody does; else, where several servers may share it, to stand by. */
static int open_store(struct decider *decider, struct strata_error *err)
{
	const struct server_conf *conf = decider->conf;

	snprintf(decider->mark, sizeof(decider->mark), "%s/store.mark", conf->state_dir);
	int rc = conf->accept_store ? store_mark_accept(decider->mark, err) : 0;

	if (rc == 0)
		rc = store_open_marked(conf->store, decider->mark, &decider->memory,
				       &decider->store, err);
	/* a leader that has just died may hold its lock for another moment */
	for (int i = 0; rc == 0 && i < LEAD_TRIES; i++) {
		struct timespec pause = { .tv_nsec = LEAD_PAUSE_MS * 1000000L };

		rc = standby_lead(decider, err);
		if (rc != -EBUSY || store_shared(decider->store))
			break;
		rc = i + 1 < LEAD_TRIES ? 0 : rc;
		nanosleep(&pause, NULL);
	}
	if (rc == -EBUSY && store_shared(decider->store)) {
		atomic_store(&decider->common->standing_by, true);
		rc = 0;
	}
	return rc;
}

/* What HTTP threads need; they start with http_open. */
static int open_front(struct server *server, struct strata_error *err)
{
	struct front *front = &server->front;
	int rc = store_readers_new(front->conf->store, READERS, &front->memory, &front->readers,
				   err);

	if (rc == 0)
		rc = token_table_new(&front->tokens, err);
	if (rc == 0)
		rc = streams_new(&front->streams, err);
	if (rc == 0)
		rc = connections_open(front, err);
	server->decider.tokens = front->tokens;
	server->decider.streams = front->streams;
	return rc;
}

static void init(struct server *server, const struct server_conf *conf)
{
	struct common *common = &server->common;

	server->settings = *conf;
	common->conf = &server->settings;
	common->env = env_system();
	server->front = (struct front){ .common = common,
					.conf = common->conf,
					.env = common->env,
					.standby = &server->standby };
	pthread_mutex_init(&server->front.series.lock, NULL);
	reload_front(&server->front, conf);
	worker_set_init(&common->workers);
	decider_init(&server->decider, common);
	standby_init(&server->standby, &server->decider);
}

int server_open(const struct server_conf *conf, struct server **ret_server,
		struct strata_error *err)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return strata_fail_memory(err);
	init(server, conf);
	struct common *common = &server->common;
	int rc = inbox_open(&common->inbox, err);

	if (rc == 0)
		rc = service_trace_open(&common->trace, common->env, err);
	if (rc == 0)
		rc = places_open(common->env, conf, err);
	if (rc == 0)
		rc = tls_open(common->env, common->conf, err);
	if (rc == 0)
		rc = open_store(&server->decider, err);
	if (rc == 0)
		rc = open_front(server, err);
	if (rc == 0)
		rc = job_token_open(common->env, conf->state_dir, common->job_key, err);
	if (rc == 0)
		rc = remover_start(&server->decider, err);
	if (rc == 0)
		rc = mirror_start(&server->decider, err);
	if (rc == 0 && !atomic_load(&common->standing_by))
		rc = decider_load(&server->decider, true, err);
	if (rc == 0)
		rc = event_ring_new(&server->front.events, err);
	if (rc == 0)
		rc = studies_open(&server->front, &server->front.studies, err);
	if (rc == 0)
		rc = http_open(&server->front, err);
	if (rc == 0)
		rc = reaper_start(&server->front, err);
	if (rc) {
		server_close(server);
		return rc;
	}
	*ret_server = server;
	return 0;
}

int server_run(struct server *server, struct strata_error *err)
{
	struct common *common = &server->common;
	int rc = 0;

	while (rc == 0 && !atomic_load(&common->stopping)) {
		rc = atomic_load(&common->standing_by) ? standby_run(&server->standby, err)
						       : decider_run(&server->decider, err);
		if (rc == -ESTALE && store_shared(server->decider.store)) {
			log_info("standby", "%s; this one stands by", err->text);
			standby_begin(&server->standby);
			rc = 0;
		}
	}
	decider_end(&server->decider);
	return rc;
}

void server_stop(struct server *server)
{
	atomic_store(&server->common.stopping, true);
	inbox_wake(&server->common.inbox);
}

void server_close(struct server *server)
{
	if (!server)
		return;
	struct front *front = &server->front;

	reaper_stop(front);
	streams_close(front->streams);
	http_close(front);
	studies_close(front->studies);
	tls_close();
	decider_unload(&server->decider);
	remover_stop(&server->decider);
	mirror_stop(&server->decider);
	streams_free(front->streams);
	event_ring_free(front->events);
	connections_free(front);
	free(front->series.text);
	pthread_mutex_destroy(&front->series.lock);
	token_table_free(front->tokens);
	store_readers_free(front->readers);
	store_close(server->decider.store);
	standby_fini(&server->standby);
	decider_fini(&server->decider);
	inbox_close(&server->common.inbox);
	service_trace_close(&server->common.trace);
	worker_set_fini(&server->common.workers);
	free(server);
}
