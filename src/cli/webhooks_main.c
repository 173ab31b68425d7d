/*
 * strata-webhooks: sends messages to webhooks for the service, without rights. As root it becomes
 * the user that it is told before it reads anything.
 *
 *	strata-webhooks UID GID ADDRESSES	(0 0: it stays who it is)
 */
#include "webhook/webhook_send.h"

#include <strata/text.h>

#include <curl/curl.h>
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* No other files, no programs with more rights, and it ends with the service. */
static int give_up_rights(uid_t uid, gid_t gid, struct strata_error *err)
{
	const struct rlimit files = { 256, 256 }, none = { 0, 0 };

	if (uid && (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		return strata_fail(err, -errno, "cannot become user %u: %s", (unsigned)uid,
				   strerror(errno));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    setrlimit(RLIMIT_NOFILE, &files) || setrlimit(RLIMIT_CORE, &none) ||
	    setrlimit(RLIMIT_FSIZE, &none) || chdir("/"))
		return strata_fail(err, -errno, "cannot give up rights: %s", strerror(errno));
	return 0;
}

int main(int argc, char **argv)
{
	struct strata_error err = { 0 };
	struct webhook_allowed allowed;
	int64_t uid = 0, gid = 0;
	int rc = argc == 4 ? strata_int_parse(argv[1], STRATA_TEXT_NUL, 0, UINT32_MAX, &uid, &err)
			   : strata_fail(&err, -EINVAL, "expected UID GID ADDRESSES");

	if (rc == 0)
		rc = strata_int_parse(argv[2], STRATA_TEXT_NUL, 0, UINT32_MAX, &gid, &err);
	if (rc == 0)
		rc = give_up_rights((uid_t)uid, (gid_t)gid, &err);
	if (rc == 0)
		rc = webhook_allowed_read(argv[3], &allowed, &err);
	signal(SIGPIPE, SIG_IGN);
	if (rc == 0 && curl_global_init(CURL_GLOBAL_DEFAULT))
		rc = strata_fail(&err, -EIO, "libcurl does not start");
	if (rc == 0)
		rc = webhook_send_all(STDIN_FILENO, STDOUT_FILENO, &allowed, &err);
	if (rc)
		fprintf(stderr, "strata-webhooks: %s\n", err.text);
	return rc ? strata_error_kind(rc)->exit_code : STRATA_EXIT_OK;
}
