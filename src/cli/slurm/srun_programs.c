/*
 * What each task of a step runs: the same program for all; with --multi-prog those of a file, by
 * rank; with --bcast a copy of it.
 */
#include "cli/slurm/srun.h"

#include "core/env.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS_MAX = 256 };

static const char *find_program(struct srun *srun, const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return name;
	for (const char *at = path; at && *at;) {
		size_t span = strcspn(at, ":");
		const char *full =
			strata_arena_printf(&srun->cli->arena, "%.*s/%s", (int)span, at, name);

		if (full && span && access(full, X_OK) == 0)
			return full;
		at += span + (at[span] == ':');
	}
	return strata_arena_printf(&srun->cli->arena, "./%s", name);
}

/* ---- --bcast ---- */

static bool copy_file(int from, int to)
{
	char part[65536];
	ssize_t got;

	while ((got = read(from, part, sizeof(part))) > 0)
		if (write(to, part, (size_t)got) != got)
			return false;
	return got == 0;
}

/* All nodes are on this machine, so one copy is every node's. */
static const char *broadcast(struct srun *srun, const struct srun_task *task, int64_t step,
			     const char *program)
{
	const char *to = srun->batch.job.bcast;
	struct stat status;

	if (!*to || (stat(to, &status) == 0 && S_ISDIR(status.st_mode)))
		to = strata_arena_printf(&srun->cli->arena, "%s%sslurm_bcast_%s.%" PRId64 "_%s", to,
					 *to ? "/" : "./", srun->job_id, step < 0 ? 0 : step,
					 task->node);
	int from = open(program, O_RDONLY | O_CLOEXEC);
	int fd = to && from >= 0 ? open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755) : -1;
	bool good = fd >= 0 && copy_file(from, fd);

	if (!good)
		slurm_error(srun->cli, "srun", "Failed to broadcast '%s'. Step launch aborted.",
			    program);
	if (from >= 0)
		close(from);
	if (fd >= 0)
		close(fd);
	return good ? to : NULL;
}

static bool set_same(struct srun *srun, struct srun_task *tasks, size_t count, int64_t step)
{
	const char *program = find_program(srun, srun->command[0]);

	if (program && srun->batch.job.bcast)
		program = broadcast(srun, &tasks[0], step, program);
	for (size_t i = 0; program && i < count; i++) {
		tasks[i].program = program;
		tasks[i].argv = (const char *const *)srun->command;
	}
	return program;
}

/* ---- --multi-prog ---- */

/* A line of the file: "1-2 program words …". */
struct record {
	struct strata_array ranks;
	bool all; /* "*" */
	char *words[WORDS_MAX + 1];
	size_t count;
};

/* Words between blanks; quotes hold them together and are left out. */
static size_t split(char *text, char **words, size_t room)
{
	size_t count = 0;

	while (count < room) {
		char quote = 0, *to;

		text += strspn(text, " \t\r");
		if (!*text)
			break;
		words[count++] = to = text;
		for (; *text && (quote || !strchr(" \t\r", *text)); text++) {
			if (quote ? *text == quote : *text == '"' || *text == '\'')
				quote = quote ? 0 : *text;
			else
				*to++ = *text;
		}
		text += *text != '\0';
		*to = '\0';
	}
	words[count] = NULL;
	return count;
}

/* How far it is into its record: %o. */
static int64_t offset_of(const struct record *record, int64_t rank)
{
	int64_t offset = 0;

	for (int64_t at = strata_array_next(&record->ranks, -1);
	     !record->all && at >= 0 && at < rank; at = strata_array_next(&record->ranks, at))
		offset++;
	return record->all ? rank : offset;
}

/* %t and %o in a word. */
static const char *fill_in(struct srun *srun, const char *word, int64_t rank, int64_t offset)
{
	struct buf buf;

	if (!strchr(word, '%'))
		return word;
	buf_init(&buf, &srun->cli->memory, 0);
	for (; *word; word++) {
		bool known = *word == '%' && (word[1] == 't' || word[1] == 'o');

		if (known)
			buf_printf(&buf, "%" PRId64, *++word == 't' ? rank : offset);
		else
			buf_add_char(&buf, *word);
	}
	const char *text = strata_arena_text(&srun->cli->arena, buf.text, buf.length);

	buf_fini(&buf);
	return text;
}

static bool set_task(struct srun *srun, struct srun_task *task, const struct record *record)
{
	int64_t offset = offset_of(record, task->rank);
	const char **argv = strata_arena_array(&srun->cli->arena, record->count, sizeof(*argv));

	for (size_t i = 1; argv && i < record->count; i++)
		argv[i - 1] = fill_in(srun, record->words[i], task->rank, offset);
	if (!argv)
		return false;
	argv[record->count - 1] = NULL;
	task->argv = argv;
	task->program = find_program(srun, argv[0]);
	return task->program;
}

static bool take_line(struct srun *srun, char *line, struct srun_task *tasks, size_t count)
{
	struct record record = { 0 };

	record.count = split(line, record.words, WORDS_MAX);
	if (record.count == 0 || record.words[0][0] == '#')
		return true;
	record.all = strcmp(record.words[0], "*") == 0;
	if (record.count < 2 ||
	    (!record.all && strata_array_parse(record.words[0], STRATA_TEXT_NUL, &srun->cli->arena,
					       &record.ranks, NULL))) {
		slurm_error(srun->cli, "srun", "Invalid MPMD configuration line: %s",
			    record.words[0]);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		bool meant = record.all ||
			     strata_array_next(&record.ranks, tasks[i].rank - 1) == tasks[i].rank;

		if (meant && !tasks[i].program && !set_task(srun, &tasks[i], &record))
			return false;
	}
	return true;
}

static bool set_by_file(struct srun *srun, struct srun_task *tasks, size_t count)
{
	char *text, *rest;
	size_t length;

	if (env_read_file(env_system(), AT_FDCWD, srun->command[0], STRATA_SCRIPT_BYTES_MAX,
			  &srun->cli->arena, &text, &length, &srun->cli->err)) {
		slurm_error(srun->cli, "srun", "Could not open multi_prog config file %s",
			    srun->command[0]);
		return false;
	}
	for (char *at = text; (at = strstr(at, "\\\n"));) /* lines that go on */
		at[0] = at[1] = ' ';
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!take_line(srun, line, tasks, count))
			return false;
	for (size_t i = 0; i < count; i++)
		if (!tasks[i].program) {
			slurm_error(srun->cli, "srun",
				    "Configuration file %s invalid, no record for task id %" PRId64,
				    srun->command[0], tasks[i].rank);
			return false;
		}
	return true;
}

bool srun_set_programs(struct srun *srun, struct srun_task *tasks, size_t count, int64_t step)
{
	return srun->batch.job.multi_prog ? set_by_file(srun, tasks, count)
					  : set_same(srun, tasks, count, step);
}
