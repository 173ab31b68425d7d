/*
 * STATE/leader: the epoch of the leader that was here last. Whoever leads writes it before looking
 * at what there is; from then on no order of an earlier leader is claimed that this one has not
 * made its own, however late it is written. So a leader that was suspended with a start in its
 * hands cannot start what the next one has run, and forgotten, meanwhile.
 */
#ifndef EXEC_LEADER_H
#define EXEC_LEADER_H

#include "core/env.h"

#include <strata/error.h>
#include <strata/memory.h>

#define LEADER_FROM_JOBS ".." /* the state directory, as seen from that of all jobs */

/* This epoch leads: durable. -ESTALE when a later one has been here. */
int leader_take(const struct env *env, int state_dir, int64_t epoch, struct strata_memory *memory,
		struct strata_error *err);
/* 0 while no later one leads than this; else -ESTALE. `where` is the state directory, from
 * `dir`. */
int leader_check(const struct env *env, int dir, const char *where, int64_t epoch,
		 struct strata_memory *memory, struct strata_error *err);

#endif
