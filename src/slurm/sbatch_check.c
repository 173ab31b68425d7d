/*
 * What follows from the options of a batch job together: numbers of nodes, tasks and GPUs that are
 * implied, combinations that Slurm refuses (in its words), lists of nodes against the nodes there
 * are, and the warnings.
 */
#include "slurm/sbatch_int.h"

#include "core/text.h"
#include "slurm/slurm_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GRES "Invalid generic resource (gres) specification"
#define INVALID_GRES "; " GRES

int sbatch_warn(struct sbatch_reading *reading, struct strata_error *err, const char *format, ...)
{
	struct buf buf;
	va_list args;

	if (reading->job.quiet || reading->warning_count == SBATCH_WARNINGS_MAX)
		return 0;
	buf_init(&buf, reading->base.arena->memory, 0);
	va_start(args, format);
	buf_vprintf(&buf, format, args);
	va_end(args);
	int rc = slurm_keep(&buf, reading->base.arena, &reading->warnings[reading->warning_count],
			    err);

	reading->warning_count += rc == 0;
	return rc;
}

/* --mem, --mem-per-cpu and --mem-per-gpu: one at most; a word wins over a variable. */
static int check_memory(struct sbatch_reading *reading, struct strata_error *err)
{
	int64_t *bytes[] = { [SBATCH_MEM_NODE] = &reading->job.mem_bytes,
			     [SBATCH_MEM_CPU] = &reading->job.mem_per_cpu_bytes,
			     [SBATCH_MEM_GPU] = &reading->job.mem_per_gpu_bytes };
	int words = 0, variables = 0;

	for (int i = 0; i < SBATCH_MEM_KINDS; i++) {
		words += reading->mem_by_word[i];
		variables += reading->mem_by_env[i];
	}
	if (words > 1)
		return strata_fail(err, -EBADMSG,
				   "fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually "
				   "exclusive.");
	if (words == 0 && variables > 1)
		return strata_fail(err, -EBADMSG,
				   "fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and "
				   "SLURM_MEM_PER_NODE are mutually exclusive.");
	for (int i = 0; i < SBATCH_MEM_KINDS; i++)
		if (words && !reading->mem_by_word[i])
			*bytes[i] = -1;
	return 0;
}

/* What --ntasks-per-gpu does not go with. */
static int check_tasks_per_gpu(const struct strata_sbatch *job, struct strata_error *err)
{
	const char *other = job->gpus_per_task.text     ? "gpus-per-task"
			    : job->gpus_per_socket.text ? "gpus-per-socket"
			    : job->ntasks_per_node      ? "ntasks-per-node"
							: NULL;

	if (!job->ntasks_per_gpu || !other)
		return 0;
	return strata_fail(err, -EBADMSG,
			   "fatal: --%s is mutually exclusive with --ntasks-per-gpu and "
			   "SLURM_NTASKS_PER_GPU",
			   other);
}

/* GPUs with and without a type do not go together. */
static int check_types(const struct strata_sbatch *job, const struct strata_sbatch_gpus *gres,
		       struct strata_error *err)
{
	const struct strata_sbatch_gpus *const all[] = { &job->gpus, &job->gpus_per_node,
							 &job->gpus_per_task, &job->gpus_per_socket,
							 gres };
	bool typed = false, untyped = false;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!all[i]->text)
			continue;
		bool has = all[i]->text[strcspn(all[i]->text, ",")] || all[i]->type;

		typed |= has;
		untyped |= !has;
	}
	if (typed && untyped)
		return strata_fail(err, -EBADMSG,
				   "Invalid GRES specification (with and without type "
				   "identification)");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->text && all[i]->type && all[i]->type[0] == '-')
			return strata_fail(err, -EBADMSG, GRES);
	return 0;
}

/* --gpus against what is asked for per task. */
static int check_per_task(const struct sbatch_reading *reading, struct strata_error *err)
{
	const struct strata_sbatch *job = &reading->job;
	int64_t all = job->gpus.count, each = job->gpus_per_task.count;

	bool counted = job->tasks_given || job->ntasks_per_node || reading->nodes_given;

	if (job->ntasks_per_gpu && !counted && !job->gpus.text && !job->gpus_per_node.text &&
	    !job->gpus_per_task.text)
		return strata_fail(err, -EBADMSG,
				   "gres_job_state_validate: --ntasks-per-tres needs either a GRES "
				   "GPU specification or a node/ntask specification" INVALID_GRES);
	if (!job->gpus_per_task.text)
		return 0;
	if (!job->gpus.text && !counted)
		return strata_fail(err, -EBADMSG,
				   "Failed to validate job spec. --gpus-per-task used without "
				   "either --gpus or -n/--ntasks is not allowed." INVALID_GRES);
	if (!job->gpus.text || each == 0)
		return 0;
	if (all % each != 0)
		return strata_fail(err, -EBADMSG,
				   "Failed to validate job spec, --gpus not multiple of "
				   "--gpus-per-task" INVALID_GRES);
	if (job->tasks_given && all / each != job->tasks)
		return strata_fail(err, -EBADMSG,
				   "Failed to validate job spec. Based on --gpus and "
				   "--gpus-per-task number of requested tasks differ from "
				   "-n/--ntasks." INVALID_GRES);
	return 0;
}

/* --gpus against what is asked for per node. */
static int check_per_node(const struct sbatch_reading *reading, struct strata_error *err)
{
	const struct strata_sbatch *job = &reading->job;
	int64_t all = job->gpus.count, each = job->gpus_per_node.count;

	if (!job->gpus.text || all == 0)
		return 0;
	if (job->gpus_per_node.text && all < each)
		return strata_fail(err, -EBADMSG,
				   "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= "
				   "--gpus-per-socket" INVALID_GRES);
	if (job->gpus_per_node.text && each > 0) {
		if (all % each != 0)
			return strata_fail(err, -EBADMSG,
					   "Failed to validate job spec, --gpus is not multiple of "
					   "--gres=gpu/--gpus-per-node" INVALID_GRES);
		if (reading->nodes_given &&
		    (all / each < job->nodes || all / each > job->nodes_max))
			return strata_fail(err, -EBADMSG,
					   "Failed to validate job spec. Based on --gpu and "
					   "--gres=gpu/--gpus-per-node required nodes (%" PRId64
					   ") doesn't fall between min_nodes (%" PRId64
					   ") and max_nodes (%" PRId64 ") boundaries." INVALID_GRES,
					   all / each, job->nodes, job->nodes_max);
	}
	if (all < job->nodes) /* asked for, or named */
		return strata_fail(err, -EBADMSG,
				   "Failed to validate job spec, --gpus < -N" INVALID_GRES);
	return 0;
}

static int parse_gpus(struct sbatch_reading *reading, struct strata_error *err)
{
	struct strata_sbatch *job = &reading->job;
	struct strata_sbatch_gpus *const all[] = { &job->gpus, &job->gpus_per_node,
						   &job->gpus_per_task, &job->gpus_per_socket };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->text)
			rc = slurm_gpus_parse(all[i]->text, reading->base.arena, all[i], err);
	if (rc == 0 && job->gres)
		rc = slurm_gres_parse(job->gres, reading->base.arena, &reading->gres, err);
	return rc;
}

static int check_gpus(struct sbatch_reading *reading, struct strata_error *err)
{
	struct strata_sbatch *job = &reading->job;

	if (job->gpus_per_socket.text && !job->sockets_per_node)
		return strata_fail(err, -EBADMSG,
				   "--gpus-per-socket option requires --sockets-per-node "
				   "specification" INVALID_GRES);
	int rc = parse_gpus(reading, err);

	if (rc == 0)
		rc = check_types(job, &reading->gres, err);
	if (rc)
		return rc;
	if (reading->gres.text) { /* which Slurm reads after --gpus-per-node */
		job->gpus_per_node.count = reading->gres.count;
		job->gpus_per_node.type = reading->gres.type;
		if (!job->gpus_per_node.text)
			job->gpus_per_node.text = job->gres;
	}
	if (job->cpus_per_gpu && job->cpus_per_task_given)
		return strata_fail(err, -EBADMSG,
				   "--cpus-per-gpu is mutually exclusive with "
				   "--cpus-per-task" INVALID_GRES);
	rc = check_per_task(reading, err);
	return rc ? rc : check_per_node(reading, err);
}

/* A failure that Slurm's controller would report. A lack of memory stays one. */
static int fail_controller(int rc, const char *why, struct strata_error *err)
{
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	return strata_fail(err, -EBADMSG, "Batch job submission failed: %s", why);
}

static int parse_when(struct sbatch_reading *reading, struct strata_error *err)
{
	struct strata_sbatch *job = &reading->job;
	int rc = 0;

	if (reading->array)
		rc = strata_array_parse(reading->array, STRATA_TEXT_NUL, reading->base.arena,
					&job->array, err);
	if (rc)
		return fail_controller(rc, "Invalid job array specification", err);
	if (reading->dependency)
		rc = strata_slurm_dependencies_parse(reading->dependency, STRATA_TEXT_NUL,
						     reading->base.arena, &job->dependencies, err);
	return fail_controller(rc, "Job dependency problem", err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Are all names of a list among the nodes there are? */
static int check_known(struct sbatch_reading *reading, const char *list, struct strata_error *err)
{
	const char **names, **nodes = NULL;
	size_t name_count, node_count = 0;

	if (!list)
		return 0;
	int rc = strata_hostlist_expand(list, STRATA_TEXT_NUL, reading->base.arena, &names,
					&name_count, err);

	if (rc)
		return fail_controller(rc, "Invalid node name specified", err);
	if (reading->in->nodes)
		rc = strata_hostlist_expand(reading->in->nodes, STRATA_TEXT_NUL,
					    reading->base.arena, &nodes, &node_count, err);
	if (rc || !reading->in->nodes)
		return rc;
	if (node_count)
		qsort(nodes, node_count, sizeof(*nodes), by_name);
	for (size_t i = 0; i < name_count; i++)
		if (!node_count || !bsearch(&names[i], nodes, node_count, sizeof(*nodes), by_name))
			return fail_controller(-EINVAL, "Invalid node name specified", err);
	return 0;
}

/* A list of nodes asks for at least as many; one longer than the tasks is cut. */
static int settle_nodelist(struct sbatch_reading *reading, struct strata_error *err)
{
	struct strata_sbatch *job = &reading->job;
	const char **names;
	size_t count;

	if (!job->nodelist)
		return 0;
	int rc = strata_hostlist_expand(job->nodelist, STRATA_TEXT_NUL, reading->base.arena, &names,
					&count, err);

	if (rc) /* reported with the controller's other complaints */
		return rc == -ENOMEM ? rc : 0;
	if (reading->nodes_given && (int64_t)count > job->nodes_max)
		return strata_fail(err, -EBADMSG, "invalid number of nodes (-N %zu-%" PRId64 ")",
				   count, job->nodes_max);
	if (job->tasks_given && (int64_t)count > job->tasks) {
		rc = sbatch_warn(reading, err,
				 "can't run %" PRId64 " processes on %zu nodes, setting nnodes to "
				 "%" PRId64,
				 job->tasks, count, job->tasks);
		count = (size_t)job->tasks;
		if (rc == 0)
			rc = strata_hostlist_compress(names, count, reading->base.arena,
						      &job->nodelist, err);
	}
	if (rc == 0 && (int64_t)count > job->nodes)
		job->nodes = (int64_t)count;
	return rc;
}

/* Of counts that fit into 31 bits each, one that does so too. */
static int64_t times(int64_t a, int64_t b)
{
	return a * b < INT32_MAX ? a * b : INT32_MAX;
}

static int64_t round_up(int64_t value, int64_t unit)
{
	return (value + unit - 1) / unit;
}

/* Nodes and tasks from each other and from the GPUs. */
static int settle_counts(struct sbatch_reading *reading, struct strata_error *err)
{
	struct strata_sbatch *job = &reading->job;
	int rc = 0;

	if (reading->nodes_given && job->nodes_max == 0)
		return strata_fail(err, -EBADMSG,
				   "Batch job submission failed: Node count specification invalid");
	if (job->nodes < 1)
		job->nodes = 1;
	if (job->tasks_given && job->tasks < job->nodes) {
		rc = sbatch_warn(reading, err,
				 "can't run %" PRId64 " processes on %" PRId64
				 " nodes, setting nnodes to %" PRId64,
				 job->tasks, job->nodes, job->tasks);
		job->nodes = job->tasks;
	}
	if (job->tasks_given && job->nodes_max > job->tasks)
		job->nodes_max = job->tasks;
	if (job->tasks_given && job->ntasks_per_node && !reading->nodes_given) {
		int64_t needed = round_up(job->tasks, job->ntasks_per_node);

		job->nodes = needed > job->nodes ? needed : job->nodes;
	}
	if (job->gpus_per_node.count > 0 && job->gpus.count > 0 && !reading->nodes_given)
		job->nodes = job->gpus.count / job->gpus_per_node.count;
	if (job->tasks_given)
		return rc;
	if (job->ntasks_per_node)
		job->tasks = times(job->nodes, job->ntasks_per_node);
	else if (job->gpus.count && job->gpus_per_task.count)
		job->tasks = job->gpus.count / job->gpus_per_task.count;
	else if (job->gpus.count && job->ntasks_per_gpu)
		job->tasks = times(job->gpus.count, job->ntasks_per_gpu);
	else if (job->gpus_per_node.count && job->ntasks_per_gpu)
		job->tasks =
			times(times(job->nodes, job->gpus_per_node.count), job->ntasks_per_gpu);
	else
		job->tasks = job->nodes;
	return rc;
}

static void settle_gpus(struct strata_sbatch *job)
{
	if (job->gpus.text)
		job->gpus_total = job->gpus.count;
	else if (job->gpus_per_node.text)
		job->gpus_total = times(job->gpus_per_node.count, job->nodes);
	else if (job->gpus_per_socket.text)
		job->gpus_total =
			times(times(job->gpus_per_socket.count, job->sockets_per_node), job->nodes);
	else if (job->gpus_per_task.text)
		job->gpus_total = times(job->gpus_per_task.count, job->tasks);
}

/* Slurm looks at hints when all else has been read. */
static int check_hint(const struct sbatch_reading *reading, struct strata_error *err)
{
	static const char *const hints[] = { "compute_bound", "memory_bound", "multithread",
					     "nomultithread" };
	const char *hint = reading->job.hint;
	char excerpt[TEXT_EXCERPT_BYTES];

	for (size_t i = 0; hint && i < sizeof(hints) / sizeof(hints[0]); i++)
		if (text_same(hint, strlen(hint), hints[i]))
			hint = NULL;
	if (!hint)
		return 0;
	text_excerpt(hint, strlen(hint), excerpt);
	return strata_fail_at(err, -EBADMSG, "hint",
			      "unrecognized --hint argument \"%s\", see --hint=help", excerpt);
}

/* One warning for all options that have no effect. */
static int warn_ignored(struct sbatch_reading *reading, struct strata_error *err)
{
	const char *text = NULL;
	int rc = slurm_rows_warning(&reading->base, &text, err);

	return rc || !text ? rc : sbatch_warn(reading, err, "%s", text);
}

int sbatch_settle(struct sbatch_reading *reading, struct strata_error *err)
{
	struct strata_sbatch *job = &reading->job;

	job->tasks_given = job->tasks > 0;
	job->cpus_per_task_given = job->cpus_per_task > 0;
	if (!job->cpus_per_task_given)
		job->cpus_per_task = 1;
	int rc = check_hint(reading, err);

	if (rc == 0)
		rc = check_memory(reading, err);
	if (rc == 0)
		rc = check_tasks_per_gpu(job, err);
	if (rc == 0)
		rc = settle_nodelist(reading, err);
	if (rc == 0)
		rc = check_gpus(reading, err);
	if (rc == 0)
		rc = settle_counts(reading, err);
	if (rc == 0)
		rc = parse_when(reading, err);
	if (rc == 0)
		rc = check_known(reading, job->nodelist, err);
	if (rc == 0)
		rc = check_known(reading, job->exclude, err);
	if (rc == 0)
		rc = warn_ignored(reading, err);
	settle_gpus(job);
	return rc;
}
