/*
 * Waiting for jobs: they are asked for again and again, and what changed is told, on a terminal in
 * one line that is drawn over. A server that goes away for a while is waited for too: an
 * acknowledged job is not lost with it.
 */
#include "cli/service.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KNOWN_BYTES = 64 };

/* What was last told of a job. */
struct followed {
	const char *word;
	bool ended;
	char known[KNOWN_BYTES]; /* its state and reason */
};

struct telling {
	struct cli *cli;
	const struct follow *follow;
	bool live; /* one line, drawn over */
	bool away; /* the server; said once */
};

void follow_sleep(int64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / STRATA_SECOND_NS),
				 .tv_nsec = (long)(ns % STRATA_SECOND_NS) };

	while (nanosleep(&time, &time) != 0 && errno == EINTR)
		;
}

static void tell_line(struct telling *telling, const char *line)
{
	if (telling->follow->talk) {
		fprintf(stderr, "%s\n", line);
		return;
	}
	cli_printf(telling->cli, "%s\n", line);
	cli_flush(telling->cli);
}

static void tell(struct telling *telling, struct followed *job, const json_t *json)
{
	char known[KNOWN_BYTES];
	struct buf sentence;

	if (telling->cli->globals.json)
		return;
	snprintf(known, sizeof(known), "%s/%s", grid_or(json_object_get(json, "state"), ""),
		 grid_or(json_object_get(json, "reason"), ""));
	bool changed = strcmp(known, job->known) != 0;

	memcpy(job->known, known, sizeof(known));
	buf_init(&sentence, &telling->cli->memory, 0);
	job_sentence(json, when_now_ns(), &sentence);
	if (telling->live && !job->ended) {
		fprintf(stderr, "\r\033[K%s", sentence.text);
		fflush(stderr);
	} else if (changed || job->ended) {
		fprintf(stderr, "%s", telling->live ? "\r\033[K" : "");
		tell_line(telling, sentence.text);
	}
	buf_fini(&sentence);
}

static int look(struct telling *telling, struct followed *job, int *exit_code)
{
	struct cli *cli = telling->cli;
	struct buf path;
	json_t *json;

	service_path(cli, &path, "jobs", job->word, NULL);
	int rc = service_get(cli, &path, &json);

	if (service_away(rc) && job->known[0]) { /* it was there: it comes back */
		if (!telling->away)
			cli_note(cli, "%s; waiting for it", cli->err.text);
		telling->away = true;
		return 0;
	}
	if (rc)
		return rc;
	telling->away = false;
	job->ended = job_ended(json);
	tell(telling, job, json);
	if (job->known[0] == '\0')
		job->known[0] = '/';
	if (job->ended && *exit_code == 0)
		*exit_code = job_exit_code(json);
	if (job->ended && cli->globals.json)
		return cli_print_json(cli, json);
	json_decref(json);
	return 0;
}

int follow_jobs(struct cli *cli, const struct follow *follow, int *ret_exit)
{
	struct telling telling = { .cli = cli, .follow = follow };
	struct followed *jobs = strata_arena_array(&cli->arena, follow->count, sizeof(*jobs));
	size_t left = follow->count;
	int exit_code = 0;

	if (!jobs)
		return strata_fail_memory(&cli->err);
	telling.live = follow->count == 1 && cli->talk_color && isatty(STDERR_FILENO);
	for (size_t i = 0; i < follow->count; i++)
		jobs[i].word = follow->words[i];
	while (left) {
		for (size_t i = 0; i < follow->count; i++) {
			if (jobs[i].ended)
				continue;
			int rc = look(&telling, &jobs[i], &exit_code);

			if (rc)
				return rc;
			left -= jobs[i].ended;
		}
		if (left)
			follow_sleep(follow->interval_ns);
	}
	*ret_exit = exit_code;
	return 0;
}
