/*
 * strata wait: for jobs to end, silently, so that scripts can go by the exit code. A job is
 * whatever the other commands take for one; an array is all of its elements.
 */
#include "cli/service.h"

#include "core/env.h"

#include <strata/slurm.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LOOK_FIRST_NS (50 * STRATA_MS_NS)
#define LOOK_LAST_NS STRATA_SECOND_NS

enum { EXIT_TIMED_OUT = 124 }; /* as of timeout(1) */

struct wait_conf {
	int64_t timeout_ns; /* 0: none */
	bool any, verbose;
};

static const struct strata_option wait_options[] = {
	{ "any", STRATA_BOOL, offsetof(struct wait_conf, any),
	  .help = "until one of them has ended, not all" },
	{ "timeout", STRATA_DURATION, offsetof(struct wait_conf, timeout_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "no longer than this; 0: however long it takes" },
	{ "verbose", STRATA_BOOL, offsetof(struct wait_conf, verbose), .letter = 'v',
	  .help = "say how each one ended" },
	{ 0 }
};
static const struct strata_schema wait_schema = { "wait", NULL, sizeof(struct wait_conf),
						  wait_options };

/* What one word means: a job, or elements of an array, which are waited for one by one. */
struct waited {
	const char *word;
	const char *base; /* "35" of an array; NULL: one job, of that word */
	struct strata_array elements;
	int64_t next; /* the element that is waited for */
	bool begun;   /* it is known which these are */
	bool ended;
	int code; /* of the first that did not end well */
};

struct waiting {
	struct cli *cli;
	const struct wait_conf *conf;
	struct waited *all;
	size_t count, left;
	bool away;
};

static int get(struct cli *cli, const char *word, json_t **ret_job)
{
	struct buf path;

	service_path(cli, &path, "jobs", word, NULL);
	return service_get(cli, &path, ret_job);
}

/* "35_[1-4]", "35_2": the elements that are named, of array 35. */
static int read_elements(struct cli *cli, struct waited *one, const char *text, size_t length)
{
	int rc = strata_array_parse(text, length, &cli->arena, &one->elements, &cli->err);

	if (rc)
		return rc;
	one->next = strata_array_next(&one->elements, -1);
	one->begun = true;
	return one->next < 0
		       ? strata_fail(&cli->err, -EINVAL, "'%.60s' names no element", one->word)
		       : 0;
}

/* "35", "35_*": all of it, where it is an array. */
static int find_elements(struct cli *cli, struct waited *one)
{
	json_t *job;
	int rc = get(cli, one->base, &job);

	if (rc)
		return rc;
	const char *array = grid_string(json_object_get(job, "request"), "array");

	if (array && grid_int(job, "array_id") == grid_int(job, "id"))
		rc = read_elements(cli, one, array, strlen(array));
	else
		one->base = NULL;
	one->begun = rc == 0;
	json_decref(job);
	return rc;
}

static int begin(struct cli *cli, struct waited *one)
{
	struct job_word read = job_word_read(one->word);

	if (one->begun)
		return 0;
	one->base = strata_arena_text(&cli->arena, one->word, read.digits);
	if (!one->base)
		return strata_fail_memory(&cli->err);
	if (read.form == JOB_WORD_LIST)
		return read_elements(cli, one, read.elements, read.length);
	if (read.form == JOB_WORD_NUMBER || read.form == JOB_WORD_ALL)
		return find_elements(cli, one);
	one->base = NULL; /* "35_2", a job's uuid: one */
	one->begun = true;
	return 0;
}

static void tell(const struct waiting *waiting, json_t *job)
{
	struct cli *cli = waiting->cli;

	if (cli->globals.json)
		cli_print_json(cli, json_incref(job));
	else if (waiting->conf->verbose)
		job_print_sentence(cli, NULL, job);
	cli_flush(cli);
}

/* The one that is waited for now. ret_ended: go on to the next. */
static int look_at_one(struct waiting *waiting, struct waited *one, bool *ret_ended)
{
	struct cli *cli = waiting->cli;
	const char *word =
		one->base ? strata_arena_printf(&cli->arena, "%s_%" PRId64, one->base, one->next)
			  : one->word;
	json_t *job;
	int rc = word ? get(cli, word, &job) : strata_fail_memory(&cli->err);

	if (rc)
		return rc;
	*ret_ended = job_ended(job);
	if (*ret_ended) {
		one->code = one->code ? one->code : job_exit_code(job);
		one->next = one->base ? strata_array_next(&one->elements, one->next) : -1;
		one->ended = one->next < 0;
		waiting->left -= one->ended;
		tell(waiting, job);
	}
	json_decref(job);
	return 0;
}

static int look(struct waiting *waiting, struct waited *one)
{
	int rc = begin(waiting->cli, one);
	bool ended = true;

	while (rc == 0 && ended && !one->ended)
		rc = look_at_one(waiting, one, &ended);
	if (service_away(rc) && one->begun) { /* it was there: it comes back */
		if (!waiting->away)
			cli_note(waiting->cli, "%s; waiting for it", waiting->cli->err.text);
		waiting->away = true;
		return 0;
	}
	waiting->away = false;
	return rc;
}

static int64_t now_ns(void)
{
	return env_now_ns(env_system(), ENV_MONOTONIC);
}

static int wait_for(struct waiting *waiting)
{
	int64_t begun_ns = now_ns(), pause_ns = LOOK_FIRST_NS, limit_ns = waiting->conf->timeout_ns;
	bool enough = false;

	while (!enough) {
		for (size_t i = 0; i < waiting->count; i++) {
			int rc = waiting->all[i].ended ? 0 : look(waiting, &waiting->all[i]);

			if (rc)
				return rc;
		}
		enough = waiting->left == 0 ||
			 (waiting->conf->any && waiting->left < waiting->count);
		int64_t waited_ns = now_ns() - begun_ns;

		if (!enough && limit_ns && waited_ns >= limit_ns)
			return EXIT_TIMED_OUT;
		if (enough)
			break;
		if (limit_ns && limit_ns - waited_ns < pause_ns)
			pause_ns = limit_ns - waited_ns;
		follow_sleep(pause_ns);
		pause_ns = pause_ns * 2 < LOOK_LAST_NS ? pause_ns * 2 : LOOK_LAST_NS;
	}
	for (size_t i = 0; i < waiting->count; i++)
		if (waiting->all[i].ended && waiting->all[i].code)
			return waiting->all[i].code;
	return 0;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct waiting waiting = {
		.cli = cli,
		.conf = conf,
		.all = strata_arena_array(&cli->arena, operand_count, sizeof(*waiting.all)),
		.count = operand_count,
		.left = operand_count,
	};

	if (!waiting.all)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < operand_count; i++)
		waiting.all[i].word = operands[i];
	return wait_for(&waiting);
}

const struct cli_command cli_wait = {
	.name = "wait",
	.operands = "ID…",
	.summary = "wait until jobs have ended",
	.about = "Prints nothing. The exit code is 0 when all of them completed, else that of the "
		 "first, in the order\n"
		 "given, that did not (128 + N after signal N), and 124 when --timeout was over "
		 "before. A service\n"
		 "that is away for a while is waited for.",
	.examples = "  strata wait 17 && strata submit evaluate.sh\n"
		    "  strata wait 35_[1-4] 36\n"
		    "  strata wait --any --timeout 1h 17 18; echo $?",
	.options = &wait_schema,
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
