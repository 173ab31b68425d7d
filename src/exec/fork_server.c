/* The fork server; fork_server.h says what for. Messages are packets of a Unix socket, so one is
 * there in full or not at all. */
#include "exec/fork_server.h"

#include "core/env_log.h"
#include "exec/cgroup.h"
#include "exec/record.h"
#include "exec/supervisor_loop.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct question {
	void *cookie; /* the asker's, who gets it back */
	int64_t epoch;
	char name[RECORD_NAME_BYTES];
};

struct answer {
	void *cookie;
	pid_t pid; /* or a negative code */
};

/* ---- the executor's side ---- */

int fork_server_open(struct fork_server *fork_server, const struct env *env, const char *program,
		     const char *jobs_path, const char *cgroup, struct strata_error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return strata_fail(err, -errno, "no socket for supervisors: %s", strerror(errno));
	struct log_variables log;

	log_inherit(&log);
	/* a session of its own and nothing of our environment but how to log and where libraries
	 * are (NVIDIA's may be elsewhere): a job's variables never reach it */
	const char *variables[6] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", log.text[0],
				     log.text[1] };
	const char *libraries = getenv("LD_LIBRARY_PATH");
	char libraries_text[PATH_MAX];
	size_t count = 3;

	if (*log.text[2])
		variables[count++] = log.text[2];
	if (libraries && snprintf(libraries_text, sizeof(libraries_text), "LD_LIBRARY_PATH=%s",
				  libraries) < (int)sizeof(libraries_text))
		variables[count++] = libraries_text;
	const struct env_command command = {
		.program = program,
		.argv = (const char *const[]){ "strata", "supervise", jobs_path, cgroup, NULL },
		.envp = variables,
		.cwd = "/",
		.fds = { ends[1], -1, STDERR_FILENO },
		.new_session = true,
	};
	int rc = env_spawn(env, &command, &fork_server->process, err);

	close(ends[1]);
	if (rc)
		close(ends[0]);
	else
		fork_server->socket = ends[0];
	return rc;
}

void fork_server_close(struct fork_server *fork_server, const struct env *env)
{
	struct env_exit ended;

	if (fork_server->socket < 0)
		return;
	close(fork_server->socket);
	fork_server->socket = -1;
	env_wait(env, &fork_server->process, true, &ended, NULL);
	env_process_close(env, &fork_server->process);
}

int fork_server_request(struct fork_server *fork_server, const char *name, int64_t epoch,
			void *cookie, struct strata_error *err)
{
	struct question question = { .cookie = cookie, .epoch = epoch };
	ssize_t sent;

	snprintf(question.name, sizeof(question.name), "%s", name);
	do
		sent = send(fork_server->socket, &question, sizeof(question), MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? strata_fail(err, -errno, "cannot ask for a supervisor: %s",
				      strerror(errno))
			: 0;
}

int fork_server_take(struct fork_server *fork_server, void **ret_cookie, pid_t *ret_pid)
{
	struct answer answer;
	ssize_t got;

	do
		got = recv(fork_server->socket, &answer, sizeof(answer), MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (got != (ssize_t)sizeof(answer))
		return got < 0 ? -errno : -EPIPE;
	*ret_cookie = answer.cookie;
	*ret_pid = answer.pid;
	return 1;
}

/* ---- the process itself ---- */

/* A brother, not a child: the executor is to wait for it. */
static pid_t fork_brother(void)
{
	struct clone_args args = { .flags = CLONE_PARENT };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0 && errno == ENOSYS) /* as some sandboxes have it */
		pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
	return pid < 0 ? -errno : (pid_t)pid;
}

static _Noreturn void be_supervisor(const struct env *env, const char *jobs_path,
				    const struct question *question)
{
	char path[PATH_MAX + RECORD_NAME_BYTES];
	struct strata_error err;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	dup2(null, STDIN_FILENO); /* the socket is the fork server's */
	close(null);
	prctl(PR_SET_NAME, question->name);
	snprintf(path, sizeof(path), "%s/%s", jobs_path, question->name);
	int rc = supervise(env, path, question->epoch, &err);

	if (rc)
		dprintf(STDERR_FILENO, "strata: job %s: %s\n", question->name, err.text);
	_exit(rc ? 1 : 0);
}

static void serve(const struct env *env, const char *jobs_path)
{
	struct question question;
	ssize_t got;

	for (;;) {
		got = recv(STDIN_FILENO, &question, sizeof(question), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got != (ssize_t)sizeof(question))
			return;
		question.name[sizeof(question.name) - 1] = '\0';
		struct answer answer = { question.cookie, fork_brother() };

		if (answer.pid == 0)
			be_supervisor(env, jobs_path, &question);
		if (send(STDIN_FILENO, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			return;
	}
}

/* What every supervisor would load to look up its user's groups is loaded here once. */
static void load_names(void)
{
	gid_t groups[64];
	int count = 64;

	getgrouplist("root", 0, groups, &count);
}

int fork_server_run(const struct env *env, char **operands, size_t count, struct strata_error *err)
{
	int type;
	socklen_t size = sizeof(type);
	struct strata_error why;

	if (count < 1 || count > 2 ||
	    getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
		return strata_fail(err, -EINVAL,
				   "usage: strata supervise JOBS [CGROUP] (the service runs it, "
				   "and talks to it on its standard input)");
	log_open_inherited();
	/* each of them tries again by itself if this fails */
	if (count == 2 && cgroup_enter_supervisors(operands[1], &why) < 0)
		log_warning("supervisor", "supervisors run without a control group: %s", why.text);
	load_names();
	serve(env, operands[0]);
	return 0;
}
