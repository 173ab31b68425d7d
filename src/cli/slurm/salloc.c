/*
 * salloc: an allocation with a shell in it, or a command; it is given back when that ends. As where
 * Slurm is set up to start the shell on the allocation's own node, it runs in the job, with its
 * limits and GPUs, and `srun` in it starts steps. We sit at it as `strata run` does.
 */
#include "cli/interactive.h"
#include "cli/slurm/slurm_batch.h"

#include "slurm/sbatch_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS (50 * STRATA_MS_NS)
#define RING_AFTER_NS (10 * STRATA_SECOND_NS)
enum { PATIENCE = 20 }; /* looks until it is said that the job waits */

struct allocation {
	struct interactive it; /* first: what the voice is handed is this */
	struct batch batch;
	bool waited, revoked;
};

static struct allocation *allocation_of(struct interactive *it)
{
	return (struct allocation *)it;
}

static void say(struct allocation *allocation, const char *before, const char *behind)
{
	if (!allocation->batch.job.quiet)
		slurm_say(allocation->batch.cli, "salloc: %s %" PRId64 "%s", before,
			  allocation->it.id, behind);
}

static void say_waits(struct interactive *it, const json_t *job)
{
	struct allocation *allocation = allocation_of(it);

	(void)job;
	if (allocation->waited)
		return;
	allocation->waited = true;
	say(allocation, "Pending job allocation", "");
	say(allocation, "job", " queued and waiting for resources");
}

/* --bell; without it only who has waited for long hears it. */
static void ring(const struct allocation *allocation)
{
	const struct strata_sbatch *job = &allocation->batch.job;
	bool long_wait = when_now_ns() - allocation->batch.caller.now_ns > RING_AFTER_NS;

	if ((job->bell || (long_wait && !job->no_bell)) && isatty(STDOUT_FILENO)) {
		cli_print(allocation->batch.cli, "\a");
		cli_flush(allocation->batch.cli);
	}
}

static void say_starts(struct interactive *it)
{
	struct allocation *allocation = allocation_of(it);

	if (allocation->waited)
		say(allocation, "job", " has been allocated resources");
	say(allocation, "Granted job allocation", "");
	ring(allocation);
}

static void say_revoked(struct interactive *it)
{
	struct allocation *allocation = allocation_of(it);

	allocation->revoked = true;
	say(allocation, "Job allocation", " has been revoked.");
}

static void say_ended(struct interactive *it, const json_t *job)
{
	struct allocation *allocation = allocation_of(it);
	struct buf sentence;

	say_revoked(it);
	buf_init(&sentence, &it->cli->memory, 0);
	job_sentence(job, when_now_ns(), &sentence);
	slurm_batch_note(&allocation->batch, "%s", sentence.text);
	buf_fini(&sentence);
}

static const struct interactive_voice voice = {
	.waits = say_waits, .starts = say_starts, .gives_up = say_revoked, .ended = say_ended
};

/* ---- what is asked for ---- */

/* salloc's own variables are sbatch's under another name. */
static const char *const *make_variables(struct cli *cli)
{
	size_t count = 0, used = 0;

	while (environ[count])
		count++;
	const char **all = strata_arena_array(&cli->arena, count + 1, sizeof(*all));

	for (size_t i = 0; all && i < count; i++) {
		if (strncmp(environ[i], "SALLOC_", 7) != 0)
			continue;
		all[used] = strata_arena_printf(&cli->arena, "SBATCH_%s", environ[i] + 7);
		if (!all[used++])
			return NULL;
	}
	return all;
}

static int parse(struct batch *batch, int argc, char **argv)
{
	struct cli *cli = batch->cli;
	const struct strata_sbatch_input in = {
		.command = STRATA_SLURM_SALLOC,
		.args = (const char *const *)argv + 1,
		.arg_count = (size_t)argc - 1,
		.env = make_variables(cli),
		.now_ns = batch->caller.now_ns,
		.zone_seconds = batch->caller.zone_seconds,
	};
	int rc = in.env ? strata_sbatch_parse(&in, &cli->arena, &batch->job, &cli->err)
			: strata_fail_memory(&cli->err);

	return rc ? slurm_batch_complain(batch) : 0;
}

/* ---- together ---- */

static int prepare(struct batch *batch)
{
	int code = slurm_fits_check(batch);

	if (code)
		return code;
	slurm_batch_warn_options(batch);
	code = slurm_batch_fill(batch);
	if (code == 0)
		json_object_del(batch->body, "output");
	return code;
}

/* Until it has its resources; a signal gives it up. Returns the exit code. */
static int wait_for_start(struct allocation *allocation)
{
	struct interactive *it = &allocation->it;
	const char *state = "queued";

	for (int look = 0; strcmp(state, "queued") == 0; look++) {
		json_t *job = NULL;
		int number = console_signals_take(it->signals);
		int rc = slurm_batch_job(it->cli, it->id, &job);

		if (number) {
			slurm_batch_cancel(&allocation->batch, it->id);
			say_revoked(it);
			return 1;
		}
		if (rc && !service_away(rc))
			return slurm_batch_unreachable(&allocation->batch);
		if (rc == 0)
			state = job_ended(job) ? "ended"
				: strcmp(grid_or(json_object_get(job, "state"), ""), "queued") == 0
					? "queued"
					: "started";
		json_decref(job);
		if (look == PATIENCE && strcmp(state, "queued") == 0)
			say_waits(it, NULL);
		if (strcmp(state, "queued") == 0)
			follow_sleep(LOOK_NS);
	}
	if (strcmp(state, "ended") == 0) {
		say_revoked(it);
		return 1;
	}
	say_starts(it);
	return 0;
}

/* --no-shell: only the resources, until somebody cancels it or its time is over. */
static int allocate_only(struct allocation *allocation)
{
	struct batch *batch = &allocation->batch;
	struct interactive *it = &allocation->it;
	int64_t *ids;
	size_t count;
	int code = prepare(batch);

	if (code)
		return code;
	*it = (struct interactive){ .cli = batch->cli, .held = -1, .signals = -1 };
	if (console_signals_open(&it->signals, &batch->cli->err))
		return slurm_batch_complain(batch);
	if (json_object_set_new(batch->body, "output", json_string("/dev/null")) ||
	    json_object_set_new(batch->body, "command", json_pack("[s,s]", "sleep", "infinity"))) {
		strata_fail_memory(&batch->cli->err);
		code = slurm_batch_complain(batch);
	}
	if (code == 0)
		code = slurm_batch_send(batch, &ids, &count);
	if (code == 0) {
		it->id = ids[0];
		code = wait_for_start(allocation);
	}
	interactive_close(it);
	return code;
}

static int submit(struct allocation *allocation, char *const *words, size_t count, int64_t *ret_id)
{
	struct batch *batch = &allocation->batch;
	int64_t *ids;
	size_t id_count;
	int code = prepare(batch);

	if (code)
		return code;
	if (interactive_fill(&allocation->it, batch->body, words, count))
		return slurm_batch_refuse(batch, batch->cli->err.text);
	code = slurm_batch_send(batch, &ids, &id_count);
	if (code == 0) {
		*ret_id = ids[0];
		code = slurm_batch_immediate(batch, ids[0]);
	}
	return code;
}

static int sit(struct allocation *allocation, char *const *words, size_t count)
{
	struct cli *cli = allocation->batch.cli;
	int64_t id = 0;

	if (interactive_open(&allocation->it, cli, &voice)) {
		slurm_error(cli, "salloc", "%s", cli->err.text);
		return 1;
	}
	allocation->it.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	int code = submit(allocation, words, count, &id);

	if (code == 0) {
		code = interactive_follow(&allocation->it, id);
		/* one that somebody left running is not given back */
		if (code >= 0 && !allocation->revoked && allocation->it.held >= 0)
			say(allocation, "Relinquishing job allocation", "");
	}
	interactive_close(&allocation->it);
	if (code < 0)
		slurm_error(cli, "salloc", "%s", cli->err.text);
	return code < 0 ? 1 : code;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct allocation allocation = { 0 };
	struct batch *batch = &allocation.batch;
	int code = slurm_batch_init(batch, cli, argv[0]);

	if (code == 0)
		code = parse(batch, argc, argv);
	if (code)
		return code;
	if (batch->job.version || batch->job.help || batch->job.usage)
		return slurm_batch_talk(batch, &slurm_salloc);
	slurm_batch_tell(batch, &salloc_syntax, (const char *const *)argv + 1, (size_t)argc - 1);
	if (batch->job.no_shell)
		return allocate_only(&allocation);
	size_t count = batch->job.script_arg_count;
	char *shell = count ? NULL : interactive_shell(cli);

	if (!count && !shell) {
		strata_fail_memory(&cli->err);
		return slurm_batch_complain(batch);
	}
	return sit(&allocation, count ? argv + argc - count : &shell, count ? count : 1);
}

const struct slurm_command slurm_salloc = { .name = "salloc",
					    .summary =
						    "an allocation with a shell or command in it",
					    .operands = "[COMMAND [ARGUMENT…]]",
					    .syntax = &salloc_syntax,
					    .run = run };
