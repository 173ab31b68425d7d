/* The process primitives of the real world: env_spawn.c has them, env.c's table names them. */
#ifndef CORE_ENV_INT_H
#define CORE_ENV_INT_H

#include "core/env.h"

/* Repeats a primitive while a signal interrupts it. */
#define ENV_RETRY(call)                   \
	__extension__({                   \
		__typeof__(call) env_rc;  \
		do                        \
			env_rc = (call);  \
		while (env_rc == -EINTR); \
		env_rc;                   \
	})

int env_system_spawn(void *context, const struct env_command *command,
		     struct env_process *ret_process, struct strata_error *err);
int env_system_wait(void *context, const struct env_process *process, bool block,
		    struct env_exit *ret_exit);
int env_system_signal(void *context, const struct env_process *process, int signal, bool group);

/* Marks every descriptor from `first` on as closed by exec, for kernels (before 5.11) that cannot do it in one call.
 * Async-signal-safe. 0 or a negative code. */
int env_mark_listed_fds(int first);

#endif
