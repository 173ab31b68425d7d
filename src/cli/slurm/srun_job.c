/*
 * srun outside of a job: one is made that calls srun again with the same words, which then is
 * within it. What that writes goes into files of ours, which are read as they grow, and its exit
 * code is ours. An interrupt cancels the job.
 */
#include "cli/slurm/srun.h"

#include "client/client.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS (50 * STRATA_MS_NS)
enum { PATIENCE = 6 }; /* looks until it is said that the job waits */

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* One of the two files, as far as it was passed on. */
struct pipe {
	struct srun *srun;
	int64_t job, from;
	bool error;
};

static int pour(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	struct pipe *pipe = context;
	FILE *to = pipe->error ? stderr : stdout;

	if (fwrite(bytes, 1, count, to) != count)
		return strata_fail(err, -EPIPE, "nobody reads on");
	pipe->from += (int64_t)count;
	return 0;
}

static void pass_on(struct pipe *pipe)
{
	struct cli *cli = pipe->srun->cli;
	struct client *client;
	struct buf path;
	char number[24], rest[64];

	snprintf(number, sizeof(number), "%" PRId64, pipe->job);
	snprintf(rest, sizeof(rest), "/output?from=%" PRId64 "%s", pipe->from,
		 pipe->error ? "&error=1" : "");
	service_path(cli, &path, "jobs", number, rest);
	if (buf_check(&path, NULL) == 0 && service_open(cli, &client) == 0)
		client_stream(client, path.text, pour, pipe, &cli->err);
	buf_fini(&path);
	fflush(pipe->error ? stderr : stdout);
}

static void cancel(struct srun *srun, int64_t id)
{
	slurm_batch_cancel(&srun->batch, id);
	slurm_say(srun->cli, "srun: Force Terminated job %" PRId64, id);
}

static int follow(struct srun *srun, int64_t id, int terminals)
{
	struct pipe out = { srun, id, 0, false }, err = { srun, id, 0, true };
	bool waits = false, ended = false, told = false;
	int code = 1;

	for (int look = 0; !ended; look++) {
		json_t *job;
		int rc = slurm_batch_job(srun->cli, id, &job);

		if (interrupted && !told) {
			cancel(srun, id);
			told = true;
		}
		if (rc && !service_away(rc)) {
			slurm_error(srun->cli, "srun", "%s", srun->cli->err.text);
			return 1;
		}
		if (rc == 0) {
			const char *state = grid_or(json_object_get(job, "state"), "");
			bool queued = strcmp(state, "queued") == 0;

			if (queued && look == PATIENCE && !srun->batch.job.quiet) {
				slurm_say(srun->cli,
					  "srun: job %" PRId64 " queued and waiting for resources",
					  id);
				waits = true;
			}
			if (!queued && waits)
				slurm_say(srun->cli,
					  "srun: job %" PRId64 " has been allocated resources", id);
			waits &= queued;
			ended = job_ended(job);
			code = job_exit_code(job);
			if (!queued) {
				pass_on(&out);
				pass_on(&err);
			}
			json_decref(job);
		}
		int master = terminals < 0 ? -1 : srun_pty_take(terminals);

		if (master >= 0)
			srun_pty_serve(master);
		else if (!ended)
			follow_sleep(LOOK_NS);
	}
	return code;
}

/* The program that we are, and the words that made us what we are. */
static bool add_command(struct srun *srun)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	json_t *command = json_array();

	if (length <= 0)
		return false;
	self[length] = '\0';
	json_array_append_new(command, json_string(self));
	json_array_append_new(command, json_string("slurm"));
	json_array_append_new(command, json_string("srun"));
	for (size_t i = 0; i < srun->word_count; i++)
		json_array_append_new(command, json_string(srun->words[i]));
	return json_array_size(command) == srun->word_count + 3 &&
	       json_object_set_new(srun->batch.body, "command", command) == 0;
}

static int submit(struct srun *srun, const char *dir, int *ret_terminals, int64_t *ret_id)
{
	struct batch *batch = &srun->batch;
	int64_t *ids;
	size_t count;

	int code = slurm_fits_check(batch);

	if (code == 0)
		code = slurm_batch_fill(batch);
	if (code)
		return code;
	json_object_set_new(batch->body, "output",
			    json_string(strata_arena_printf(&srun->cli->arena, "%s/out", dir)));
	json_object_set_new(batch->body, "error",
			    json_string(strata_arena_printf(&srun->cli->arena, "%s/err", dir)));
	json_object_del(batch->body, "input");
	if (srun->batch.job.pty && (*ret_terminals = srun_pty_listen(srun, dir)) < 0)
		return 1;
	if (!add_command(srun))
		return slurm_batch_refuse(batch, "the command is not valid UTF-8");
	code = slurm_batch_send(batch, &ids, &count);
	if (code == 0)
		*ret_id = ids[0];
	return code;
}

int srun_job(struct srun *srun)
{
	struct sigaction action = { .sa_handler = interrupt };
	const char *base = getenv("TMPDIR");
	char *dir = strata_arena_printf(&srun->cli->arena, "%s/strata-srun-XXXXXX",
					base && *base ? base : "/tmp");
	int64_t id = 0;
	int terminals = -1;

	if (!dir || !mkdtemp(dir)) {
		slurm_error(srun->cli, "srun", "cannot make a directory for the output: %s",
			    strerror(errno));
		return 1;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	int code = submit(srun, dir, &terminals, &id);

	if (code == 0)
		code = follow(srun, id, terminals);
	if (terminals >= 0)
		close(terminals);
	unlink(strata_arena_printf(&srun->cli->arena, "%s/tty", dir));
	unlink(strata_arena_printf(&srun->cli->arena, "%s/out", dir));
	unlink(strata_arena_printf(&srun->cli->arena, "%s/err", dir));
	rmdir(dir);
	return code;
}
