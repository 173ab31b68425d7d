#include "test.h"

#include "exec/processes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A shell with a script; waits until the script has written its first line. */
static pid_t start_shell(const char *script, const char *variable)
{
	int ends[2];
	char byte;

	CHECK_INT(pipe(ends), 0);
	pid_t pid = fork();

	if (pid == 0) {
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		char *const argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, strdup(script), NULL };
		char *const envp[] = { (char[]){ "PATH=/usr/bin:/bin" }, strdup(variable), NULL };

		execve("/bin/sh", argv, envp);
		_exit(127);
	}
	close(ends[1]);
	CHECK_INT(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

static int reap_all(void)
{
	int count = 0;

	while (waitpid(-1, NULL, 0) > 0)
		count++;
	return count;
}

TEST(a_signal_reaches_all_descendants_whatever_their_session)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	start_shell("(setsid sleep 71 </dev/null >/dev/null & ); sleep 72 & echo; exec >/dev/null; "
		    "wait",
		    "A=b");
	CHECK_INT(processes_signal(SIGKILL, PROCESSES_ALL), 3);
	for (int i = 0; i < 100 && processes_signal(SIGKILL, PROCESSES_ALL) > 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL),
			waitpid(-1, NULL, WNOHANG);
	reap_all();
	CHECK_INT(processes_signal(0, PROCESSES_ALL), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(catchers_only_means_those_with_a_handler)
{
	int status;
	pid_t deaf = start_shell("echo; exec >/dev/null; sleep 73; exit 1", "A=b");
	pid_t listener = start_shell(
		"trap 'exit 5' USR1; echo; exec >/dev/null; while :; do sleep 0.02; done", "A=b");

	CHECK(processes_signal(SIGUSR1, PROCESSES_CATCHERS) >=
	      1); /* its child, before exec, has the handler too */
	CHECK_INT(waitpid(listener, &status, 0), listener);
	CHECK_INT(WEXITSTATUS(status), 5);
	CHECK_INT(waitpid(deaf, &status, WNOHANG), 0);
	processes_signal(SIGKILL, PROCESSES_ALL);
	reap_all();
}

TEST(steps_are_known_by_their_environment)
{
	int status;
	pid_t script = start_shell("echo; exec >/dev/null; sleep 73; exit 1", "A=b");
	pid_t step = start_shell("echo; exec >/dev/null; exec sleep 73", "SLURM_STEP_ID=0");

	CHECK_INT(processes_signal(SIGTERM, PROCESSES_STEPS), 1);
	CHECK_INT(waitpid(step, &status, 0), step);
	CHECK_INT(WTERMSIG(status), SIGTERM);
	CHECK_INT(waitpid(script, &status, WNOHANG), 0);
	processes_signal(SIGKILL, PROCESSES_ALL);
	reap_all();
}

TEST(orphans_are_known_by_their_environment)
{
	int status;
	pid_t mine =
		start_shell("echo; exec sleep 74 >/dev/null", "STRATA_JOB_FILE=/state/jobs/1.1");
	pid_t other =
		start_shell("echo; exec sleep 75 >/dev/null", "STRATA_JOB_FILE=/state/jobs/1.11");

	CHECK_INT(processes_kill_orphans("/state/jobs/1.1"), 1);
	CHECK_INT(waitpid(mine, &status, 0), mine);
	CHECK_INT(WTERMSIG(status), SIGKILL);
	CHECK_INT(waitpid(other, &status, WNOHANG), 0);
	CHECK_INT(processes_kill_orphans("/state/jobs/1.1"), 0);
	kill(other, SIGKILL);
	reap_all();
}
