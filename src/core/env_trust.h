/*
 * May what is at a path be believed? A service of root's takes its database, its keys and its plug-ins from files, and whoever can change them, or
 * put others in their place, has root's rights. So nobody but root and the process's own user may be able to: not on the file, not on any
 * directory or link on the way. A directory where all may write but only owners may delete (/tmp) is a fair way
 * to what belongs to root or to us.
 */
#ifndef CORE_ENV_TRUST_H
#define CORE_ENV_TRUST_H

#include "core/env.h"

enum env_trust {
	ENV_TRUST_OWN_DIR, /* a directory of our own user's, to keep secrets in */
	ENV_TRUST_DIR,     /* a directory of root's or ours */
	ENV_TRUST_FILE, /* a file of root's or ours; one that may be missing, if nobody else can make it */
};

/* 0, or -EPERM with a sentence that names what is wrong, where, and the command that mends it; `what` says what the path is for, as in
 * "the state directory". Other codes are the system's. */
int env_trust_check(const char *path, enum env_trust trust, const char *what,
		    struct strata_error *err);

/* Makes a directory, and those above it, that are missing, if what is there is to be trusted; then checks it. */
int env_trust_make_dir(const struct env *env, const char *path, mode_t mode, enum env_trust trust,
		       const char *what, struct strata_error *err);

#endif
