/*
 * strata submit: a command or a script becomes a job. The body is made of three layers, the later
 * over the earlier: the #SBATCH lines of a script, the flags, and for what neither says this
 * directory and environment.
 */
#include "cli/service.h"

#include "core/env.h"
#include "core/text.h"
#include "slurm/job_script.h"

#include <strata/limits.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is not the job's but the command's own. */
struct submit_conf {
	bool wait, quiet, when;
	int64_t interval_ns;
};

static const struct strata_option submit_options[] = {
	{ "wait", STRATA_BOOL, offsetof(struct submit_conf, wait), .letter = 'W',
	  .help = "wait until it ends, and end as it did" },
	{ "quiet", STRATA_BOOL, offsetof(struct submit_conf, quiet),
	  .help = "print the id, of an array its own, and nothing else" },
	{ "when", STRATA_BOOL, offsetof(struct submit_conf, when),
	  .help = "say when and where it would start, and submit nothing" },
	{ "interval", STRATA_DURATION, offsetof(struct submit_conf, interval_ns),
	  .integer = { STRATA_SECOND_NS, STRATA_MS_NS, STRATA_HOUR_NS },
	  .help = "how often --wait looks" },
	{ 0 }
};

static const struct strata_schema submit_schema = { "submit", NULL, sizeof(struct submit_conf),
						    submit_options };

struct submission {
	struct cli *cli;
	const struct submit_conf *conf;
	const struct job_spec *fields;
	struct job_caller caller;
	json_t *body;
	bool wait;
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* A file that begins with #! is a script; anything else is a command, to be found by the job. */
static int read_script(struct cli *cli, const char *path, const char **ret_script,
		       size_t *ret_length)
{
	struct stat status;
	char *text;
	size_t length;

	*ret_script = NULL;
	if (stat(path, &status) != 0 && (ends_with(path, ".sh") || ends_with(path, ".py")))
		return strata_fail(&cli->err, -ENOENT, "there is no script '%.200s' here", path);
	if (strchr(path, '/') && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return strata_fail(&cli->err, -EINVAL,
				   "'%.200s' is a directory; expected a script or a program", path);
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_size > STRATA_SCRIPT_BYTES_MAX)
		return 0;
	int rc = env_read_file(env_system(), AT_FDCWD, path, STRATA_SCRIPT_BYTES_MAX, &cli->arena,
			       &text, &length, &cli->err);

	if (rc == -EACCES) /* a program may be executable and not readable */
		return 0;
	if (rc)
		return rc;
	if (length >= 2 && memcmp(text, "#!", 2) == 0) {
		*ret_script = text;
		*ret_length = length;
	} else if (ends_with(path, ".sh") || ends_with(path, ".py")) {
		bool python = ends_with(path, ".py");

		return strata_fail(&cli->err, -EINVAL,
				   "'%.200s' does not begin with #!, so nothing says what runs it; "
				   "say `strata submit -- %s %.200s`",
				   path, python ? "python3" : "sh", path);
	}
	return 0;
}

static void say_notes(struct cli *cli, const struct strata_sbatch *job, const struct buf *notes)
{
	for (size_t i = 0; i < job->warning_count; i++)
		cli_note(cli, "%s", job->warnings[i]);
	for (const char *at = notes->text; *at;) {
		size_t length = strcspn(at, "\n");

		cli_note(cli, "%.*s", (int)length, at);
		at += length + (at[length] == '\n');
	}
}

static int add_script(struct submission *submission, const char *script, size_t length,
		      char **operands, size_t operand_count)
{
	struct cli *cli = submission->cli;
	struct strata_sbatch_input in = {
		.script = script,
		.script_length = length,
		.script_name = operands[0],
		.args = (const char *const *)operands,
		.arg_count = operand_count,
		.now_ns = submission->caller.now_ns,
		.zone_seconds = submission->caller.zone_seconds,
	};
	struct strata_sbatch job;
	struct buf notes;
	int rc = strata_sbatch_parse(&in, &cli->arena, &job, &cli->err);

	if (rc)
		return rc;
	buf_init(&notes, &cli->memory, 0);
	rc = job_script_add(&job, &submission->caller, &cli->arena, submission->body, &notes,
			    &cli->err);
	if (rc == 0)
		rc = job_script_add_text(script, length, operands[0],
					 (const char *const *)operands + 1, operand_count - 1,
					 submission->body, &cli->err);
	if (rc == 0)
		say_notes(cli, &job, &notes);
	submission->wait |= job.wait;
	buf_fini(&notes);
	return rc;
}

static int add_command(struct submission *submission, char **operands, size_t operand_count)
{
	json_t *command = json_array();

	for (size_t i = 0; i < operand_count; i++) {
		if (!text_valid(operands[i], strlen(operands[i]))) {
			json_decref(command);
			return strata_fail(&submission->cli->err, -EINVAL,
					   "a word of the command is not valid UTF-8");
		}
		json_array_append_new(command, json_string(operands[i]));
	}
	if (json_array_size(command) != operand_count ||
	    json_object_set_new(submission->body, "command", command))
		return strata_fail_memory(&submission->cli->err);
	return 0;
}

static int make_body(struct submission *submission, char **operands, size_t operand_count)
{
	struct cli *cli = submission->cli;
	const char *script;
	size_t length = 0, skipped = 0;
	int rc = read_script(cli, operands[0], &script, &length);

	if (rc == 0)
		rc = script ? add_script(submission, script, length, operands, operand_count)
			    : add_command(submission, operands, operand_count);
	if (rc == 0)
		rc = job_fields_add(submission->fields, &cli->given, &submission->caller,
				    submission->body, &cli->err);
	if (rc == 0)
		rc = job_fields_add_caller(submission->fields, &submission->caller,
					   submission->body, &skipped, &cli->err);
	if (rc == 0 && skipped)
		cli_note(cli, "%zu variable%s of the environment left out: not UTF-8", skipped,
			 cli_plural(skipped));
	return rc;
}

/* The job in a sentence. An array is told of by its first element, or as a whole where all wait
 * to be released. */
static int print_job(struct cli *cli, int64_t id, size_t count)
{
	char text[24];
	struct buf path;
	json_t *job;

	snprintf(text, sizeof(text), "%" PRId64, id);
	service_path(cli, &path, "jobs", text, NULL);
	if (service_get(cli, &path, &job) == 0) {
		const char *reason = grid_string(job, "reason");
		bool held = count > 1 && reason && strcmp(reason, "held") == 0;

		if (held)
			cli_printf(cli,
				   "array %" PRId64 " has %zu jobs, which are held; `strata "
				   "release %" PRId64 "` lets them start\n",
				   id, count, id);
		else
			job_print_sentence(cli, text, job);
		json_decref(job);
		if (held)
			count = 1; /* all is said */
	} else {                   /* it was accepted, which is what counts */
		cli_printf(cli, "job %s is submitted\n", text);
	}
	if (count > 1)
		cli_printf(cli, "array %" PRId64 " has %zu jobs\n", id, count);
	cli_flush(cli);
	return 0;
}

/* Of a list of numbers, or of the one that there is; NULL: no memory. */
static char **job_numbers(struct cli *cli, const json_t *list, int64_t id)
{
	size_t count = json_array_size(list);
	char **words = strata_arena_array(&cli->arena, count + 1, sizeof(*words));

	for (size_t i = 0; words && i < (count ? count : 1); i++) {
		int64_t number = count ? json_integer_value(json_array_get(list, i)) : id;

		words[i] = strata_arena_printf(&cli->arena, "%" PRId64, number);
		if (!words[i])
			return NULL;
	}
	return words;
}

/* Tells of what was accepted, and waits for it if that was asked for. */
static int finish(struct submission *submission, json_t *answer)
{
	struct cli *cli = submission->cli;
	const json_t *list = json_object_get(answer, "ids");
	size_t count = json_array_size(list) ? json_array_size(list) : 1;
	int64_t id = grid_int(answer, "id");
	int rc = 0, exit_code = 0;
	size_t index;
	json_t *warning;

	json_array_foreach(json_object_get(answer, "warnings"), index, warning)
		cli_note(cli, "%s", grid_or(warning, ""));
	if (id <= 0)
		return strata_fail(&cli->err, -EBADMSG, "the server's answer has no job's id");
	if (cli->globals.json && !submission->wait)
		return cli_print_json(cli, json_incref(answer));
	if (submission->conf->quiet) /* which is all of an array to every command */
		cli_printf(cli, "%" PRId64 "\n", id);
	if (!submission->conf->quiet && !cli->globals.json)
		rc = print_job(cli, id, count);
	cli_flush(cli);
	if (rc || !submission->wait) {
		if (rc == 0 && !submission->conf->quiet)
			cli_note(cli,
				 "`strata watch %" PRId64 "` follows it, `strata logs -f %" PRId64
				 "` shows what it writes",
				 id, id);
		return rc;
	}
	struct follow follow = { .words = job_numbers(cli, list, id),
				 .count = count,
				 .interval_ns = submission->conf->interval_ns,
				 .talk = true };

	rc = follow.words ? follow_jobs(cli, &follow, &exit_code) : strata_fail_memory(&cli->err);
	return rc ? rc : exit_code;
}

/* ---- before submitting ---- */

static int fail_trial(struct cli *cli, const json_t *error)
{
	const char *code = grid_or(json_object_get(error, "code"), "");

	return strata_fail(&cli->err, strcmp(code, "forbidden") == 0 ? -EPERM : -EINVAL, "%s",
			   grid_or(json_object_get(error, "message"), "it would be refused"));
}

static void print_trial(struct cli *cli, const json_t *trial)
{
	int64_t start_ns = when_json(trial, "start_at"), now_ns = when_now_ns();
	json_int_t ahead = json_integer_value(json_object_get(trial, "ahead"));
	const char *node = grid_or(json_object_get(trial, "node"), "a node");
	char text[STRATA_FORM_BYTES];

	if (!start_ns)
		cli_printf(cli, "it would wait; when it would start cannot be foreseen\n");
	else if (start_ns <= now_ns + 2 * STRATA_SECOND_NS)
		cli_printf(cli, "it would start at once, on %s\n", node);
	else
		cli_printf(cli, "it would start ≈ %s on %s, behind %lld job%s\n",
			   when_print(start_ns, now_ns, text), node, (long long)ahead,
			   cli_plural((size_t)ahead));
}

/* Tries the job without taking it in; takes the body. */
static int try_body(struct cli *cli, json_t *body)
{
	struct buf path;
	json_t *answer;
	int rc;

	service_path(cli, &path, "trial", NULL, NULL);
	rc = service_ask(cli, "POST", &path, json_pack("{s:[o]}", "jobs", body), &answer);
	if (rc)
		return rc;
	const json_t *trial = json_array_get(json_object_get(answer, "trials"), 0);
	const json_t *error = json_object_get(trial, "error");

	if (error)
		rc = fail_trial(cli, error);
	else if (cli->globals.json)
		rc = cli_print_json(cli, json_incref((json_t *)(uintptr_t)trial));
	else
		print_trial(cli, trial);
	json_decref(answer);
	return rc;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct submit_conf *own = conf;
	int64_t now_ns = when_now_ns();
	char *here = getcwd(NULL, 0);
	struct submission submission = {
		.cli = cli,
		.conf = own,
		.fields = cli->shared,
		.caller = { .env = (const char *const *)environ,
			    .working_dir = here,
			    .umask = service_own_umask(cli),
			    .now_ns = now_ns,
			    .zone_seconds = when_zone(now_ns) },
		.body = json_object(),
		.wait = own->wait,
	};
	json_t *answer;
	struct buf path;

	if (own->when && own->wait) {
		free(here);
		json_decref(submission.body);
		return strata_fail(&cli->err, -EINVAL,
				   "--when submits nothing, so there is nothing to --wait for");
	}
	int rc = here              ? 0
		 : errno == ENOMEM ? strata_fail_memory(&cli->err)
				   : strata_fail(&cli->err, -errno, "this directory is gone: %s",
						 strerror(errno));

	if (rc == 0)
		rc = make_body(&submission, operands, operand_count);
	free(here);
	if (rc) {
		json_decref(submission.body);
		return rc;
	}
	if (own->when)
		return try_body(cli, submission.body);
	service_path(cli, &path, "jobs", NULL, NULL);
	rc = service_ask(cli, "POST", &path, submission.body, &answer);
	if (rc)
		return rc;
	rc = finish(&submission, answer);
	json_decref(answer);
	return rc;
}

const struct cli_command cli_submit = {
	.name = "submit",
	.operands = "[--] COMMAND [ARG…] | SCRIPT [ARG…]",
	.summary = "submit a job",
	.about =
		"The job runs in this directory, with this environment. The first word that is not "
		"a flag is the\n"
		"command; all after it belongs to the command. A file that begins with #! is a "
		"script: its #SBATCH\n"
		"lines count, flags win over them, and it is sent as it is now: editing it later "
		"changes nothing.\n"
		"\n"
		"--wait ends with the exit code of the job (128 + N after signal N). --when tries "
		"the job against the queue\n"
		"as it is and takes nothing in.",
	.examples = "  strata submit --gpus 1 --time 2h -- python train.py --epochs 10\n"
		    "  strata submit --when --gpus 8 --time 1d -- python train.py\n"
		    "  strata submit --array 1-100%8 sweep.sh --rate 0.1\n"
		    "  strata submit --dependency afterok:17 --wait evaluate.sh\n"
		    "  id=$(strata submit --quiet train.sh)",
	.options = &submit_schema,
	.shared = &job_spec_schema,
	.operands_min = 1,
	.operands_max = -1,
	.stops = true,
	.run = run,
};
