/*
 * Batch jobs (<strata/sbatch.h>): script, variables and command line, read in this order by the rows
 * of one table, so that what comes later wins; then what follows from all of them is settled. The
 * command line's options are looked at once before, because help and --wrap make a script needless
 * and its mistakes are reported before those of the script.
 */
#include "formats/slurm.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

/* Slurm prints these without "error: " before and a hint behind: they are getopt's. */
static const char *const getopt_starts[] = { "unrecognized option '", "invalid option -- '",
					     "option '--", "option requires an argument -- '" };

static int read_value(struct sbatch_reading *reading, const struct sbatch_row *row,
		      const char *value, struct strata_error *err)
{
	if (value && strlen(value) > STRATA_SLURM_VALUE_BYTES_MAX)
		return strata_fail_at(err, -E2BIG, row->option.name,
				      "--%s has a value of more than %d bytes", row->option.name,
				      STRATA_SLURM_VALUE_BYTES_MAX);
	return row->read(reading, row, value, err);
}

static int read_words(struct sbatch_reading *reading, const char *const *list, size_t count,
		      size_t *ret_end, struct strata_error *err)
{
	const struct sbatch_row *row;
	struct sbatch_words words;
	const char *value;

	sbatch_words_init(&words, list, count, STRATA_SLURM_SBATCH);
	for (;;) {
		int rc = sbatch_words_next(&words, &row, &value, err);

		if (rc == 0 && row)
			rc = read_value(reading, row, value, err);
		if (rc)
			return rc;
		if (!row)
			break;
	}
	*ret_end = words.at;
	return 0;
}

static int read_script(struct sbatch_reading *reading, struct strata_error *err)
{
	const struct strata_sbatch_input *in = reading->in;
	char excerpt[TEXT_EXCERPT_BYTES];
	const char **words = NULL;
	size_t count = 0, end = 0;
	int rc = sbatch_script_check(in->script, in->script_length, err);

	if (rc == 0)
		rc = sbatch_script_words(in->script, in->script_length,
					 in->script_name ? in->script_name : "stdin",
					 reading->arena, &words, &count, err);
	if (rc == 0)
		rc = read_words(reading, words, count, &end, err);
	if (rc || end == count)
		return rc;
	if (strcmp(words[end], "hetjob") == 0 || strcmp(words[end], "packjob") == 0)
		return strata_fail(err, -EBADMSG, "heterogeneous jobs are not supported here");
	text_excerpt(words[end], strlen(words[end]), excerpt);
	return strata_fail(err, -EINVAL, "Invalid directive found in batch script: %s", excerpt);
}

static const char *variable(const char *const *env, const char *name)
{
	size_t length = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
			return *env + length + 1;
	return NULL;
}

/* Of options without a value: nothing, yes or a number other than 0 means that it is set. */
static bool means_yes(const char *value)
{
	int64_t number;

	return *value == '\0' || text_same(value, strlen(value), "yes") ||
	       (strata_int_parse(value, STRATA_TEXT_NUL, INT64_MIN, INT64_MAX, &number, NULL) ==
			0 &&
		number != 0);
}

static int read_env(struct sbatch_reading *reading, struct strata_error *err)
{
	int rc = 0;

	reading->from_env = true;
	for (size_t i = 0; i < sbatch_row_count && rc == 0; i++) {
		const struct sbatch_row *row = &sbatch_rows[i];
		const char *name = row->option.env;
		const char *value = name ? variable(reading->in->env, name) : NULL;

		if (!value)
			continue;
		if (row->option.argument == STRATA_SLURM_NONE) {
			if (means_yes(value))
				rc = read_value(reading, row, NULL, err);
		} else if (row->option.argument == STRATA_SLURM_OPTIONAL && *value == '\0') {
			rc = read_value(reading, row, NULL, err);
		} else {
			rc = read_value(reading, row, value, err);
		}
	}
	reading->from_env = false;
	return rc;
}

/* What the command line holds beside values: the script's place, --wrap, --help. */
struct glance {
	size_t script;
	bool wrap, talk;
};

static int look_at_args(const char *const *args, size_t count, struct glance *ret_glance,
			struct strata_error *err)
{
	struct glance glance = { 0 };
	const struct sbatch_row *row;
	struct sbatch_words words;
	const char *value;

	if (count > STRATA_SCRIPT_WORDS_MAX)
		return strata_fail(err, -E2BIG, "the command line has more than %d words",
				   STRATA_SCRIPT_WORDS_MAX);
	sbatch_words_init(&words, args, count, STRATA_SLURM_SBATCH);
	do {
		int rc = sbatch_words_next(&words, &row, &value, err);

		if (rc)
			return rc;
		const char *name = row ? row->option.name : "";

		glance.wrap |= strcmp(name, "wrap") == 0;
		glance.talk |= strcmp(name, "help") == 0 || strcmp(name, "usage") == 0 ||
			       strcmp(name, "version") == 0;
	} while (row);
	glance.script = words.at;
	if (glance.wrap && !glance.talk && words.at < count)
		return strata_fail(err, -EBADMSG,
				   "Script arguments not permitted with --wrap option");
	*ret_glance = glance;
	return 0;
}

int strata_sbatch_find_script(const char *const *args, size_t arg_count, size_t *ret_index,
			      bool *ret_wrap, struct strata_error *err)
{
	struct glance glance;
	int rc = look_at_args(args, arg_count, &glance, err);

	if (rc == 0) {
		*ret_index = glance.script;
		*ret_wrap = glance.wrap || glance.talk;
	}
	return rc;
}

/* The script that will run, and the words behind it. */
static int keep_script(struct sbatch_reading *reading, size_t script, struct strata_error *err)
{
	const struct strata_sbatch_input *in = reading->in;
	struct strata_sbatch *job = &reading->job;

	if (job->wrap) {
		job->script = strata_arena_printf(reading->arena,
						  "#!/bin/sh\n"
						  "# This script was created by sbatch --wrap.\n"
						  "\n"
						  "%s\n",
						  job->wrap);
		job->script_length = job->script ? strlen(job->script) : 0;
	} else {
		job->script = strata_arena_text(reading->arena, in->script, in->script_length);
		job->script_length = in->script_length;
	}
	if (!job->script)
		return strata_fail_memory(err);
	size_t count = in->arg_count > script ? in->arg_count - script - 1 : 0;

	job->script_args = strata_arena_array(reading->arena, count, sizeof(*job->script_args));
	if (!job->script_args)
		return strata_fail_memory(err);
	for (; job->script_arg_count < count; job->script_arg_count++) {
		const char *word = in->args[script + 1 + job->script_arg_count];

		job->script_args[job->script_arg_count] =
			strata_arena_text(reading->arena, word, strlen(word));
		if (!job->script_args[job->script_arg_count])
			return strata_fail_memory(err);
	}
	return 0;
}

/* Names and files where none were given. */
static int settle_names(struct sbatch_reading *reading, struct strata_error *err)
{
	const char *path = reading->in->script_name;
	struct strata_sbatch *job = &reading->job;

	if (!job->name && job->wrap) {
		job->name = "wrap";
	} else if (!job->name && path) {
		const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

		job->name = strata_arena_text(reading->arena, base, strlen(base));
		if (!job->name)
			return strata_fail_memory(err);
	} else if (!job->name) {
		job->name = "sbatch";
	}
	job->error_given = job->error != NULL;
	if (!job->output)
		job->output = job->array.task_count ? "slurm-%A_%a.out" : "slurm-%j.out";
	if (!job->error)
		job->error = job->output;
	job->ignored = reading->ignored;
	job->ignored_count = reading->ignored_count;
	job->warnings = reading->warnings;
	job->warning_count = reading->warning_count;
	return 0;
}

static int read_all(struct sbatch_reading *reading, const struct glance *glance,
		    struct strata_error *err)
{
	const struct strata_sbatch_input *in = reading->in;
	struct sbatch_reading trial = *reading; /* bad values there are reported first */
	size_t end;
	int rc = read_words(&trial, in->args, in->arg_count, &end, err);

	if (rc == 0 && !glance->wrap)
		rc = read_script(reading, err);
	if (rc == 0) /* a script that says --wrap is still a script */
		reading->job.wrap = NULL;
	if (rc == 0)
		rc = read_env(reading, err);
	if (rc == 0)
		rc = read_words(reading, in->args, in->arg_count, &end, err);
	if (rc == 0)
		rc = sbatch_settle(reading, err);
	if (rc == 0)
		rc = keep_script(reading, glance->script, err);
	return rc ? rc : settle_names(reading, err);
}

int strata_sbatch_parse(const struct strata_sbatch_input *in, struct strata_arena *arena,
			struct strata_sbatch *ret_job, struct strata_error *err)
{
	struct sbatch_reading reading = {
		.arena = arena,
		.in = in,
		.job = { .mem_bytes = -1,
			 .mem_per_cpu_bytes = -1,
			 .mem_per_gpu_bytes = -1,
			 .tmp_bytes = -1,
			 .time_limit_ns = -1,
			 .time_min_ns = -1,
			 .requeue = -1,
			 .priority = -1 },
		.ignored = strata_arena_array(arena, sbatch_row_count, sizeof(*reading.ignored)),
		.warnings =
			strata_arena_array(arena, SBATCH_WARNINGS_MAX, sizeof(*reading.warnings)),
	};
	struct glance glance;

	if (!reading.ignored || !reading.warnings)
		return strata_fail_memory(err);
	int rc = look_at_args(in->args, in->arg_count, &glance, err);

	if (rc)
		return rc;
	if (glance.talk) {
		size_t end;

		rc = read_words(&reading, in->args, in->arg_count, &end, err);
	} else {
		rc = read_all(&reading, &glance, err);
	}
	if (rc == 0)
		*ret_job = reading.job;
	return rc;
}

/* Where Slurm begins a new line; an error's text has "; " before it. */
static const char *next_line(const char *text)
{
	static const char *const starts[] = { "; line must start with",     "; For instance: ",
					      "; contain a NULL character", "; instead of expected",
					      "; Invalid generic resource", "; Invalid --" };
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const char *found = strstr(text, starts[i]);

		if (found && (!first || found < first))
			first = found;
	}
	return first;
}

static void add_lines(struct buf *buf, const char *text, const char *program)
{
	while (text) {
		const char *next = next_line(text);
		int length = next ? (int)(next - text) : (int)strlen(text);

		/* said by the reader of times, which has no name to put in front */
		if (strncmp(text, "Invalid time specification", 26) == 0)
			buf_printf(buf, "%.*s\n", length, text);
		else
			buf_printf(buf, "%s: %s%.*s\n", program,
				   strncmp(text, "fatal: ", 7) == 0 ? "" : "error: ", length, text);
		text = next ? next + 2 : NULL;
	}
}

const char *strata_sbatch_complaint(const struct strata_error *err, const char *program,
				    struct strata_arena *arena, int *ret_exit)
{
	const char *text = NULL;
	bool getopt = false;
	struct buf buf;

	for (size_t i = 0; i < sizeof(getopt_starts) / sizeof(getopt_starts[0]); i++)
		getopt |= strncmp(err->text, getopt_starts[i], strlen(getopt_starts[i])) == 0;
	buf_init(&buf, arena->memory, 0);
	if (getopt)
		buf_printf(&buf, "%s: %s\nTry \"%s --help\" for more information\n", program,
			   err->text, program);
	else
		add_lines(&buf, err->text, program);
	if (slurm_keep(&buf, arena, &text, NULL) == 0)
		*ret_exit = err->code == -EINVAL ? 255 : 1;
	return text;
}
