/*
 * The memory that a job's processes have, for jobs whose limit the kernel does not keep, and the
 * CPU time they have used. It costs the job's own processes, not the machine's: they are listed by
 * their control group, or by descent from this process.
 */
#ifndef EXEC_RESIDENT_H
#define EXEC_RESIDENT_H

#include "exec/cgroup.h"

/*
 * Bytes of memory that the descendants of this process have now. What they share is counted for
 * each of them, unless that comes to more than limit_bytes (0: none): then it is counted once,
 * which takes the kernel longer. 0: there is none, or it cannot be seen.
 */
int64_t resident_bytes(const struct cgroup *cgroup, int64_t limit_bytes);

/* CPU time of the descendants of this process so far, and of those that have ended. What ended
 * without being waited for is left out where there is no control group. */
int64_t resident_cpu_ns(const struct cgroup *cgroup);

#endif
