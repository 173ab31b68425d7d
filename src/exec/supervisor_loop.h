/*
 * The supervisor: one small process for each job attempt, which claims it, starts it, keeps its
 * limits, carries out control requests and writes down how it ended. It lives as long as the
 * attempt and needs no daemon.
 */
#ifndef EXEC_SUPERVISOR_LOOP_H
#define EXEC_SUPERVISOR_LOOP_H

#include "core/env.h"

/*
 * Supervises the attempt of this file to its end. 0 when it is done, or when there is nothing to
 * do: another supervisor has it, it has ended, or the order is another epoch's. A negative code
 * when it could not be claimed; then nothing was started and it may be tried again. Once claimed,
 * what goes wrong becomes the attempt's status.
 *
 * Changes the process it runs in (signals, groups, umask, subreaper); meant for a process of its
 * own.
 */
int supervise(const struct env *env, const char *path, int64_t epoch, struct strata_error *err);

#endif
