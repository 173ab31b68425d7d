/* The checks of env_trust.h, on a walk along the path: owner and mode of every component, links included. */
#include "core/env_trust.h"

#include "core/env_walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct check {
	enum env_trust trust;
	const char *what, *path; /* as the caller names it */
	struct strata_error *err;
	char at[PATH_MAX]; /* the directory that the walk is in */
};

static bool is_ours(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* The path of a component, in a buffer of its own. */
static const char *path_of(const struct check *check, const char *name, char path[PATH_MAX])
{
	bool whole = name[0] == '/' || strcmp(name, ".") == 0;

	if (whole)
		snprintf(path, PATH_MAX, "%s", name);
	else if (snprintf(path, PATH_MAX, "%s%s%s", check->at,
			  check->at[strlen(check->at) - 1] == '/' ? "" : "/", name) >= PATH_MAX)
		return name;
	return path;
}

static int refuse_owner(const struct check *check, const char *path, uid_t owner, bool own)
{
	if (own)
		return strata_fail(check->err, -EPERM,
				   "%s %.200s belongs to user %u; expected user %u, who runs this: "
				   "name another, or `chown %u %.200s` if you trust all that is "
				   "in it",
				   check->what, path, owner, geteuid(), geteuid(), path);
	return strata_fail(check->err, -EPERM,
			   "%s %.200s is not safe: %.200s belongs to user %u, who could exchange "
			   "it; expected root%s",
			   check->what, check->path, path, owner,
			   geteuid() ? " or the user who runs this" : "");
}

static int refuse_mode(const struct check *check, const char *path, mode_t mode)
{
	char advice[300];

	if (mode & S_ISVTX) /* /tmp is as it should be */
		snprintf(advice, sizeof(advice), "name a directory of its own below it");
	else
		snprintf(advice, sizeof(advice), "`chmod go-w %.200s` mends it", path);
	return strata_fail(check->err, -EPERM,
			   "%s %.200s is not safe: %.200s may be written to by others (mode %04o); "
			   "%s",
			   check->what, check->path, path, mode & 07777, advice);
}

/* A group with the number of its user is that user's alone on most systems, and what a umask of 002 counts on. Root's may have members. */
static bool is_open(const struct stat *info)
{
	bool private = geteuid() != 0 && info->st_gid == geteuid();

	return info->st_mode & S_IWOTH || (info->st_mode & S_IWGRP && !private);
}

static int check_step(void *context, const struct env_walk_step *step)
{
	struct check *check = context;
	char path[PATH_MAX];
	const char *name = path_of(check, step->name, path);
	mode_t mode = step->info.st_mode;
	bool own = step->last && check->trust == ENV_TRUST_OWN_DIR && S_ISDIR(mode);

	if (own ? step->info.st_uid != geteuid() : !is_ours(step->info.st_uid))
		return refuse_owner(check, name, step->info.st_uid, own);
	if (!S_ISDIR(mode) &&
	    !S_ISREG(mode)) /* the mode of a link says nothing; check_end refuses the rest */
		return 0;
	if (is_open(&step->info) && (step->last || !(mode & S_ISVTX)))
		return refuse_mode(check, name, mode);
	snprintf(check->at, sizeof(check->at), "%s", name);
	return 0;
}

/* A file that is not there yet: in /tmp somebody else may make it. */
static int check_missing(const struct check *check, const struct env_walk_end *end)
{
	struct stat parent;

	if (check->trust != ENV_TRUST_FILE || fstat(end->dir, &parent) < 0)
		return -ENOENT;
	return is_open(&parent) ? refuse_mode(check, check->at, parent.st_mode) : 0;
}

/* Is what ends the walk of the right kind? */
static int check_end(const struct check *check, const struct env_walk_end *end)
{
	struct stat info;

	if (end->missing)
		return check_missing(check, end);
	if (fstatat(end->dir, end->name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (check->trust == ENV_TRUST_FILE)
		return S_ISREG(info.st_mode) ? 0 : S_ISDIR(info.st_mode) ? -EISDIR : -EINVAL;
	return S_ISDIR(info.st_mode) ? 0 : -ENOTDIR;
}

/* As env_trust_check, without a sentence for what the system says. */
static int walk(const char *path, enum env_trust trust, const char *what, struct strata_error *err)
{
	struct check check = { .trust = trust, .what = what, .path = path, .err = err };
	struct env_walk_end end;
	int rc = env_walk(AT_FDCWD, path, check_step, &check, &end);

	if (rc)
		return rc;
	rc = check_end(&check, &end);
	close(end.dir);
	return rc;
}

int env_trust_check(const char *path, enum env_trust trust, const char *what,
		    struct strata_error *err)
{
	int rc = walk(path, trust, what, err);

	return rc == 0 || rc == -EPERM ? rc
				       : strata_fail(err, rc, "%s %.200s cannot be used: %s", what,
						     path, strerror(-rc));
}

int env_trust_make_dir(const struct env *env, const char *path, mode_t mode, enum env_trust trust,
		       const char *what, struct strata_error *err)
{
	int rc = walk(path, trust, what, err);

	if (rc == -ENOENT) { /* all that is there is to be trusted */
		rc = env_make_dir(env, AT_FDCWD, path, mode, err);
		return rc ? rc : env_trust_check(path, trust, what, err);
	}
	return rc == 0 ? 0 : env_trust_check(path, trust, what, err);
}
