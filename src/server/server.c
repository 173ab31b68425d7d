/* The service's beginning and end: what it is made of, opened in order and closed in reverse. */
#include "server/attendant.h"
#include "server/connection.h"
#include "server/descriptors.h"
#include "server/people.h"
#include "server/places.h"
#include "server/recorder.h"
#include "server/remote.h"
#include "server/remover.h"
#include "server/reserve.h"
#include "server/stream.h"
#include "server/token.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LEAD_TRIES = 40, LEAD_PAUSE_MS = 50 };

int64_t server_now_ns(const struct server *server)
{
	return env_now_ns(server->env, ENV_REALTIME);
}

static int read_spec(struct server *server, size_t index, const struct strata_kind *kind,
		     const char *text, struct strata_spec *ret_spec, struct strata_error *err)
{
	int rc = strata_registry_new(kind, &server->memory, &server->registries[index], err);

	return rc ? rc
		  : strata_spec_read(server->registries[index], text, strlen(text), &server->confs,
				     ret_spec, err);
}

static int open_cluster(struct server *server, bool lead, struct strata_error *err)
{
	const struct server_conf *conf = server->conf;
	struct strata_cluster_conf cluster = { .half_life_ns = conf->half_life_ns,
					       .checkpoint_bytes_max = conf->checkpoint_bytes_max };
	int rc = read_spec(server, 0, &strata_order_kind, conf->order, &cluster.order, err);

	if (rc == 0)
		rc = read_spec(server, 1, &strata_placement_kind, conf->placement,
			       &cluster.placement, err);
	if (rc == 0)
		rc = read_spec(server, 2, &strata_backfill_kind, conf->backfill, &cluster.backfill,
			       err);
	if (rc == 0)
		rc = read_spec(server, 3, &strata_prediction_kind, conf->predict,
			       &cluster.prediction, err);
	if (rc == 0 && strcmp(conf->preempt, "none") != 0)
		rc = read_spec(server, 4, &strata_victims_kind, conf->preempt, &cluster.victims,
			       err);
	if (rc == 0)
		rc = read_spec(server, 5, &exec_kind, conf->executor, &server->exec_spec, err);
	if (rc == 0 && lead)
		rc = recorder_open(server, &cluster, err);
	if (rc == 0)
		rc = strata_cluster_new(&cluster, &server->memory, &server->cluster, err);
	if (rc == 0 && ((const struct exec_class *)server->exec_spec.cls)->keeps_descriptors)
		strata_cluster_set_jobs_max(server->cluster, descriptors_own().jobs);
	server->rules.time_limit_ns = conf->time_limit_ns;
	server->rules.time_limit_ns_max = conf->time_limit_ns_max;
	return rc ? rc : nodes_open(server, err);
}

const char *server_find_supervisor(struct strata_arena *arena)
{
	char self[STRATA_PATH_BYTES_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	static const char *const places[] = { "strata-supervisor",
					      "../libexec/strata/strata-supervisor" };

	if (length <= 0)
		return NULL;
	self[length] = '\0';
	char *slash = strrchr(self, '/');

	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		const char *path =
			strata_arena_printf(arena, "%.*s/%s", (int)(slash - self), self, places[i]);

		if (path && access(path, X_OK) == 0)
			return path;
	}
	return strata_arena_text(arena, self, (size_t)length);
}

static int open_exec(struct server *server, struct strata_error *err)
{
	struct exec_open open = { .env = server->env,
				  .memory = &server->memory,
				  .state_dir = server->conf->state_dir,
				  .epoch = (int64_t)server->epoch,
				  .supervisor = server_find_supervisor(&server->confs) };

	const struct exec_class *cls = (const struct exec_class *)server->exec_spec.cls;

	if (!open.supervisor)
		return strata_fail(err, -EIO, "the program does not find itself");
	int rc = cls->open(server->exec_spec.conf, &open, &server->exec, err);

	if (rc == 0)
		cls->describe_limits(server->exec, server->limits, sizeof(server->limits));
	return rc;
}

static int open_store(struct server *server, struct strata_error *err)
{
	snprintf(server->mark, sizeof(server->mark), "%s/store.mark", server->conf->state_dir);
	int rc = server->conf->accept_store ? store_mark_accept(server->mark, err) : 0;

	if (rc == 0)
		rc = store_open_marked(server->conf->store, server->mark, &server->memory,
				       &server->store, err);
	/* a leader that has just died may hold its lock for another moment */
	for (int i = 0; rc == 0 && i < LEAD_TRIES; i++) {
		struct timespec pause = { .tv_nsec = LEAD_PAUSE_MS * 1000000L };

		rc = standby_lead(server, err);
		if (rc != -EBUSY || store_shared(server->store))
			break;
		rc = i + 1 < LEAD_TRIES ? 0 : rc;
		nanosleep(&pause, NULL);
	}
	if (rc == -EBUSY && store_shared(server->store)) {
		atomic_store(&server->standing_by, true);
		rc = 0;
	}
	if (rc == 0)
		rc = store_readers_new(server->conf->store, 4, &server->memory, &server->readers,
				       err);
	return rc;
}

int server_load(struct server *server, bool lead, struct strata_error *err)
{
	int rc = open_cluster(server, lead, err);

	if (rc == 0 && lead)
		rc = open_exec(server, err);
	if (rc == 0 && lead)
		rc = remote_open(server, err);
	if (rc == 0)
		rc = recover(server, err);
	return rc || !lead ? rc : remote_start(server, err);
}

void server_unload(struct server *server)
{
	const struct map_u64_entry *entry;

	remote_close(server);
	if (server->exec)
		server->exec->cls->close(server->exec);
	server->exec = NULL;
	batch_drop(server, "this server does not lead any more");
	while ((entry = map_u64_next(&server->jobs, NULL)))
		live_free(server, entry->value);
	server->ended_first = server->ended_last = NULL;
	recorder_close(server);
	strata_cluster_free(server->cluster);
	server->cluster = NULL;
	people_free(server);
	reservations_free(server);
	for (size_t i = 0; i < 6; i++) {
		strata_registry_free(server->registries[i]);
		server->registries[i] = NULL;
	}
	for (uint32_t i = 0; i < server->node_count; i++)
		free(server->nodes[i].reason);
	server->nodes = NULL;
	server->node_count = 0;
	server->rules = (struct spec_rules){ 0 };
	server->effects = NULL;
	server->effect_count = server->forget_count = 0;
	map_text_fini(&server->gangs);
	map_text_init(&server->gangs, &server->memory);
	strata_arena_reset(&server->pass);
	strata_arena_reset(&server->scratch);
	strata_arena_reset(&server->confs);
}

int server_open(const struct server_conf *conf, struct server **ret_server,
		struct strata_error *err)
{
	struct server *server = calloc(1, sizeof(*server));
	int rc;

	if (!server)
		return strata_fail_memory(err);
	server->settings = *conf;
	server->conf = &server->settings;
	server->env = env_system();
	pthread_mutex_init(&server->lock, NULL);
	strata_arena_init(&server->confs, &server->memory, 0);
	strata_arena_init(&server->scratch, &server->memory, 0);
	strata_arena_init(&server->pass, &server->memory, 0);
	map_u64_init(&server->jobs, &server->memory);
	map_text_init(&server->uuids, &server->memory);
	map_text_init(&server->gangs, &server->memory);
	people_init(server);
	batch_init(server);
	server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = server->wake_fd < 0 ? strata_fail(err, -errno, "no eventfd: %s", strerror(errno))
				 : places_open(server->env, conf, err);
	if (rc == 0)
		rc = open_store(server, err);
	if (rc == 0)
		rc = token_table_new(&server->tokens, err);
	if (rc == 0)
		rc = streams_open(server, err);
	if (rc == 0)
		rc = connections_open(server, err);
	if (rc == 0)
		rc = job_token_open(server->env, conf->state_dir, server->job_key, err);
	if (rc == 0)
		rc = remover_start(server, err);
	if (rc == 0 && !atomic_load(&server->standing_by))
		rc = server_load(server, true, err);
	if (rc == 0)
		rc = http_open(server, err);
	if (rc == 0)
		rc = attendant_start(server, err);
	if (rc) {
		server_close(server);
		return rc;
	}
	*ret_server = server;
	return 0;
}

int server_run(struct server *server, struct strata_error *err)
{
	int rc = 0;

	while (rc == 0 && !atomic_load(&server->stopping)) {
		rc = atomic_load(&server->standing_by) ? standby_run(server, err)
						       : decider_run(server, err);
		if (rc == -ESTALE && store_shared(server->store)) {
			server_say("%s; this one stands by", err->text);
			standby_begin(server);
			rc = 0;
		}
	}
	decider_end(server);
	return rc;
}

void server_stop(struct server *server)
{
	uint64_t one = 1;

	atomic_store(&server->stopping, true);
	if (write(server->wake_fd, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

void server_close(struct server *server)
{
	if (!server)
		return;
	attendant_stop(server);
	streams_close(server);
	http_close(server);
	server_unload(server);
	remover_stop(server);
	streams_free(server);
	connections_free(server);
	token_table_free(server->tokens);
	store_readers_free(server->readers);
	store_close(server->store);
	map_u64_fini(&server->jobs);
	map_text_fini(&server->uuids);
	map_text_fini(&server->gangs);
	batch_fini(server);
	strata_arena_fini(&server->pass);
	strata_arena_fini(&server->scratch);
	strata_arena_fini(&server->confs);
	if (server->wake_fd >= 0)
		close(server->wake_fd);
	pthread_mutex_destroy(&server->lock);
	free(server);
}
