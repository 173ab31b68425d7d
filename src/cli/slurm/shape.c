/*
 * How the nodes of a job are to be built: sockets, cores, threads, temporary disk; and how many
 * tasks may be on each of these. Nodes that are built otherwise are excluded, so that the service
 * never puts the job there; a job that no node would do for is refused in Slurm's words.
 */
#include "cli/slurm/node_read.h"
#include "cli/slurm/slurm_batch.h"

#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>

#define NO_SUCH_NODE "Requested node configuration is not available"

int64_t slurm_tmp_bytes(void)
{
	struct statvfs status;

	return statvfs("/tmp", &status) ? 0 : (int64_t)(status.f_blocks * status.f_frsize);
}

static int64_t threads_of(const struct slurm_node *node)
{
	return node->cores ? node->cpus / node->cores : 1;
}

static bool is_built_so(const struct strata_sbatch *job, const struct slurm_node *node)
{
	return node->sockets >= job->sockets_per_node &&
	       node->cores / node->sockets >= job->cores_per_socket &&
	       threads_of(node) >= job->threads_per_core && node->cpus >= job->mincpus;
}

/* One thread of each core for a task: a whole core is asked for. */
static bool wants_cores(const struct strata_sbatch *job)
{
	return job->threads_per_core == 1 || job->ntasks_per_core == 1 ||
	       (job->hint && (strcasecmp(job->hint, "nomultithread") == 0 ||
			      strcasecmp(job->hint, "compute_bound") == 0));
}

/* So many tasks at most on a node; 0: any number. */
static int64_t most_tasks(const struct strata_sbatch *job, const struct slurm_node *node)
{
	int64_t by_core = job->ntasks_per_core * node->cores,
		by_socket = job->ntasks_per_socket * node->sockets;

	return by_core && by_socket ? (by_core < by_socket ? by_core : by_socket)
				    : by_core + by_socket;
}

/* More nodes where one may not have all tasks that it could. */
static int spread(struct batch *batch, int64_t most, int64_t nodes)
{
	struct strata_sbatch *job = &batch->job;

	if (most && job->tasks > most * job->nodes) {
		if (job->nodes_max && job->tasks > most * job->nodes_max)
			return slurm_batch_refuse(batch, NO_SUCH_NODE);
		job->nodes = (job->tasks + most - 1) / most;
	}
	if (job->spread_job) {
		int64_t wide = job->tasks < nodes ? job->tasks : nodes;

		wide = job->nodes_max && wide > job->nodes_max ? job->nodes_max : wide;
		job->nodes = wide > job->nodes ? wide : job->nodes;
	}
	return job->nodes > nodes && (most || job->spread_job)
		       ? slurm_batch_refuse(batch, NO_SUCH_NODE)
		       : 0;
}

static bool asks(const struct strata_sbatch *job)
{
	return job->sockets_per_node || job->cores_per_socket || job->threads_per_core ||
	       job->mincpus || job->ntasks_per_core || job->ntasks_per_socket || job->spread_job ||
	       job->hint;
}

/* Excludes those that will not do. */
static int pick(struct batch *batch, const struct slurm_nodes *nodes)
{
	struct strata_sbatch *job = &batch->job;
	struct cli *cli = batch->cli;
	int64_t most = 0, good = 0, threads = 1;
	bool excluded = false;

	for (size_t i = 0; i < nodes->count; i++) {
		const struct slurm_node *node = &nodes->list[i];
		int64_t own = most_tasks(job, node);

		if (!is_built_so(job, node)) {
			job->exclude = strata_arena_printf(&cli->arena, "%s%s%s",
							   job->exclude ? job->exclude : "",
							   job->exclude ? "," : "", node->name);
			excluded = true;
			continue;
		}
		if (job->partition && !slurm_listed(node->partitions, job->partition))
			continue;
		good++;
		most = !most || own < most ? own : most;
		threads = threads_of(node) > threads ? threads_of(node) : threads;
	}
	if (!good && excluded) {
		slurm_error(cli, batch->program,
			    "Socket, core and/or thread specification can not be satisfied");
		return slurm_batch_refuse(batch, NO_SUCH_NODE);
	}
	if (wants_cores(job) && threads > 1) { /* a CPU is a thread */
		int64_t cores = (job->cpus_per_task + threads - 1) / threads;

		job->cpus_per_task = (job->cpus_per_task_given ? cores : 1) * threads;
		job->cpus_per_task_given = true;
	}
	return spread(batch, most, good);
}

int slurm_shape_settle(struct batch *batch)
{
	struct slurm_nodes nodes;
	int code = 0;

	if (batch->job.tmp_bytes > slurm_tmp_bytes()) {
		slurm_error(batch->cli, batch->program,
			    "Temporary disk specification can not be satisfied");
		return slurm_batch_refuse(batch, NO_SUCH_NODE);
	}
	if (!asks(&batch->job))
		return 0;
	if (slurm_nodes_load(batch->cli, &nodes))
		return slurm_batch_unreachable(batch);
	code = pick(batch, &nodes);
	slurm_nodes_fini(&nodes);
	return code;
}
