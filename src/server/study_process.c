/* The process of study_process.h. Inputs are files in memory that it can only read; what it prints
 * is taken until it ends, is told to, or has said too much. */
#include "server/study_process.h"

#include "server/os_user.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 200, SAID_BYTES = 4096, WALL_FACTOR = 4 };

struct process {
	const struct study_run *run;
	pid_t pid;
	int inputs[STUDY_INPUTS_MAX];
	int out_fd, said_fd; /* its standard output and error; -1: closed */
	char *text;
	size_t length, room;
	char said[SAID_BYTES]; /* of the line that is not whole yet */
	size_t said_length;
	double part;
	char what[80];
	bool too_long;
};

/* ---- starting ---- */

static int write_input(const struct study_input *input)
{
	int fd = memfd_create("study", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t done = 0;

	while (fd >= 0 && done < input->count) {
		ssize_t count = write(fd, input->bytes + done, input->count - done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0) {
			int code = errno;

			close(fd);
			return -code;
		}
		done += (size_t)count;
	}
	if (fd < 0)
		return -errno;
	lseek(fd, 0, SEEK_SET);
	fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	return fd;
}

static int spawn(struct process *process, int out, int said)
{
	struct os_user user = { 0 };
	char uid[16], gid[16], self[] = "/proc/self/exe";
	const char *argv[STUDY_WORDS_MAX + 8] = { "strata", "study", uid, gid };
	const char *const envp[] = { "PATH=/usr/bin:/bin", "OMP_NUM_THREADS=1", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	size_t count = 4;

	if (geteuid() == 0 && !os_user_by_name("nobody", &user))
		return ENOENT;
	snprintf(uid, sizeof(uid), "%u", (unsigned)user.uid);
	snprintf(gid, sizeof(gid), "%u", (unsigned)user.gid);
	for (size_t i = 0; process->run->words[i]; i++)
		argv[count++] = process->run->words[i];
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, process->inputs[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
	if (process->run->input_count > 1)
		posix_spawn_file_actions_adddup2(&actions, process->inputs[1], 3);
	posix_spawn_file_actions_addclosefrom_np(&actions, process->run->input_count > 1 ? 4 : 3);
	int code = posix_spawn(&process->pid, self, &actions, &attributes,
			       (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);

	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (code)
		process->pid = 0;
	return code;
}

static int start(struct process *process, struct strata_error *err)
{
	int out[2] = { -1, -1 }, said[2] = { -1, -1 }, code = 0;

	for (size_t i = 0; i < process->run->input_count; i++) {
		process->inputs[i] = write_input(&process->run->inputs[i]);
		if (process->inputs[i] < 0)
			return strata_fail(err, process->inputs[i], "no memory for the input: %s",
					   strerror(-process->inputs[i]));
	}
	if (pipe2(out, O_CLOEXEC) || pipe2(said, O_CLOEXEC))
		code = errno;
	if (!code)
		code = spawn(process, out[1], said[1]);
	process->out_fd = out[0];
	process->said_fd = said[0];
	if (out[1] >= 0)
		close(out[1]);
	if (said[1] >= 0)
		close(said[1]);
	return code ? strata_fail(err, -code, "a process for it cannot be started: %s",
				  strerror(code))
		    : 0;
}

/* ---- listening ---- */

static void take_line(struct process *process, const char *line)
{
	double part;
	char what[80];

	if (sscanf(line, "progress %lf %79[^\n]", &part, what) == 2 && part >= 0 && part <= 1) {
		process->part = part;
		memcpy(process->what, what, sizeof(what));
	}
}

static void read_said(struct process *process)
{
	ssize_t count = read(process->said_fd, process->said + process->said_length,
			     SAID_BYTES - 1 - process->said_length);
	char *end;

	if (count <= 0) {
		if (count == 0 || errno != EINTR) {
			close(process->said_fd);
			process->said_fd = -1;
		}
		return;
	}
	process->said_length += (size_t)count;
	process->said[process->said_length] = '\0';
	while ((end = strchr(process->said, '\n'))) {
		size_t length = (size_t)(end + 1 - process->said);

		*end = '\0';
		take_line(process, process->said);
		memmove(process->said, end + 1, process->said_length - length + 1);
		process->said_length -= length;
	}
	if (process->said_length == SAID_BYTES - 1) /* a line that is no line of ours */
		process->said_length = 0;
}

static void read_out(struct process *process)
{
	if (process->room - process->length < 4096) {
		size_t room = process->room ? process->room * 2 : 1 << 16;
		char *text = realloc(process->text, room);

		process->too_long = !text || process->length > STRATA_STUDY_RESULT_BYTES_MAX;
		if (process->too_long)
			return;
		process->text = text;
		process->room = room;
	}
	ssize_t count = read(process->out_fd, process->text + process->length,
			     process->room - process->length - 1);

	if (count > 0)
		process->length += (size_t)count;
	process->too_long = process->length > STRATA_STUDY_RESULT_BYTES_MAX;
	if (count == 0 || (count < 0 && errno != EINTR)) {
		close(process->out_fd);
		process->out_fd = -1;
	}
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until it has closed both; why it is to end before: a negative code. */
static int listen_to(struct process *process)
{
	int64_t until_ms = now_ms() + (int64_t)WALL_FACTOR * STRATA_STUDY_SECONDS_MAX * 1000;

	while (process->out_fd >= 0 || process->said_fd >= 0) {
		struct pollfd fds[] = { { process->out_fd, POLLIN, 0 },
					{ process->said_fd, POLLIN, 0 } };
		int count = poll(fds, 2, LOOK_MS);

		if (count > 0 && fds[0].revents)
			read_out(process);
		if (count > 0 && fds[1].revents)
			read_said(process);
		if (process->too_long)
			return -E2BIG;
		if (now_ms() > until_ms)
			return -ETIME;
		if (!process->run->goes_on(process->run->context, process->part, process->what))
			return -ECANCELED;
		process->part = -1;
	}
	return 0;
}

/* ---- what came of it ---- */

/* The sentence of the command, which prints errors as JSON. */
static int tell_failure(const struct process *process, int status, struct strata_error *err)
{
	json_t *json = process->length
			       ? json_loadb(process->text, process->length, 0, NULL)
			       : NULL;
	const json_t *error = json_object_get(json, "error");
	const char *text = json_string_value(json_object_get(error, "message"));
	const char *field = json_string_value(json_object_get(error, "field"));
	int rc;

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		rc = strata_fail(err, -ETIME, "it took more than %d s of CPU time",
				 STRATA_STUDY_SECONDS_MAX);
	else if (WIFSIGNALED(status))
		rc = strata_fail(err, -EINVAL, "its process was ended by signal %d",
				 WTERMSIG(status));
	else
		rc = strata_fail_at(err, -EINVAL, field ? field : "", "%.280s",
				    text ? text : "its process failed and said nothing");
	json_decref(json);
	return rc;
}

static int end(struct process *process, int rc, struct strata_error *err)
{
	int status = 0;

	if (rc)
		kill(process->pid, SIGKILL);
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == -E2BIG)
		return strata_fail(err, rc, "its answer has more than %d bytes",
				   STRATA_STUDY_RESULT_BYTES_MAX);
	if (rc == -ETIME)
		return strata_fail(err, rc, "it took too long");
	if (rc)
		return strata_fail(err, rc, "it was cancelled");
	if (!WIFEXITED(status) || WEXITSTATUS(status) || !process->length)
		return tell_failure(process, status, err);
	return 0;
}

int study_process_run(const struct study_run *run, char **ret_text, struct strata_error *err)
{
	struct process process = { .run = run, .inputs = { -1, -1 }, .out_fd = -1, .said_fd = -1,
				   .part = -1 };
	int rc = start(&process, err);

	if (process.pid)
		rc = end(&process, listen_to(&process), err);
	if (rc == 0) {
		process.text[process.length] = '\0';
		*ret_text = process.text;
		process.text = NULL;
	}
	free(process.text);
	const int fds[] = { process.inputs[0], process.inputs[1], process.out_fd,
			    process.said_fd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return rc;
}
