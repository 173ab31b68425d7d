/*
 * strata study: not for people. The service starts it for a study: a replay of the history under
 * other policies, a plan for a model that somebody sent. As root it becomes the user that it is
 * told before it looks at anything, in a network of its own, with limits on CPU time, memory and
 * files; then it runs the command that follows, in this process. Input comes by descriptors.
 *
 *	strata study UID GID WORD…	(0 0: it stays who it is)
 */
#include "cli/study.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FILES_MAX = 64, NICE = 10 }; /* the service and its jobs go first */

#ifdef __SANITIZE_ADDRESS__ /* which takes terabytes of addresses, and a process at the end */
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

/* Not more than a hard limit that is lower already. */
static int limit(int resource, rlim_t most)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		return -1;
	if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most)
		most = now.rlim_max;
	return setrlimit(resource, &(struct rlimit){ most, most });
}

static int give_up_rights(uid_t uid, gid_t gid, struct strata_error *err)
{
	/* a network without a card; not everywhere allowed, and the rest holds without it */
	if (uid)
		(void)!unshare(CLONE_NEWNET | CLONE_NEWIPC);
	if (uid && (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		return strata_fail(err, -errno, "cannot become user %u: %s", (unsigned)uid,
				   strerror(errno));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    limit(RLIMIT_CPU, STRATA_STUDY_SECONDS_MAX) ||
	    limit(RLIMIT_NOFILE, FILES_MAX) || limit(RLIMIT_FSIZE, 0) || limit(RLIMIT_CORE, 0) ||
	    (!sanitized &&
	     (limit(RLIMIT_AS, STRATA_STUDY_MEMORY_MAX) || limit(RLIMIT_NPROC, 0))) ||
	    setpriority(PRIO_PROCESS, 0, NICE) || chdir("/"))
		return strata_fail(err, -errno, "cannot give up rights: %s", strerror(errno));
	return 0;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	int64_t uid, gid;
	int rc;

	(void)conf;
	if (operand_count < 3)
		return strata_fail(&cli->err, -EINVAL, "expected UID GID WORD…");
	rc = strata_int_parse(operands[0], STRATA_TEXT_NUL, 0, UINT32_MAX, &uid, &cli->err);
	if (rc == 0)
		rc = strata_int_parse(operands[1], STRATA_TEXT_NUL, 0, UINT32_MAX, &gid,
				      &cli->err);
	if (rc == 0)
		rc = give_up_rights((uid_t)uid, (gid_t)gid, &cli->err);
	if (rc)
		return rc;
	cli_progress_to(STDERR_FILENO);
	return cli_dispatch(cli, (int)operand_count - 2, operands + 2);
}

/* Raw: what follows has flags of its own. */
const struct cli_command cli_study = {
	.name = "study",
	.operands = "UID GID WORD…",
	.summary = "run a command without rights, for the service",
	.hidden = true,
	.raw = true,
	.operands_min = 3,
	.operands_max = -1,
	.run = run,
};
