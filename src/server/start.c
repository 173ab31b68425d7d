/*
 * From a job that was placed to an order for the executor: its files, its environment, its program,
 * all from what is stored of it, so that a service that comes back makes the same order again.
 */
#include "server/start.h"

#include "slurm/slurm_value.h"
#include "machine/inventory.h"
#include "server/job_files.h"
#include "server/nodes.h"
#include "server/output.h"
#include "server/start_environment.h"

#include <strata/limits.h>
#include <strata/slurm.h>
#include <strata/text.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PUT_OFF_NS (5 * STRATA_SECOND_NS) /* until a start is tried again */

struct start {
	struct decider *decider;
	struct live *live;
	const struct job_spec *spec;
	const struct strata_piece *pieces; /* the cluster's */
	uint32_t piece_count;
	struct os_user user;
	struct exec_order order;
	char token[JOB_TOKEN_BYTES];
};

/* Whose job it is, as the system knows him. One that it does not know has no home. */
static void find_user(struct start *start)
{
	if (os_user_by_uid((uid_t)start->live->job.uid, &start->user))
		return;
	strcpy(start->user.home, "/");
	strcpy(start->user.shell, "/bin/sh");
}

static int fill_files(struct start *start, struct strata_error *err)
{
	struct decider *decider = start->decider;
	struct exec_order *order = &start->order;
	struct live *live = start->live;
	struct job_files files;
	int rc = job_files_make(&live->job, start->spec, decider->nodes[start->pieces[0].node].name,
				start->user.home, &decider->scratch, &files, err);

	if (rc)
		return rc;
	order->directory = files.directory;
	order->output = files.output;
	order->error_output = files.error;
	order->input = files.input;
	order->append = start->spec->append || live->job.attempt > 1;
	free(live->output);
	free(live->error);
	live->output = strdup(files.output);
	live->error = files.error ? strdup(files.error) : NULL;
	output_started(decider, live);
	return 0;
}

static int fill_environment(struct start *start, struct strata_error *err)
{
	const struct start_place place = { .pieces = start->pieces,
					   .piece_count = start->piece_count,
					   .user = &start->user,
					   .directory = start->order.directory,
					   .checkpoint_dir = start->order.checkpoint_dir };

	return start_environment(start->decider, start->live, &place, &start->order.environment,
				 err);
}

/* A program without a slash is looked for by the job's own process, with its user's rights and no
 * others. */
static const char *program_of(struct start *start, const char *name)
{
	return *name == '/' || !strchr(name, '/')
		       ? name
		       : strata_arena_printf(&start->decider->scratch, "%s/%s",
					     start->order.directory, name);
}

static int fill_program(struct start *start, struct strata_error *err)
{
	struct exec_order *order = &start->order;
	const struct job *job = &start->live->job;

	if (job->script) {
		struct store_blob blob;
		int rc = store_blob_get(start->decider->store, job->script,
					&start->decider->scratch, &blob, err);

		if (rc)
			return rc;
		order->script = blob.bytes;
		order->script_bytes = blob.size_bytes;
		order->arguments = start->spec->arguments;
		return 0;
	}
	const char *const *words = start->spec->command.items;

	order->program = program_of(start, words[0]);
	order->arguments =
		(struct strata_list){ (void *)(words + 1), start->spec->command.count - 1 };
	return order->program ? 0 : strata_fail_memory(err);
}

static void fill_signal(struct start *start)
{
	struct strata_sbatch_signal signal;

	if (!start->spec->signal || !slurm_signal_parse(start->spec->signal, &signal))
		return;
	start->order.warn_signal = signal.number;
	start->order.warn_ns = signal.before_ns;
	start->order.warn_to = signal.batch_only ? EXEC_TO_BATCH : EXEC_TO_STEPS;
}

static int fill_places(struct start *start, struct strata_error *err)
{
	struct decider *decider = start->decider;
	struct strata_arena *arena = &decider->scratch;
	const struct job *job = &start->live->job;
	const char **texts = strata_arena_array(arena, start->piece_count, sizeof(*texts));

	if (!texts)
		return strata_fail_memory(err);
	for (uint32_t i = 0; i < start->piece_count; i++) {
		const struct strata_piece *piece = &start->pieces[i];
		const struct node_about *node = &decider->nodes[piece->node];
		const char *type =
			start->spec->gpu_type && node->conf.gpu_type ? node->conf.gpu_type : NULL;

		texts[i] = strata_arena_printf(
			arena,
			"name=%s:tasks=%u:cpu_milli=%lld:memory_bytes=%lld:gpus=%d:gpu_milli=%lld%"
			"s%s",
			node->name, piece->tasks, (long long)piece->cpu_milli,
			(long long)piece->memory_bytes, __builtin_popcount(piece->gpu_mask),
			(long long)piece->gpu_milli, type ? ":gpu_type=" : "", type ? type : "");
		if (!texts[i])
			return strata_fail_memory(err);
	}
	start->order.places = (struct strata_list){ texts, start->piece_count };
	start->order.name = job->name;
	start->order.partition =
		job->partition && *job->partition
			? job->partition
			: nodes_partition(decider, start->pieces, start->piece_count, arena);
	return 0;
}

/* Where the cluster has put it. */
static int find_pieces(struct start *start, struct strata_error *err)
{
	struct strata_job_view view;
	int rc = strata_cluster_job(start->decider->cluster, (uint64_t)start->live->job.id, &view,
				    err);

	if (rc)
		return rc;
	assert(view.piece_count > 0 && start->live->job.place);
	start->pieces = view.pieces;
	start->piece_count = view.piece_count;
	return 0;
}

static void fill_order(struct start *start)
{
	struct decider *decider = start->decider;
	const struct job *job = &start->live->job;
	int64_t mask = 022;

	job_spec_umask(start->spec->umask, &mask); /* it was checked when it was taken in */
	start->order = (struct exec_order){
		.job = job->id,
		.attempt = job->attempt,
		.epoch = (int64_t)decider->epoch,
		.user = job->user,
		.uid = job->uid,
		.gid = job->gid,
		.umask = mask,
		.time_limit_ns = job->time_limit_ns,
		.grace_ns = decider->conf->grace_ns,
		.checkpoint_signal = SIGUSR1,
		.checkpoint_asked = start->spec->checkpoint_ns > 0,
		.checkpoint_place = true,
		.image = start->spec->image,
		.token = job_token_make(decider->common->job_key, job->id, job->attempt,
					start->token),
		.node = decider->nodes[start->pieces[0].node].name,
		.checkpoint_dir = strata_arena_printf(&decider->scratch, "%s/%lld",
						      decider->conf->checkpoint_dir,
						      (long long)job->id),
	};
	/* the limits of all its nodes, which are one machine where limits are kept */
	for (uint32_t i = 0; i < start->piece_count; i++) {
		start->order.cpu_milli += start->pieces[i].cpu_milli;
		start->order.memory_bytes += start->pieces[i].memory_bytes;
	}
}

static int make_order(struct start *start, struct strata_error *err)
{
	int rc = find_pieces(start, err);

	if (rc)
		return rc;
	find_user(start);
	fill_order(start);
	fill_signal(start);
	rc = fill_places(start, err);
	if (rc == 0)
		rc = fill_files(start, err);
	if (rc == 0)
		rc = fill_environment(start, err);
	return rc ? rc : fill_program(start, err);
}

void start_put_off(struct decider *decider, struct live *live, int64_t wait_ns, const char *kind,
		   const char *why)
{
	int64_t now_ns = decider_now_ns(decider);
	uint64_t id = (uint64_t)live->job.id;
	struct strata_job_change later = { .what = STRATA_CHANGE_BEGIN,
					   .begin_ns = now_ns + wait_ns };

	strata_cluster_ended(decider->cluster, id, STRATA_OUTCOME_START_FAILED, now_ns, NULL);
	strata_cluster_change(decider->cluster, id, &later, now_ns, NULL);
	batch_event(decider, live->job.id, kind, json_pack("{s:s}", "error", why));
	live_set_place(decider, live, NULL, 0);
	live_set_failure(decider, live, why);
	live_update(decider, live);
}

/* The store is away, the disk is full, there is no room for one more file or process. */
static bool will_pass(int rc)
{
	return rc == -EAGAIN || rc == -ECONNREFUSED || rc == -ENOSPC || rc == -EDQUOT ||
	       rc == -EROFS || rc == -EIO || rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM ||
	       rc == -ESTALE;
}

/* The start was decided and is durable: now it is ordered. An order that cannot be carried out, now
 * or later, fails the job. */
void start_order(struct decider *decider, struct live *live)
{
	struct start start = { .decider = decider, .live = live, .spec = &live->spec->spec };
	struct strata_error err = { 0 };
	const struct service_trace *trace = &decider->common->trace;
	int64_t start_ns = service_trace_now_ns(trace);
	int rc = make_order(&start, &err);

	if (rc == 0)
		rc = decider->exec->cls->start(decider->exec, &start.order, &err);
	service_trace_slice(trace, trace->executor, "start", start_ns, (uint64_t)live->job.id,
			    strata_trace_int("attempt", live->job.attempt));
	if (rc == -EEXIST)
		rc = decider->exec->cls->adopt(
			decider->exec,
			(struct exec_key){ (uint64_t)live->job.id, (uint32_t)live->job.attempt },
			&err);
	live->ordered = rc == 0;
	if (rc == 0)
		return;
	if (will_pass(rc)) {
		start_put_off(decider, live, PUT_OFF_NS, "job.put_off", err.text);
		return;
	}
	batch_event(decider, live->job.id, "job.start_failed",
		    json_pack("{s:s}", "error", err.text));
	strata_cluster_ended(decider->cluster, (uint64_t)live->job.id, STRATA_OUTCOME_NOT_STARTED,
			     decider_now_ns(decider), NULL);
	live_set_place(decider, live, NULL, 0);
	live_set_failure(decider, live, err.text);
	live_update(decider, live);
	live_ended(decider, live, NULL);
}
