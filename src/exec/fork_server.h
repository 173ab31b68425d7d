/*
 * Where supervisors come from: one process, started by the executor, that is asked for a supervisor
 * by a message and forks one. So a supervisor costs a fork of a small process instead of a program
 * that is loaded and linked, and is born in the control group of supervisors instead of being moved
 * there. It is the executor's own child, outlives it like any other, and knows nothing of the fork
 * server, which ends when the executor does.
 */
#ifndef EXEC_FORK_SERVER_H
#define EXEC_FORK_SERVER_H

#include "core/env.h"

/* ---- the executor's side ---- */

struct fork_server {
	struct env_process process;
	int socket; /* readable when there is an answer, or when it has ended; -1: there is none */
};

/* Starts `PROGRAM supervise JOBS [CGROUP]`. */
int fork_server_open(struct fork_server *fork_server, const struct env *env, const char *program,
		     const char *jobs_path, const char *cgroup, struct strata_error *err);
/* Waits for its end. Supervisors it was asked for and did not answer for may be there or not. */
void fork_server_close(struct fork_server *fork_server, const struct env *env);

/* Asks for a supervisor of the attempt; the answer comes with the same cookie. Does not wait for
 * it. */
int fork_server_request(struct fork_server *fork_server, const char *name, int64_t epoch,
			void *cookie, struct strata_error *err);
/* 1 and the answer: the supervisor's process, a child of ours, or a negative code. 0: none now.
 * Negative: the fork server has ended. */
int fork_server_take(struct fork_server *fork_server, void **ret_cookie, pid_t *ret_pid);

/* ---- the process itself ---- */

/* Serves the socket that is its standard input until the executor closes it. The operands are those
 * of `supervise`. */
int fork_server_run(const struct env *env, char **operands, size_t count, struct strata_error *err);

#endif
