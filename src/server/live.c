/* Live jobs: the row of each as the store has it or will, and what is known beside it. */
#include "server/remote.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMEMBERED_NS \
	(INT64_C(300) * 1000000000) /* an ended job can be depended on and asked about */

/* Between a process's end and the moment when that is noted there is less than this, unless somebody set the clock. */
#define CLOCK_OFF_NS (INT64_C(60) * 1000000000)

/* The texts that stay as they are: in the job's own block. */
#define TEXTS(row)                                                                                \
	{                                                                                         \
		&(row)->uuid, &(row)->user, &(row)->account, &(row)->partition, &(row)->qos,      \
			&(row)->name, &(row)->gpu_type, &(row)->command, &(row)->working_dir,     \
			&(row)->script, &(row)->environment, &(row)->request_key, &(row)->comment \
	}

/* State and reason by the names that are always there. */
static const char *state_name(const char *name)
{
	for (int i = 0; i < STRATA_JOB_STATE_COUNT; i++)
		if (strcmp(strata_job_state_name((enum strata_job_state)i), name) == 0)
			return strata_job_state_name((enum strata_job_state)i);
	return strata_job_state_name(STRATA_JOB_QUEUED);
}

static const char *reason_name(const char *name)
{
	for (int i = 0; name && i < STRATA_REASON_COUNT; i++)
		if (strcmp(strata_reason_name((enum strata_reason)i), name) == 0)
			return strata_reason_name((enum strata_reason)i);
	return strata_reason_name(STRATA_REASON_NONE);
}

static const char *const stops[] = { [STRATA_STOP_REQUEUE] = "requeue",
				     [STRATA_STOP_CANCEL] = "cancel",
				     [STRATA_STOP_SUSPEND] = "suspend" };

static const char *stop_name(const char *name)
{
	for (size_t i = 0; name && i < sizeof(stops) / sizeof(stops[0]); i++)
		if (strcmp(stops[i], name) == 0)
			return stops[i];
	return NULL;
}

void live_set_stopping(struct server *server, struct live *live, enum strata_stop mode)
{
	live->row.stopping = stops[mode];
	batch_job(server, live);
}

bool live_get_stopping(const struct live *live, enum strata_stop *ret_mode)
{
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		if (live->row.stopping == stops[i]) {
			*ret_mode = (enum strata_stop)i;
			return true;
		}
	return false;
}

/* Those that are blocks of their own, since they change. */
static void free_texts(struct live *live)
{
	free((char *)live->row.spec);
	free((char *)live->row.place);
	free((char *)live->row.ran_on);
	free((char *)live->row.cancelled_by);
	free((char *)live->row.failure);
}

struct live *live_new(struct server *server, const struct store_job *row)
{
	struct store_job source = *row;
	const char **from[] = TEXTS(&source);
	size_t bytes = sizeof(struct live);

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		bytes += *from[i] ? strlen(*from[i]) + 1 : 0;
	struct live *live = strata_memory_get(&server->memory, bytes);

	if (!live)
		return NULL;
	live->bytes = bytes;
	live->row = *row;
	const char **to[] = TEXTS(&live->row);
	char *at = (char *)(live + 1);

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		if (!*from[i])
			continue;
		size_t length = strlen(*from[i]) + 1;

		*to[i] = memcpy(at, *from[i], length);
		at += length;
	}
	live->row.state = state_name(row->state);
	live->row.reason = reason_name(row->reason);
	live->row.stopping = stop_name(row->stopping);
	live->row.spec = row->spec ? strdup(row->spec) : NULL;
	live->row.place = row->place ? strdup(row->place) : NULL;
	live->row.ran_on = row->ran_on ? strdup(row->ran_on) : NULL;
	live->row.cancelled_by = row->cancelled_by ? strdup(row->cancelled_by) : NULL;
	live->row.failure = row->failure ? strdup(row->failure) : NULL;
	if ((row->spec && !live->row.spec) || (row->place && !live->row.place) ||
	    (row->ran_on && !live->row.ran_on) || (row->cancelled_by && !live->row.cancelled_by) ||
	    (row->failure && !live->row.failure) ||
	    map_u64_put(&server->jobs, (uint64_t)row->id, live, NULL)) {
		free_texts(live);
		strata_memory_put(&server->memory, live, bytes);
		return NULL;
	}
	if (map_text_put(&server->uuids, live->row.uuid, strlen(live->row.uuid), live, NULL)) {
		live_free(server, live);
		return NULL;
	}
	return live;
}

void live_free(struct server *server, struct live *live)
{
	map_u64_remove(&server->jobs, (uint64_t)live->row.id);
	map_text_remove(&server->uuids, live->row.uuid, strlen(live->row.uuid));
	free_texts(live);
	free(live->output);
	free(live->error);
	free(live->checkpoint);
	strata_memory_put(&server->memory, live, live->bytes);
}

struct live *live_find(const struct server *server, const char *id)
{
	int64_t number;

	if (strata_int_parse(id, STRATA_TEXT_NUL, 1, INT64_MAX, &number, NULL) == 0)
		return map_u64_get(&server->jobs, (uint64_t)number);
	return map_text_get(&server->uuids, id, strlen(id));
}

/* [{"node":"n1","tasks":1,"cpu_milli":…,"memory_bytes":…,"gpu_mask":…,"gpu_milli":…}] */
void live_set_place(struct server *server, struct live *live, const struct strata_piece *pieces,
		    uint32_t count)
{
	json_t *list = count ? json_array() : NULL;

	for (uint32_t i = 0; list && i < count; i++)
		json_array_append_new(list,
				      json_pack("{s:s,s:I,s:I,s:I,s:i,s:i}", "node",
						server->nodes[pieces[i].node].name, "tasks",
						(json_int_t)pieces[i].tasks, "cpu_milli",
						(json_int_t)pieces[i].cpu_milli, "memory_bytes",
						(json_int_t)pieces[i].memory_bytes, "gpu_mask",
						(int)pieces[i].gpu_mask, "gpu_milli",
						(int)pieces[i].gpu_milli));
	if (server->remote && live->row.place && !list)
		remote_give_back(server, live->row.id);
	live->row.stopping = NULL; /* whatever was to be stopped was where it was */
	if (live->row.place) {
		free((char *)live->row.ran_on);
		live->row.ran_on = live->row.place;
	}
	live->row.place = list ? json_dumps(list, JSON_COMPACT) : NULL;
	json_decref(list);
	batch_job(server, live);
}

json_t *live_gpu_ids(const struct server *server, const struct strata_piece *pieces, uint32_t count)
{
	json_t *map = json_object();

	for (uint32_t i = 0; i < count; i++) {
		json_t *ids = json_array();

		for (int gpu = 0; gpu < STRATA_NODE_GPUS_MAX; gpu++)
			if (pieces[i].gpu_mask >> gpu & 1)
				json_array_append_new(ids, json_integer(gpu));
		json_object_set_new(map, server->nodes[pieces[i].node].name, ids);
	}
	return map;
}

int live_get_place(const struct server *server, const struct live *live, struct strata_arena *arena,
		   struct strata_piece **ret_pieces, uint32_t *ret_count)
{
	json_t *list = live->row.place ? json_loads(live->row.place, 0, NULL) : NULL;
	size_t count = json_array_size(list);
	struct strata_piece *pieces = strata_arena_array(arena, count, sizeof(*pieces));
	int rc = pieces && count ? 0 : -ENOENT;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		json_int_t tasks, cpu, memory;
		int mask, milli;
		const char *name;
		const struct node_about *node;

		if (json_unpack(json_array_get(list, i), "{s:s,s:I,s:I,s:I,s:i,s:i}", "node", &name,
				"tasks", &tasks, "cpu_milli", &cpu, "memory_bytes", &memory,
				"gpu_mask", &mask, "gpu_milli", &milli))
			rc = -EBADMSG;
		else if (!(node = nodes_find(server, name)))
			rc = -ENODEV; /* it is not in the configuration any more */
		else
			pieces[i] = (struct strata_piece){ .node = (uint32_t)(node - server->nodes),
							   .tasks = (uint32_t)tasks,
							   .cpu_milli = cpu,
							   .memory_bytes = memory,
							   .gpu_mask = (uint16_t)mask,
							   .gpu_milli = (uint16_t)milli };
	}
	json_decref(list);
	if (rc == 0) {
		*ret_pieces = pieces;
		*ret_count = (uint32_t)count;
	}
	return rc;
}

void live_set_spec(struct server *server, struct live *live, json_t *spec)
{
	char *text = json_dumps(spec, JSON_COMPACT);

	if (!text)
		return;
	free((char *)live->row.spec);
	live->row.spec = text;
	batch_job(server, live);
}

void live_update(struct server *server, struct live *live)
{
	struct strata_job_view view;

	if (strata_cluster_job(server->cluster, (uint64_t)live->row.id, &view, NULL))
		return;
	live->row.state = strata_job_state_name(view.state);
	live->row.reason = strata_reason_name(view.reason);
	live->row.attempt = view.attempt;
	live->row.preempted = view.preempted;
	batch_job(server, live);
}

void live_set_failure(struct server *server, struct live *live, const char *why)
{
	char text[sizeof(((struct strata_error *)NULL)->text) + 32];

	snprintf(text, sizeof(text), "could not start: %s", why ? why : "");
	free((char *)live->row.failure);
	live->row.failure = why ? strdup(text) : NULL;
	batch_job(server, live);
}

/* When it ended. A clock that was set meanwhile must not make it run backwards, or for a year: then what a clock that cannot be set has
 * counted says how long it ran. */
static int64_t end_of(const struct server *server, const struct live *live,
		      const struct exec_status *status)
{
	int64_t now_ns = server_now_ns(server), started_ns = live->row.started_ns;
	int64_t ended_ns = status && status->ended_ns && status->ended_ns <= now_ns
				   ? status->ended_ns
				   : now_ns;
	int64_t had_ns = status ? status->ran_ns + status->frozen_ns : 0;
	int64_t off_ns = ended_ns - started_ns - had_ns;

	if (started_ns && had_ns > 0 && (off_ns > CLOCK_OFF_NS || off_ns < -CLOCK_OFF_NS))
		ended_ns = started_ns + had_ns;
	return ended_ns > started_ns ? ended_ns : started_ns;
}

void live_ended(struct server *server, struct live *live, const struct exec_status *status)
{
	live->row.completed_ns = end_of(server, live, status);
	if (live->row.started_ns)
		figures_time(&server->figures, FIGURE_RUN,
			     live->row.completed_ns - live->row.started_ns);
	live->forget_ns = env_now_ns(server->env, ENV_MONOTONIC) + REMEMBERED_NS;
	live->next_ended = NULL;
	*(server->ended_last ? &server->ended_last->next_ended : &server->ended_first) = live;
	server->ended_last = live;
	batch_job(server, live);
	output_ended(server, live);
}

void live_sweep(struct server *server)
{
	int64_t now_ns = env_now_ns(server->env, ENV_MONOTONIC);

	while (server->ended_first && server->ended_first->forget_ns <= now_ns) {
		struct live *live = server->ended_first;

		if (live->dirty ||
		    strata_cluster_forget(server->cluster, (uint64_t)live->row.id, NULL) == -EBUSY)
			return;
		server->ended_first = live->next_ended;
		if (!server->ended_first)
			server->ended_last = NULL;
		live_free(server, live);
	}
}
