/*
 * Processes. The child between fork and exec makes system calls and nothing else: it allocates nothing, takes no lock
 * and runs no handler (all signals are blocked until it has reset them). If a step fails it says which and why through
 * a pipe that a successful exec closes; so the caller knows, before the call returns, whether the program runs.
 *
 * vfork spares a large daemon the copy of its page tables. When the child is to become another user it is fork after
 * all: that user could stop a vfork child with a signal, and the thread that waits for it along with it. A child of another
 * control group is born there (clone3): to be moved there later takes the kernel many milliseconds.
 */
#include "core/env_int.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum step { STEP_FDS, STEP_SESSION, STEP_IDENTITY, STEP_PARENT, STEP_CWD, STEP_EXEC };

/* What the child sends when it cannot go on; less than PIPE_BUF, so it arrives whole. */
struct report {
	enum step step;
	int code; /* errno */
	bool there; /* STEP_EXEC: the program is, so what its first line names, or its loader, is not */
};

/* ---- in the child ---- */

int env_mark_listed_fds(int first)
{
	/* opendir allocates, so the kernel's own records are read */
	_Alignas(struct dirent64) char entries[2048];
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long count;

	if (dir < 0)
		return -errno;
	while ((count = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < count;) {
			const struct dirent64 *entry = (const void *)(entries + at);
			int fd = 0;

			for (const char *digit = entry->d_name; *digit >= '0' && *digit <= '9';
			     digit++)
				fd = fd * 10 + (*digit - '0');
			if (fd >= first)
				fcntl(fd, F_SETFD, FD_CLOEXEC);
			at += entry->d_reclen;
		}
	}
	int rc = count < 0 ? -errno : 0;

	close(dir);
	return rc;
}

/* Puts the three descriptors in place and lets exec close all others; 0 or an errno. */
static int place_fds(const int *fds)
{
	int copies[3];

	for (int i = 0; i < 3; i++) { /* out of the way first: they may be each other's places */
		int from = fds[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : fds[i];

		copies[i] = from < 0 ? -1 : fcntl(from, F_DUPFD_CLOEXEC, 3);
		if (copies[i] < 0)
			return errno;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(copies[i], i) < 0)
			return errno;
	if (syscall(SYS_close_range, 3u, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0)
		return 0;
	return -env_mark_listed_fds(3);
}

/* All of them by system call, since the C library keeps two for itself, which may have been inherited as ignored. The
 * kernel's structure is all zeros for the default action, whatever its layout. */
static void reset_signals(void)
{
	const uint64_t defaults[8] = { 0 };
	sigset_t none;

	for (int signal = 1; signal < _NSIG; signal++)
		syscall(SYS_rt_sigaction, signal, defaults, NULL, _NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The system calls themselves: the C library's functions would change every thread of the process, and under vfork
 * those are the parent's. */
static int become(const struct env_identity *identity)
{
	gid_t gid = identity->gid;
	uid_t uid = identity->uid;

	if (syscall(SYS_setgroups, identity->group_count, identity->groups) < 0 ||
	    syscall(SYS_setresgid, gid, gid, gid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0)
		return errno;
	return 0;
}

static int join_session(const struct env_command *command)
{
	if (command->new_session && setsid() < 0)
		return errno;
	if (command->new_session)
		return command->terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0 ? errno : 0;
	if (command->new_group)
		return setpgid(0, 0) < 0 ? errno : 0;
	return 0;
}

/* After the identity is set, which would undo it. The parent may be gone by then. */
static int follow_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return errno;
	return getppid() == parent ? 0 : ESRCH;
}

/* The last thing before exec, so that none of them is in our own way; what cannot be set stays. */
static void set_limits(const struct env_command *command)
{
	for (size_t i = 0; i < command->limit_count; i++) {
		const struct env_limit *limit = &command->limits[i];
		struct rlimit both;

		if (getrlimit((__rlimit_resource_t)limit->resource, &both))
			continue;
		both.rlim_cur = limit->value < both.rlim_max ? limit->value : both.rlim_max;
		setrlimit((__rlimit_resource_t)limit->resource, &both);
	}
}

static int run(const struct env_command *command, const char *path)
{
	execve(path, (char *const *)command->argv, (char *const *)command->envp);
	return errno;
}

/* Tries each place in turn, as the user of the child: what may not be run is passed over, and said only when nothing else is found. An
 * empty place would be the current directory, which nobody means. */
static struct report search_and_run(const struct env_command *command)
{
	size_t name = strlen(command->program);
	char path[PATH_MAX];
	int found = ENOENT;

	for (const char *at = command->search; *at;) {
		size_t length = strcspn(at, ":");

		if (length && length + name + 2 <= sizeof(path)) {
			memcpy(path, at, length);
			path[length] = '/';
			memcpy(path + length + 1, command->program, name + 1);
			int code = run(command, path);

			if (code == EACCES)
				found = code;
			else if (code == ENOENT && access(path, F_OK) == 0)
				return (struct report){ STEP_EXEC, code, true };
			else if (code != ENOENT && code != ENOTDIR && code != ELOOP &&
				 code != ENAMETOOLONG)
				return (struct report){ STEP_EXEC, code, false };
		}
		at += length + (at[length] == ':');
	}
	return (struct report){ STEP_EXEC, found, false };
}

static struct report prepare_and_exec(const struct env_command *command, pid_t parent)
{
	int code = place_fds(command->fds);

	if (code)
		return (struct report){ STEP_FDS, code };
	reset_signals();
	code = join_session(command);
	if (code)
		return (struct report){ STEP_SESSION, code };
	code = command->identity ? become(command->identity) : 0;
	if (code)
		return (struct report){ STEP_IDENTITY, code };
	code = command->die_with_parent ? follow_parent(parent) : 0;
	if (code)
		return (struct report){ STEP_PARENT, code };
	if (command->cwd_fd ? fchdir(command->cwd_fd) < 0 : command->cwd && chdir(command->cwd) < 0)
		return (struct report){ STEP_CWD, errno };
	set_limits(command);
	if (command->search)
		return search_and_run(command);
	code = run(command, command->program);
	return (struct report){ STEP_EXEC, code,
				code == ENOENT && access(command->program, F_OK) == 0 };
}

static _Noreturn void child(const struct env_command *command, int pipe_fd, pid_t parent)
{
	struct report report = prepare_and_exec(command, parent);
	ssize_t sent = write(pipe_fd, &report, sizeof(report));

	_exit(sent == (ssize_t)sizeof(report) ? 127 : 126);
}

/* ---- in the parent ---- */

/* As fork, with the child in another group. */
static pid_t fork_into(int cgroup)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP,
				   .exit_signal = SIGCHLD,
				   .cgroup = (uint64_t)cgroup };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0 && (errno == ENOSYS || errno == EINVAL || errno == E2BIG))
		errno = ENOTSUP;
	return (pid_t)pid;
}

/* A function of its own, so that the child of vfork shares no variable that the caller goes on to use. */
static __attribute__((noinline)) pid_t start(const struct env_command *command, int pipe_fd)
{
	pid_t parent = getpid();
	pid_t pid = command->cgroup     ? fork_into(command->cgroup)
		    : command->identity ? fork()
					: vfork();

	if (pid == 0)
		child(command, pipe_fd, parent);
	return pid;
}

static pid_t start_blocked(const struct env_command *command, int pipe_fd)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = start(command, pipe_fd);
	int code = errno;

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? -code : pid;
}

static int explain(const struct env_command *command, const struct report *report,
		   struct strata_error *err)
{
	const char *why = strerror(report->code), *program = command->program;
	int rc = -report->code;

	switch (report->step) {
	case STEP_FDS:
		return strata_fail(err, rc, "cannot start %s: its descriptors: %s", program, why);
	case STEP_SESSION:
		return strata_fail(err, rc, "cannot start %s: its session: %s", program, why);
	case STEP_IDENTITY:
		return strata_fail(err, rc, "cannot start %s as user %u, group %u: %s", program,
				   command->identity->uid, command->identity->gid, why);
	case STEP_PARENT:
		return strata_fail(err, rc, "cannot start %s: its parent is gone: %s", program,
				   why);
	case STEP_CWD:
		return strata_fail(err, rc, "cannot start %s in %s: %s", program, command->cwd,
				   why);
	case STEP_EXEC:
		break;
	}
	if (report->there)
		why = "the program that its first line names, or its loader, does not exist";
	else if (report->code == ENOENT && command->search)
		return strata_fail(err, rc,
				   "cannot start %s: there is no such program on its PATH, %.200s",
				   program, command->search);
	return strata_fail(err, rc, "cannot start %s: %s", program, why);
}

/* Whether the program runs: 0, or the reason why not, and then the child is gone. */
static int await_exec(const struct env_command *command, pid_t pid, int pipe_fd,
		      struct strata_error *err)
{
	struct report report;
	ssize_t got;

	do
		got = read(pipe_fd, &report, sizeof(report));
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(report))
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return explain(command, &report, err);
}

/* A pipe whose second end is out of the way of the child's first three descriptors. */
static int open_pipe(int *ends)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (ends[1] > 2)
		return 0;
	int moved = fcntl(ends[1], F_DUPFD_CLOEXEC, 3), code = errno;

	close(ends[1]);
	ends[1] = moved;
	if (moved < 0)
		close(ends[0]);
	return moved < 0 ? -code : 0;
}

int env_system_spawn(void *context, const struct env_command *command,
		     struct env_process *ret_process, struct strata_error *err)
{
	int ends[2], rc = open_pipe(ends);

	(void)context;
	if (rc < 0)
		return strata_fail(err, rc, "cannot start %s: no pipe: %s", command->program,
				   strerror(-rc));
	pid_t pid = start_blocked(command, ends[1]);

	close(ends[1]);
	rc = pid < 0 ? strata_fail(err, pid, "cannot start %s: no process: %s", command->program,
				   strerror(-pid))
		     : await_exec(command, pid, ends[0], err);

	close(ends[0]);
	if (rc < 0)
		return rc;
	*ret_process = (struct env_process){ pid, (int)syscall(SYS_pidfd_open, pid, 0) };
	return 0;
}

int env_system_wait(void *context, const struct env_process *process, bool block,
		    struct env_exit *ret_exit)
{
	siginfo_t info = { 0 };

	(void)context;
	if (waitid(P_PID, (id_t)process->pid, &info, WEXITED | (block ? 0 : WNOHANG)) < 0)
		return -errno;
	*ret_exit = (struct env_exit){ .state = ENV_RUNNING };
	if (info.si_pid == 0)
		return 0;
	if (info.si_code == CLD_EXITED)
		*ret_exit = (struct env_exit){ .state = ENV_EXITED, .code = info.si_status };
	else
		*ret_exit = (struct env_exit){ .state = ENV_KILLED,
					       .signal = info.si_status,
					       .dumped = info.si_code == CLD_DUMPED };
	return 0;
}

int env_system_signal(void *context, const struct env_process *process, int signal, bool group)
{
	int rc;

	(void)context;
	if (process->pidfd >= 0 && !group)
		rc = (int)syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0);
	else
		rc = kill(group ? -process->pid : process->pid, signal);
	return rc < 0 ? -errno : 0;
}

/* ---- over the table ---- */

int env_spawn(const struct env *env, const struct env_command *command,
	      struct env_process *ret_process, struct strata_error *err)
{
	if (!strchr(command->program, '/') == !command->search)
		return strata_fail(err, -EINVAL, "the program is \"%s\"; expected %s",
				   command->program,
				   command->search ? "a name without a slash, to be looked for"
						   : "a path with a slash");
	return env->spawn(env->context, command, ret_process, err);
}

int env_wait(const struct env *env, const struct env_process *process, bool block,
	     struct env_exit *ret_exit, struct strata_error *err)
{
	int rc = ENV_RETRY(env->wait(env->context, process, block, ret_exit));

	if (rc < 0)
		return strata_fail(err, rc, "cannot wait for process %d: %s", process->pid,
				   strerror(-rc));
	return 0;
}

int env_signal(const struct env *env, const struct env_process *process, int signal, bool group,
	       struct strata_error *err)
{
	/* 0, -1 and 1 would mean our own group, everybody, and init */
	if (process->pid <= 1)
		return strata_fail(err, -EINVAL, "process %d cannot be signalled", process->pid);
	int rc = env->signal(env->context, process, signal, group);

	if (rc < 0)
		return strata_fail(err, rc, "cannot send signal %d to process %s%d: %s", signal,
				   group ? "group " : "", process->pid, strerror(-rc));
	return 0;
}

void env_process_close(const struct env *env, struct env_process *process)
{
	if (process->pidfd >= 0)
		env->close(env->context, process->pidfd);
	process->pidfd = -1;
}
