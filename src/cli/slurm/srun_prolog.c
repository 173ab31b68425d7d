/*
 * Programs around a step and its tasks: --prolog and --epilog run once where srun is, --task-prolog
 * and --task-epilog for every task. What a task's prolog prints changes the task: "export
 * NAME=value" and "unset NAME" its variables, "print …" is passed on.
 */
#include "cli/slurm/srun.h"

#include "core/env.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Runs it and waits; its output goes to `out`, or what it prints is returned in `said`. */
static int run_program(const struct srun *srun, const char *program, const char *const *envp,
		       int out, struct buf *said)
{
	const char *const argv[] = { program, NULL };
	int ends[2] = { -1, -1 };
	struct env_process process;
	struct env_exit end = { 0 };
	struct strata_error err = { 0 };
	char part[4096];
	ssize_t got;

	if (said && pipe2(ends, O_CLOEXEC))
		return -1;
	const struct env_command command = { .program = program,
					     .argv = argv,
					     .envp = envp,
					     .cwd = srun->batch.job.chdir,
					     .fds = { -1, said ? ends[1] : out, STDERR_FILENO } };
	int rc = env_spawn(env_system(), &command, &process, &err);

	if (said)
		close(ends[1]);
	if (rc) {
		slurm_error(srun->cli, "srun", "Could not run %s: %s", program, err.text);
		if (said)
			close(ends[0]);
		return -1;
	}
	while (said && (got = read(ends[0], part, sizeof(part))) > 0)
		buf_add_bytes(said, part, (size_t)got);
	if (said)
		close(ends[0]);
	env_wait(env_system(), &process, true, &end, NULL);
	env_process_close(env_system(), &process);
	return end.state == ENV_EXITED ? end.code : -1;
}

void srun_around(const struct srun *srun, const char *program)
{
	if (program && strcmp(program, "none") != 0)
		run_program(srun, program, (const char *const *)environ, STDOUT_FILENO, NULL);
}

static size_t count_of(const char *const *list)
{
	size_t count = 0;

	while (list[count])
		count++;
	return count;
}

static bool same_name(const char *variable, const char *name, size_t length)
{
	return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

/* One line of what a prolog printed. */
static void obey(struct srun *srun, const char **list, size_t *count, char *line, int out)
{
	size_t length;

	if (strncmp(line, "print ", 6) == 0) {
		dprintf(out, "%s\n", line + 6);
		return;
	}
	bool set = strncmp(line, "export ", 7) == 0, unset = strncmp(line, "unset ", 6) == 0;
	const char *what = line + (set ? 7 : 6);

	length = strcspn(what, "=");
	if ((!set && !unset) || length == 0 || (set && what[length] != '='))
		return;
	for (size_t i = 0; i < *count;)
		if (same_name(list[i], what, length))
			list[i] = list[--*count];
		else
			i++;
	const char *copy = set ? strata_arena_text(&srun->cli->arena, what, strlen(what)) : NULL;

	if (copy)
		list[(*count)++] = copy;
	list[*count] = NULL;
}

void srun_task_prolog(struct srun *srun, struct srun_task *task)
{
	const char *program = srun->batch.job.task_prolog;
	size_t count = count_of(task->environment), room = count;
	struct buf said;
	char *rest;

	if (!program || strcmp(program, "none") == 0)
		return;
	buf_init(&said, &srun->cli->memory, STRATA_SCRIPT_BYTES_MAX);
	run_program(srun, program, task->environment, STDOUT_FILENO, &said);
	for (size_t i = 0; i < said.length; i++)
		room += said.text[i] == '\n';
	const char **list = strata_arena_array(&srun->cli->arena, room + 2, sizeof(*list));
	char *text = strata_arena_text(&srun->cli->arena, said.text, said.length);

	buf_fini(&said);
	if (!list || !text)
		return;
	memcpy(list, task->environment, count * sizeof(*list));
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		obey(srun, list, &count, line, task->fds[1] >= 0 ? task->fds[1] : STDOUT_FILENO);
	task->environment = list;
}

void srun_task_epilog(const struct srun *srun, const struct srun_task *task)
{
	const char *program = srun->batch.job.task_epilog;

	if (program && strcmp(program, "none") != 0)
		run_program(srun, program, task->environment,
			    task->fds[1] >= 0 ? task->fds[1] : STDOUT_FILENO, NULL);
}
