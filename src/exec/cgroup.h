/*
 * Control groups of the second version. Below one directory, the base, there is `supervisors`, and
 * a group for each attempt. Where there is no base, or it is not ours to write, jobs run without:
 * processes are then found by descent, frozen with SIGSTOP, and limits on memory, CPUs and
 * processes are not enforced.
 */
#ifndef EXEC_CGROUP_H
#define EXEC_CGROUP_H

#include <strata/error.h>
#include <strata/memory.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The base to use. "none": NULL. A path: that directory, made if missing. "auto": one below the
 * group this process is in, if that can be had. We stay in that group, which therefore cannot hand
 * on controllers: enough to kill and to freeze, and limits only where a path is given. (Moving out
 * would keep systemd before 254 from starting a daemon again whose jobs run on.) The text is in the
 * arena; NULL when there is none to be had. Fails only for a path that cannot be used.
 */
int cgroup_find_base(const char *setting, const char *state_dir, struct strata_arena *arena,
		     const char **ret_base, struct strata_error *err);

struct cgroup {
	int dir;          /* of the attempt's group; -1: there is none */
	bool memory_kept; /* the kernel keeps its limit on memory */
};

/* What the kernel does for the groups below a base. */
struct cgroup_support {
	int version;            /* of control groups on this machine: 2, 1, or 0 for none */
	bool groups;            /* there is a base: jobs have groups of their own */
	bool memory, cpu, pids; /* limits on these are kept there */
};
/* base NULL: there is none. */
struct cgroup_support cgroup_support(const char *base);
/* "memory: … ; CPUs: … ; processes: …", for people. */
void cgroup_support_print(const struct cgroup_support *support, char *text, size_t room);

struct cgroup_limits {
	int64_t cpu_milli, memory_bytes, process_count; /* 0: no limit */
};

/* Makes the group of an attempt, with what limits the kernel will take. On failure, and with base
 * NULL, there is none. */
int cgroup_make(struct cgroup *cgroup, const char *base, const char *name,
		const struct cgroup_limits *limits, struct strata_error *err);
/* Finds the group of an attempt that was made earlier. */
void cgroup_find(struct cgroup *cgroup, const char *base, const char *name);
void cgroup_close(struct cgroup *cgroup);

/* This process: into the attempt's group, so that a child is born there, and into the
 * supervisors'. */
int cgroup_enter(const struct cgroup *cgroup, struct strata_error *err);
int cgroup_enter_supervisors(const char *base, struct strata_error *err);

/* All of its processes at once. -EOPNOTSUPP when there is no group or the kernel cannot. */
int cgroup_kill(const struct cgroup *cgroup);
int cgroup_freeze(const struct cgroup *cgroup, bool frozen);

/* The numbers of its processes, up to `room` of them; their count, or a negative code. */
int cgroup_processes(const struct cgroup *cgroup, pid_t *pids, size_t room);

/* Was a process of it killed for lack of memory? */
bool cgroup_ran_out_of_memory(const struct cgroup *cgroup);
/* CPU time that all of it has used; -1: not known. */
int64_t cgroup_cpu_ns(const struct cgroup *cgroup);
/* The most memory all of it used; 0: not known. */
int64_t cgroup_memory_peak(const struct cgroup *cgroup);
/* Once it is empty; does nothing before. */
void cgroup_remove(const char *base, const char *name);
void cgroup_remove_base(const char *base);

#endif
