/*
 * strata-checkpoints: stores, fetches or drops one copy of a checkpoint, for the service. As root
 * it becomes the job's user before it reads anything; what it is to do, and the credentials for it,
 * come over standard input, so that nobody sees them among arguments or variables. That user cannot
 * look into it: the kernel lets nobody trace a process that has changed who it is.
 *
 *	strata-checkpoints UID GID	(0 0: it stays who it is)
 */
#include "s3/copy.h"

#include <strata/text.h>

#include <curl/curl.h>
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { LIFE_SECONDS = 10 };

static int give_up_rights(uid_t uid, gid_t gid, struct strata_error *err)
{
	const struct rlimit files = { 256, 256 }, none = { 0, 0 };

	if (uid && (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		return strata_fail(err, -errno, "cannot become user %u: %s", (unsigned)uid,
				   strerror(errno));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    prctl(PR_SET_DUMPABLE, 0) || setrlimit(RLIMIT_NOFILE, &files) ||
	    setrlimit(RLIMIT_CORE, &none) || chdir("/"))
		return strata_fail(err, -errno, "cannot give up rights: %s", strerror(errno));
	return 0;
}

/* The service hears every few seconds that it lives; blanks in front of an answer are nothing. */
static void show_life(int signal)
{
	(void)signal;
	int code = errno;

	if (write(STDOUT_FILENO, " ", 1) < 0)
		_exit(STRATA_EXIT_FAILED); /* nobody is there to hear */
	errno = code;
}

static void begin_to_show_life(void)
{
	const struct sigaction action = { .sa_handler = show_life, .sa_flags = SA_RESTART };
	const struct itimerval often = { { LIFE_SECONDS, 0 }, { LIFE_SECONDS, 0 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv)
{
	struct strata_error err = { 0 };
	int64_t uid = 0, gid = 0;
	int rc = argc == 3 ? strata_int_parse(argv[1], STRATA_TEXT_NUL, 0, UINT32_MAX, &uid, &err)
			   : strata_fail(&err, -EINVAL, "expected UID GID");

	if (rc == 0)
		rc = strata_int_parse(argv[2], STRATA_TEXT_NUL, 0, UINT32_MAX, &gid, &err);
	if (rc == 0)
		rc = give_up_rights((uid_t)uid, (gid_t)gid, &err);
	signal(SIGPIPE, SIG_IGN);
	umask(077);
	if (rc == 0)
		begin_to_show_life();
	if (rc == 0 && curl_global_init(CURL_GLOBAL_DEFAULT))
		rc = strata_fail(&err, -EIO, "libcurl does not start");
	if (rc == 0)
		rc = copy_run(STDIN_FILENO, STDOUT_FILENO, &err);
	if (rc)
		fprintf(stderr, "strata-checkpoints: %s\n", err.text);
	return rc ? strata_error_kind(rc)->exit_code : STRATA_EXIT_OK;
}
