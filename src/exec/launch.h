/*
 * From an order to a running process. Files are opened, and directories made, with the rights of
 * the job's user and no more, so that a path cannot lead where that user may not go.
 */
#ifndef EXEC_LAUNCH_H
#define EXEC_LAUNCH_H

#include "exec/cgroup.h"
#include "exec/exec.h"

/* Who the job is. */
struct launch_user {
	/* this process is root and becomes somebody else where it acts for the job */
	bool switches;
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* owned */
	size_t group_count;
};

/* What is to be started, and where. All of it is borrowed. */
struct launch_conf {
	const struct env *env;
	int jobs;         /* the directory of the attempts' files */
	const char *path; /* of this attempt's; beside it are written the script and the token */
	const struct exec_order *order;
	const struct launch_user *user;
	const struct cgroup *cgroup;
};

/* A file beside that of the attempt. */
struct launch_file {
	const char *ending; /* of its name, behind the attempt's */
	const char *bytes;
	size_t count;
	mode_t mode;
};

/* What runs. */
struct launch {
	struct env_process process;
	/* a duplicate of its stderr when that is a file, for a last line; -1: none */
	int message_fd;
};

/* -EPERM when this process may not act for the order's user. Root takes on the user's groups. */
int launch_user_init(struct launch_user *user, const struct exec_order *order,
		     struct strata_error *err);
void launch_user_fini(struct launch_user *user);

/* From here to _end files are touched with the user's rights. */
void launch_as_user_begin(const struct launch_user *user);
void launch_as_user_end(const struct launch_user *user);

/* Starts the order's program in the cgroup. On failure nothing runs, and the sentence is one for
 * the job's owner. */
int launch_start(const struct launch_conf *conf, struct launch *ret_launch,
		 struct strata_error *err);
/* Makes the order's checkpoint directory, if it is missing. */
int launch_make_checkpoint_dir(const struct exec_order *order, const struct launch_user *user,
			       struct strata_error *err);
/* A new file of the user's beside that of the attempt. */
int launch_write_beside(int jobs, const char *path, const struct launch_file *file,
			const struct launch_user *user, struct strata_error *err);
/* Takes away what the attempt was started from. */
void launch_tidy_script(int jobs, const char *name);
/* The same, and its token and samples. */
void launch_tidy(int jobs, const char *name);

#endif
