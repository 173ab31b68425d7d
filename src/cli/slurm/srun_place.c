/*
 * Where a step runs: the nodes of the job that it may have, what the job has there, and which of
 * them are free. It waits for other steps of the job, as Slurm lets it.
 */
#include "cli/slurm/srun.h"

#include <strata/limits.h>
#include <strata/slurm.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RETRY_MS = 100 };

int srun_refuse(struct srun *srun, const char *why)
{
	slurm_error(srun->cli, "srun", "Unable to create step for job %s: %s", srun->job_id, why);
	return 1;
}

/* ---- nodes ---- */

/* What the machine calls the job's GPUs on a node. */
static void find_gpus(struct srun *srun, const json_t *job, const json_t *topology,
		      struct srun_node *node)
{
	const json_t *ids = json_object_get(json_object_get(job, "gpu_ids"), node->name), *about;
	size_t count = json_array_size(ids), i;
	int64_t *gpus = strata_arena_array(&srun->cli->arena, count + 1, sizeof(*gpus));

	json_array_foreach(json_object_get(topology, "nodes"), i, about)
	{
		const json_t *all = json_object_get(about, "gpus");

		if (!gpus || strcmp(grid_or(json_object_get(about, "name"), ""), node->name) != 0)
			continue;
		for (size_t k = 0; k < count; k++) {
			size_t id = (size_t)json_integer_value(json_array_get(ids, k));

			gpus[k] = grid_int(json_array_get(all, id), "index");
		}
		node->gpus = gpus;
		node->gpu_count = count;
	}
}

static bool is_listed(struct srun *srun, const char *list, const char *name)
{
	const char **names;
	size_t count;

	if (strata_hostlist_expand(list, STRATA_TEXT_NUL, &srun->cli->arena, &names, &count, NULL))
		return false;
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Those of the job that -w and -x leave; their usual tasks beside. */
static int find_nodes(struct srun *srun, struct srun_layout *layout, int64_t **ret_usual)
{
	const struct strata_sbatch *job = &srun->batch.job;
	const char *list = getenv("SLURM_JOB_NODELIST"), **names;
	struct strata_arena *arena = &srun->cli->arena;
	size_t count, kept = 0;

	if (!list || strata_hostlist_expand(list, STRATA_TEXT_NUL, arena, &names, &count, NULL))
		return srun_refuse(srun, "Invalid job id specified");
	int64_t *usual = strata_arena_array(arena, count, sizeof(*usual));
	int64_t *cpus = strata_arena_array(arena, count, sizeof(*cpus));

	layout->nodes = strata_arena_array(arena, count, sizeof(*layout->nodes));
	if (!usual || !cpus || !layout->nodes)
		return srun_refuse(srun, "out of memory");
	srun_counts_parse(getenv("SLURM_TASKS_PER_NODE"), usual, count);
	srun_counts_parse(getenv("SLURM_JOB_CPUS_PER_NODE"), cpus, count);
	for (size_t i = 0; i < count; i++) {
		bool wanted = (int64_t)i >= job->relative &&
			      (!job->nodelist || is_listed(srun, job->nodelist, names[i])) &&
			      (!job->exclude || !is_listed(srun, job->exclude, names[i]));

		if (!wanted)
			continue;
		usual[kept] = usual[i];
		layout->nodes[kept++] =
			(struct srun_node){ .name = names[i], .cpus = cpus[i], .place = i };
	}
	layout->node_count = kept;
	if (kept == 0 || (int64_t)kept < job->nodes)
		return srun_refuse(srun, "Requested node configuration is not available");
	*ret_usual = usual;
	return 0;
}

/* Is it more than the job has? */
static int check_cpus(struct srun *srun)
{
	const struct strata_sbatch *job = &srun->batch.job;
	enum { NODES_MAX = 4096 };
	int64_t cpus[NODES_MAX], sum = 0;
	size_t count = srun_counts_parse(getenv("SLURM_JOB_CPUS_PER_NODE"), cpus, NODES_MAX);

	for (size_t i = 0; i < count; i++)
		sum += cpus[i];
	if (count && !job->overcommit && job->tasks * job->cpus_per_task > sum)
		return srun_refuse(srun, "More processors requested than permitted");
	return 0;
}

/* Finds out what the job has on its nodes. */
static int survey(struct srun *srun, struct srun_layout *all, int64_t **ret_usual)
{
	int64_t id = strtoll(srun->job_id, NULL, 10);
	json_t *job = NULL, *topology = NULL;
	int code = check_cpus(srun);

	if (code == 0)
		code = find_nodes(srun, all, ret_usual);
	if (code)
		return code;
	all->task_count = srun->batch.job.tasks;
	if (slurm_batch_job(srun->cli, id, &job) == 0 &&
	    json_object_size(json_object_get(job, "gpu_ids")) &&
	    service_list(srun->cli, "topology", &topology) == 0)
		for (size_t i = 0; i < all->node_count; i++)
			find_gpus(srun, job, topology, &all->nodes[i]);
	json_decref(job);
	json_decref(topology);
	return 0;
}

/* ---- which of them are free ---- */

enum claim { CLAIM_NO_MEMORY, CLAIM_NEVER, CLAIM_BUSY, CLAIM_DONE };

/* On so many nodes in a row, the first ones where it is free. */
static enum claim claim_once(struct srun *srun, const struct srun_layout *all, const int64_t *usual,
			     int fd, struct srun_layout *layout)
{
	int64_t most = srun->batch.job.nodes_max;
	size_t count = most && (size_t)most < all->node_count ? (size_t)most : all->node_count;
	/* -r says which is the first */
	size_t last = srun->batch.job.relative < 0 ? all->node_count - count : 0;
	enum claim claim = CLAIM_NEVER;

	for (size_t first = 0; first <= last; first++) {
		*layout = *all;
		layout->node_count = count;
		layout->nodes = strata_arena_array(&srun->cli->arena, count, sizeof(*all->nodes));
		if (!layout->nodes)
			return CLAIM_NO_MEMORY;
		memcpy(layout->nodes, all->nodes + first, count * sizeof(*all->nodes));
		if (!srun_spread(layout, usual + first, srun->batch.job.ntasks_per_node,
				 &srun->cli->arena))
			return CLAIM_NO_MEMORY;
		if (!srun_claim_possible(srun, layout))
			continue;
		if (srun_claim_try(fd, srun, layout))
			return CLAIM_DONE;
		claim = CLAIM_BUSY;
	}
	return claim;
}

/* Waits until other steps have left what this one needs. */
int srun_place(struct srun *srun, struct srun_layout *layout)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	struct srun_layout all = { 0 };
	int64_t *usual;
	int code = survey(srun, &all, &usual), fd = srun_claim_open();
	bool waited = false;

	while (code == 0) {
		enum claim claim = claim_once(srun, &all, usual, fd, layout);

		if (claim == CLAIM_NO_MEMORY)
			return srun_refuse(srun, "out of memory");
		if (claim == CLAIM_NEVER)
			return srun_refuse(srun, "Requested node configuration is not available");
		if (claim == CLAIM_DONE)
			break;
		if (!waited) {
			slurm_say(srun->cli,
				  "srun: Job %s step creation temporarily disabled, retrying "
				  "(Requested nodes are busy)",
				  srun->job_id);
			slurm_batch_note(&srun->batch,
					 "another step has these CPUs or GPUs; --exact takes only "
					 "what is asked for, --overlap shares");
		}
		waited = true;
		nanosleep(&pause, NULL);
	}
	return code;
}
