/*
 * srun outside of a job: one is made that calls srun again with the same words, which then is
 * within it. We sit at it as `strata run` does, with a terminal when --pty asks for one; what the
 * options say of files is for the srun within. An interrupt cancels the job.
 */
#include "cli/slurm/srun.h"

#include "cli/interactive.h"

#include <inttypes.h>
#include <signal.h>

struct sitting {
	struct interactive it; /* first: what the voice is handed is this */
	struct srun *srun;
	bool waited, told;
};

static struct sitting *sitting_of(struct interactive *it)
{
	return (struct sitting *)it;
}

static void say_waits(struct interactive *it, const json_t *job)
{
	struct sitting *sitting = sitting_of(it);

	(void)job;
	if (!sitting->waited && !sitting->srun->batch.job.quiet)
		slurm_say(it->cli, "srun: job %" PRId64 " queued and waiting for resources",
			  it->id);
	sitting->waited = true;
}

static void say_starts(struct interactive *it)
{
	struct sitting *sitting = sitting_of(it);

	if (sitting->waited && !sitting->srun->batch.job.quiet)
		slurm_say(it->cli, "srun: job %" PRId64 " has been allocated resources", it->id);
}

static void say_forced(struct interactive *it)
{
	sitting_of(it)->told = true;
	slurm_say(it->cli, "srun: Force Terminated job %" PRId64, it->id);
}

static bool interrupt(struct interactive *it, int number)
{
	if (number != SIGINT && number != SIGTERM)
		return false;
	if (!sitting_of(it)->told) {
		interactive_cancel(it);
		say_forced(it);
	}
	return true;
}

static void say_ended(struct interactive *it, const json_t *job)
{
	struct sitting *sitting = sitting_of(it);
	struct buf sentence;

	if (sitting->told)
		return;
	buf_init(&sentence, &it->cli->memory, 0);
	job_sentence(job, when_now_ns(), &sentence);
	slurm_batch_note(&sitting->srun->batch, "%s", sentence.text);
	buf_fini(&sentence);
}

static const struct interactive_voice voice = { .waits = say_waits,
						.starts = say_starts,
						.gives_up = say_forced,
						.signal = interrupt,
						.ended = say_ended };

/* The words that made us what we are. */
static int add_command(struct sitting *sitting)
{
	struct srun *srun = sitting->srun;
	struct cli *cli = srun->cli;
	size_t count = srun->word_count + 3;
	char **words = strata_arena_array(&cli->arena, count, sizeof(*words));
	char *self = interactive_self(cli);

	if (!words || !self)
		return strata_fail_memory(&cli->err);
	words[0] = self;
	words[1] = (char[]){ "slurm" };
	words[2] = (char[]){ "srun" };
	for (size_t i = 0; i < srun->word_count; i++)
		words[3 + i] = srun->words[i];
	return interactive_fill(&sitting->it, srun->batch.body, words, count);
}

static int submit(struct sitting *sitting, int64_t *ret_id)
{
	struct batch *batch = &sitting->srun->batch;
	int64_t *ids;
	size_t count;

	int code = slurm_fits_check(batch);

	if (code == 0)
		code = slurm_batch_fill(batch);
	if (code)
		return code;
	json_object_del(batch->body, "output");
	json_object_del(batch->body, "error");
	json_object_del(batch->body, "input");
	if (add_command(sitting))
		return slurm_batch_refuse(batch, batch->cli->err.text);
	code = slurm_batch_send(batch, &ids, &count);
	if (code == 0) {
		*ret_id = ids[0];
		code = slurm_batch_immediate(batch, ids[0]);
	}
	return code;
}

int srun_job(struct srun *srun)
{
	struct cli *cli = srun->cli;
	struct sitting sitting = { .srun = srun };
	int64_t id = 0;

	if (interactive_open(&sitting.it, cli, &voice)) {
		slurm_error(cli, "srun", "%s", cli->err.text);
		return 1;
	}
	sitting.it.terminal = srun->batch.job.pty;
	sitting.it.keys_prefix = srun->batch.job.pty ? CONSOLE_KEYS_DEFAULT : 0;
	int code = submit(&sitting, &id);

	if (code == 0)
		code = interactive_follow(&sitting.it, id);
	interactive_close(&sitting.it);
	if (code < 0)
		slurm_error(cli, "srun", "%s", cli->err.text);
	return code < 0 ? 1 : code;
}
