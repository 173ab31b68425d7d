/* The facts of a start, for src/exec/environment.c to make variables of. */
#include "server/start_environment.h"

#include "exec/environment.h"
#include "server/nodes.h"

#include <strata/slurm.h>

#include <string.h>
#include <unistd.h>

/* "A=1\0B=2\0" as a NULL-terminated list; NULL: no memory. */
static const char *const *split(const struct store_blob *blob, struct strata_arena *arena)
{
	const char *at = blob->bytes ? blob->bytes : "", *end = at + blob->size_bytes;
	size_t count = 0;

	for (const char *p = at; p < end; p += strlen(p) + 1)
		count++;
	const char **list = strata_arena_array(arena, count + 1, sizeof(*list));

	for (size_t i = 0; list && i < count; i++, at += strlen(at) + 1)
		list[i] = at;
	return list;
}

/* What it was submitted with. */
static int fill_user(struct decider *decider, const struct job *job, struct environment *from,
		     struct strata_error *err)
{
	struct store_blob blob = { 0 };
	int rc = job->environment ? store_blob_get(decider->store, job->environment,
						   &decider->scratch, &blob, err)
				  : 0;

	if (rc)
		return rc;
	from->user_environment = split(&blob, &decider->scratch);
	return from->user_environment ? 0 : strata_fail_memory(err);
}

/* Where it is and what it has there. */
static int fill_nodes(struct decider *decider, const struct live *live,
		      const struct start_place *place, struct environment *from,
		      struct strata_error *err)
{
	struct strata_arena *arena = &decider->scratch;
	struct environment_node *nodes =
		strata_arena_array(arena, place->piece_count, sizeof(*nodes));
	const char **names = strata_arena_array(arena, place->piece_count, sizeof(*names));
	uint32_t tasks = 0;

	if (!nodes || !names)
		return strata_fail_memory(err);
	for (uint32_t i = 0; i < place->piece_count; i++) {
		const struct strata_piece *piece = &place->pieces[i];
		const struct node_about *node = &decider->nodes[piece->node];

		nodes[i] = (struct environment_node){ .name = node->name,
						      .tasks = piece->tasks,
						      .cpus = (uint32_t)(piece->cpu_milli / 1000),
						      .gpu_mask = piece->gpu_mask,
						      .gpu_first = node->gpu_first };
		names[i] = node->name;
		tasks += piece->tasks;
	}
	from->nodes = nodes;
	from->node_count = place->piece_count;
	from->tasks = tasks > 1 || live->spec->asked_tasks ? tasks : 0;
	from->memory_per_node_bytes = place->pieces[0].memory_bytes;
	return strata_hostlist_compress(names, place->piece_count, arena, &from->node_list, err);
}

static void fill_array(const struct live *live, struct environment *from)
{
	const struct live_array *array = &live->spec->array;

	from->array_job = (uint64_t)live->job.array_id;
	from->array_task = (uint32_t)live->job.array_index;
	if (!live->job.array_id)
		return;
	from->array_count = array->count;
	from->array_min = array->min;
	from->array_max = array->max;
	from->array_step = array->step;
}

/* STATE/jobs/17.1, with an ending. */
static const char *file_of(struct decider *decider, const struct job *job, const char *ending)
{
	return strata_arena_printf(&decider->scratch, "%s/jobs/%lld.%lld%s",
				   decider->conf->state_dir, (long long)job->id,
				   (long long)job->attempt, ending);
}

int start_environment(struct decider *decider, const struct live *live,
		      const struct start_place *place, const char *const **ret_environment,
		      struct strata_error *err)
{
	const struct job_spec *spec = &live->spec->spec;
	const struct job *job = &live->job;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	struct environment from = {
		.job = (uint64_t)job->id,
		.attempt = (uint32_t)job->attempt,
		.restart_count = (uint32_t)job->attempt - 1,
		.name = job->name,
		.user = job->user,
		.account = job->account,
		.partition = job->partition,
		.qos = job->qos ? job->qos : "normal",
		.cluster = decider->conf->cluster_name,
		.home = place->user->home,
		.shell = place->user->shell,
		.submit_dir = place->directory,
		.submit_host = host,
		.uid = job->uid,
		.gid = job->gid,
		.cpus_per_task = live->spec->asked_cpus ? (uint32_t)(spec->cpus_per_task + 0.5) : 0,
		.gpus = (uint32_t)spec->gpus,
		.gpus_per_task = (uint32_t)spec->gpus_per_task,
		.start_ns = decider_now_ns(decider),
		.time_limit_ns = job->time_limit_ns,
		.job_file = file_of(decider, job, ""),
		.checkpoint_dir = place->checkpoint_dir,
		.checkpoint = live->checkpoint,
		.socket = decider->conf->socket,
		.token_file = file_of(decider, job, ".token"),
	};
	int rc = fill_user(decider, job, &from, err);

	if (rc == 0)
		rc = fill_nodes(decider, live, place, &from, err);
	fill_array(live, &from);
	return rc ? rc : environment_make(&from, &decider->scratch, ret_environment, err);
}
