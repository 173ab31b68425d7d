/*
 * scontrol's other words: a job's script as a file, waiting until a job has its nodes, a word to
 * somebody's terminal, processes of jobs here, the settings read again. Each is a row of the table
 * in scontrol.c.
 */
#include "cli/slurm/scontrol_do.h"

#include "cli/service.h"
#include "cli/slurm/chosen.h"
#include "cli/slurm/slurm_batch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LOOK_NS (200 * STRATA_MS_NS)

static int too_few(struct scontrol *scontrol, const char *word)
{
	slurm_say(scontrol->cli, "too few arguments for keyword:%s", word);
	return 1;
}

/* The job's number, of "7" or "35_2"; the word as the API takes it. */
static bool read_job(struct scontrol *scontrol, const char *word, struct chosen *ret_chosen)
{
	return chosen_parse(word, &scontrol->cli->arena, ret_chosen);
}

/* ---- write batch_script ---- */

static int write_file(struct cli *cli, const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	size_t length = strlen(text);
	bool done = fd >= 0 && write(fd, text, length) == (ssize_t)length;
	int code = errno;

	if (fd >= 0)
		close(fd);
	if (!done)
		slurm_error(cli, "scontrol", "failed to open file `%s`: %s", path, strerror(code));
	return done ? 0 : 1;
}

int scontrol_write(struct scontrol *scontrol, int count, char **words)
{
	struct cli *cli = scontrol->cli;
	struct chosen chosen;
	json_t *answer;

	if (count < 3)
		return too_few(scontrol, words[0]);
	if (strcasecmp(words[1], "batch_script") != 0) {
		slurm_say(cli, "invalid write argument:%s", words[1]);
		return 1;
	}
	if (!read_job(scontrol, words[2], &chosen)) {
		slurm_say(cli, "Invalid job id %s", words[2]);
		return 1;
	}
	if (slurm_job_script(cli, words[2], &answer)) {
		slurm_say(cli, "job script retrieval failed: %s", chosen_why(cli));
		return cli->err.code == -ENOENT ? 0 : 1;
	}
	const char *script = grid_string(answer, "script"), *to = count > 3 ? words[3] : NULL;
	int code = 0;

	if (!script) {
		slurm_say(cli, "job script retrieval failed: Job has no batch script");
		code = 1;
	} else if (to && strcmp(to, "-") == 0) {
		cli_print(cli, script);
	} else {
		if (!to)
			to = strata_arena_printf(&cli->arena, "slurm-%s.sh", words[2]);
		code = to ? write_file(cli, to, script) : 1;
		if (code == 0 && !scontrol->quiet)
			cli_printf(cli, "batch script for job %s written to %s\n", words[2], to);
	}
	json_decref(answer);
	return code;
}

/* ---- wait_job ---- */

int scontrol_wait_job(struct scontrol *scontrol, int count, char **words)
{
	struct cli *cli = scontrol->cli;
	struct chosen chosen;
	bool said = false;

	if (count < 2)
		return too_few(scontrol, words[0]);
	for (;; follow_sleep(LOOK_NS)) {
		json_t *job = NULL;
		int rc = read_job(scontrol, words[1], &chosen)
				 ? slurm_batch_job(cli, chosen.job, &job)
				 : -ENOENT;
		const char *state = grid_or(json_object_get(job, "state"), "");
		bool runs = strcmp(state, "running") == 0, ended = rc == 0 && job_ended(job);

		json_decref(job);
		if (service_away(rc))
			continue;
		if (rc || ended) {
			slurm_say(cli, "scontrol: Problem running job %s", words[1]);
			return 1;
		}
		if (runs)
			break;
		if (!said)
			slurm_say(cli,
				  "scontrol: Waiting for nodes to boot (delay looping 450 times "
				  "@ 3 secs x index)");
		said = true;
	}
	slurm_say(cli, "scontrol: Nodes are ready for job %s", words[1]);
	return 0;
}

/* ---- reconfigure ---- */

/* The service looks at its settings when its file changes and when it is told to. */
int scontrol_reconfigure(struct scontrol *scontrol, int count, char **words)
{
	struct cli *cli = scontrol->cli;
	struct buf path;
	json_t *answer;

	(void)count, (void)words;
	service_path(cli, &path, "reload", NULL, NULL);
	if (service_ask(cli, "POST", &path, json_object(), &answer)) {
		slurm_say(cli, "slurm_reconfigure error: %s", chosen_why(cli));
		if (!service_away(cli->err.code))
			slurm_say(cli, "strata: %s", cli->err.text);
		return 1;
	}
	json_decref(answer);
	return 0;
}

/* ---- errnumstr ---- */

int scontrol_errnumstr(struct scontrol *scontrol, int count, char **words)
{
	static const struct {
		int number;
		const char *text;
	} known[] = {
		{ 2000, "Invalid partition name specified" },
		{ 2002, "Access/permission denied" },
		{ 2009, "User's group not permitted to use this partition" },
		{ 2014, "Requested node configuration is not available" },
		{ 2017, "Invalid job id specified" },
		{ 2021, "Job/step already completing or completed" },
		{ 2023, "Unable to contact slurm controller (connect failure)" },
		{ 2037, "Job dependency problem" },
		{ 2045, "Invalid account or account/partition combination specified" },
		{ 2048, "Invalid license specification" },
		{ 2051, "Requested time limit is invalid (missing or exceeds some limit)" },
		{ 2066, "Invalid qos specification" },
	};

	if (count < 2)
		return too_few(scontrol, words[0]);
	int number = atoi(words[1]);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].number == number) {
			cli_printf(scontrol->cli, "%s\n", known[i].text);
			return 0;
		}
	cli_printf(scontrol->cli, "%s\n", strerror(number));
	return 0;
}

/* ---- completing ---- */

/* Jobs that are being stopped. */
int scontrol_completing(struct scontrol *scontrol, int count, char **words)
{
	struct cli *cli = scontrol->cli;
	struct slurm_jobs jobs;

	(void)count, (void)words;
	if (slurm_jobs_load(cli, false, &jobs))
		return slurm_unreachable(cli, "slurm_load_jobs");
	for (size_t i = 0; i < jobs.count; i++) {
		const struct slurm_job *job = &jobs.list[i];

		if (strcmp(job->state->code, "CG") == 0)
			cli_printf(cli,
				   "JobId=%s EndTime=Unknown CompletingTime=00:00:00 Nodes=%s\n",
				   job->id_text, job->node_list);
	}
	slurm_jobs_fini(&jobs);
	return 0;
}

/* ---- what is not done here ---- */

/* Words of Slurm's that change what this service has no such thing of. */
int scontrol_refuse(struct scontrol *scontrol, int count, char **words)
{
	bool made = strcasecmp(words[0], "create") == 0 || strcasecmp(words[0], "delete") == 0;

	if (made && count < 2) {
		slurm_say(scontrol->cli, "too few arguments for %s keyword", words[0]);
		return 1;
	}
	slurm_say(scontrol->cli, "Requested operation not supported on this system");
	slurm_say(scontrol->cli,
		  "strata: `scontrol %s` is not possible here; docs/slurm.md has what is",
		  words[0]);
	return 1;
}
