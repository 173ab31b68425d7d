/*
 * What a supervisor knows, and what it can do to its job. supervisor_loop.c decides when,
 * supervisor_actions.c does it.
 */
#ifndef EXEC_SUPERVISOR_ACTIONS_H
#define EXEC_SUPERVISOR_ACTIONS_H

#include "core/env_log.h"
#include "exec/journal.h"
#include "exec/launch.h"
#include "exec/processes.h"
#include "exec/samples.h"
#include "exec/saved.h"
#include "machine/inventory.h"

#include <limits.h>

#define SUPERVISOR_NEVER INT64_MAX
#define SUPERVISOR_LOOK_SOON_NS INT64_C(200000000) /* for a checkpoint that was asked for */

struct supervisor {
	const struct env *env;
	struct strata_memory memory;
	struct strata_arena arena; /* the order; given back once the job runs, but for `kept` */
	/* the directory, and the attempt's file: the only descriptor of it, since closing one
	 * unlocks it */
	int jobs, fd;
	const char *path;
	struct journal journal; /* as read last; its texts are gone */
	char name[RECORD_NAME_BYTES];
	int signals; /* signalfd */

	struct exec_order order; /* its texts: those of `kept` only, once the job runs */
	struct launch_user user;
	struct cgroup cgroup;
	struct launch launch;
	struct record_control done; /* what has been carried out */
	struct exec_status status;
	bool running; /* its first process */

	/* moments of the monotonic clock */
	int64_t start_ns, frozen_since_ns; /* 0: not frozen */
	int64_t warn_at_ns, limit_at_ns, kill_at_ns;
	int64_t look_at_ns, look_soon_until_ns;
	int64_t sample_at_ns;      /* its memory is looked at next */
	int64_t memory_seen_bytes; /* the most that was seen */
	int64_t memory_now_bytes;  /* the same since the last point of the samples */

	struct samples samples;
	struct inventory_meter *meter; /* of its GPUs; NULL: nothing tells. Owned */
	int64_t measure_at_ns, samples_write_at_ns;
	bool samples_troubled; /* said once */

	struct saved saved;
	int64_t checkpoint_count;
	char checkpoint[PATH_MAX + SAVED_NAME_BYTES];
};

int64_t supervisor_now_ns(const struct supervisor *sup); /* of the clock that does not jump */

/* Lines of the service's log about this attempt. */
#define supervisor_log(sup, level, ...)                                    \
	log_say_line(level,                                                \
		     (struct log_line){ .component = "supervisor",         \
					.job = (sup)->order.job,           \
					.attempt = (sup)->order.attempt }, \
		     __VA_ARGS__)
#define supervisor_warn(sup, ...) supervisor_log(sup, LOG_LEVEL_WARNING, __VA_ARGS__)
#define supervisor_info(sup, ...) supervisor_log(sup, LOG_LEVEL_INFO, __VA_ARGS__)

void supervisor_kill_all(const struct supervisor *sup);
void supervisor_set_frozen(struct supervisor *sup, bool frozen);
/* SIGTERM now, SIGKILL after the grace. The first reason counts; a second request may shorten the
 * grace and no more. */
void supervisor_stop(struct supervisor *sup, enum exec_how how, int64_t grace_ns);
/* To whom it is meant for; `all` says who all are. */
void supervisor_send(const struct supervisor *sup, int number, enum exec_to to,
		     enum processes_which all);
/* Asks for a checkpoint those processes that listen: the signal's default action would end the
 * others. */
void supervisor_ask_checkpoint(struct supervisor *sup);
/* Counted from the start. */
void supervisor_set_limit(struct supervisor *sup, int64_t limit_ns);
/* Looks at its memory, where the kernel does not keep its limit; ends it when it has more than it
 * asked for. */
void supervisor_look_at_memory(struct supervisor *sup);
/* Looking at what it uses, from its start on; supervisor_samples.c. */
void supervisor_samples_begin(struct supervisor *sup);
void supervisor_measure(struct supervisor *sup);
/* For the last word, on the arena; NULL: there is nothing to tell. `lost`: what an earlier
 * supervisor has left. */
const char *supervisor_samples_end(struct supervisor *sup, struct strata_arena *arena);
const char *supervisor_samples_lost(struct supervisor *sup, struct strata_arena *arena);
/* Reports a checkpoint, if there is a new one. */
void supervisor_look_for_checkpoint(struct supervisor *sup);

/* The last word. It must get to disk, however long that takes: until then the attempt counts as
 * running. */
void supervisor_end(struct supervisor *sup);
/* The same for an attempt of which nothing ran. */
int supervisor_end_unstarted(struct supervisor *sup, enum exec_how how, int code, const char *why);

#endif
