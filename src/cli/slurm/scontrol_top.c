/*
 * scontrol top: jobs go before their owner's others that are alike in partition, account and
 * quality of service. Nobody else's place changes: the others step back by as much as is needed,
 * which everybody may do with jobs of their own.
 */
#include "cli/slurm/scontrol_do.h"

#include "cli/service.h"
#include "cli/slurm/chosen.h"

#include <string.h>

static bool alike(const struct slurm_job *left, const struct slurm_job *right)
{
	return left->pending && strcmp(left->user, right->user) == 0 &&
	       strcmp(left->partition, right->partition) == 0 &&
	       strcmp(left->account, right->account) == 0 && strcmp(left->qos, right->qos) == 0;
}

static bool is_before(const struct slurm_job *other, const struct slurm_job *job)
{
	int64_t nice = grid_int(other->json, "nice"), own = grid_int(job->json, "nice");

	return nice < own || (nice == own && other->id < job->id);
}

/* By so much that it is behind. */
static int step_back(struct scontrol *scontrol, const struct slurm_job *other, int64_t nice,
		     const char *said)
{
	struct cli *cli = scontrol->cli;
	struct buf path;
	json_t *answer;

	job_path(cli, &path, other->id_text);
	if (service_ask(cli, "PATCH", &path, json_pack("{s:I}", "nice", (json_int_t)nice),
			&answer)) {
		slurm_say(cli, "%s for job %s", chosen_why(cli), said);
		return 1;
	}
	json_decref(answer);
	return 0;
}

static int move(struct scontrol *scontrol, const struct slurm_jobs *jobs, const char *word)
{
	const struct slurm_job *job = NULL;
	int64_t least = INT64_MAX;
	int code = 0;

	for (size_t i = 0; !job && i < jobs->count; i++)
		if (slurm_job_named(&jobs->list[i], word))
			job = &jobs->list[i];
	if (!job || !job->pending) {
		slurm_say(scontrol->cli, "%s for job %s",
			  job ? "Job is no longer pending execution" : "Invalid job id specified",
			  word);
		return 1;
	}
	for (size_t i = 0; i < jobs->count; i++)
		if (&jobs->list[i] != job && alike(&jobs->list[i], job) &&
		    !slurm_job_named(&jobs->list[i], word) && is_before(&jobs->list[i], job) &&
		    grid_int(jobs->list[i].json, "nice") < least)
			least = grid_int(jobs->list[i].json, "nice");
	for (size_t i = 0; least != INT64_MAX && code == 0 && i < jobs->count; i++) {
		const struct slurm_job *other = &jobs->list[i];
		int64_t nice = grid_int(other->json, "nice");

		if (other != job && alike(other, job) && !slurm_job_named(other, word))
			code = step_back(scontrol, other,
					 nice + grid_int(job->json, "nice") + 1 - least, word);
	}
	return code;
}

/* Of several the first goes first: so the last is moved first. */
int scontrol_top(struct scontrol *scontrol, int count, char **words)
{
	struct cli *cli = scontrol->cli;
	char *ids[64], *rest;
	int code = 0, found = 0;

	if (count < 2) {
		slurm_say(cli, "too few arguments for keyword:%s", words[0]);
		return 1;
	}
	char *list = strata_arena_printf(&cli->arena, "%s", words[1]);

	for (char *at = list ? strtok_r(list, ",", &rest) : NULL; at && found < 64;
	     at = strtok_r(NULL, ",", &rest))
		ids[found++] = at;
	while (code == 0 && found > 0) {
		struct slurm_jobs jobs;

		if (slurm_jobs_load(cli, false, &jobs))
			return slurm_unreachable(cli, "slurm_load_jobs");
		code = move(scontrol, &jobs, ids[--found]);
		slurm_jobs_fini(&jobs);
	}
	return code;
}
