/* What a supervisor does to its job: stop, freeze, ask, and write down how it ended.
 * supervisor_actions.h has the list. */
#include "exec/supervisor_actions.h"

#include "exec/resident.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_SOON_FOR_NS STRATA_MINUTE_NS
#define RETRY_FIRST_NS (100 * STRATA_MS_NS)
#define RETRY_LAST_NS (10 * STRATA_SECOND_NS)
#define FORGET_NS (50 * STRATA_MS_NS)

int64_t supervisor_now_ns(const struct supervisor *sup)
{
	return env_now_ns(sup->env, ENV_MONOTONIC);
}

/* ---- the end ---- */

static void fill_usage(struct supervisor *sup)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	sup->status.user_ns = (int64_t)usage.ru_utime.tv_sec * STRATA_SECOND_NS +
			      (int64_t)usage.ru_utime.tv_usec * 1000;
	sup->status.system_ns = (int64_t)usage.ru_stime.tv_sec * STRATA_SECOND_NS +
				(int64_t)usage.ru_stime.tv_usec * 1000;
	int64_t peak = cgroup_memory_peak(&sup->cgroup);

	if (!peak) {
		peak = (int64_t)usage.ru_maxrss * 1024; /* of its largest process */
		peak = sup->memory_seen_bytes > peak ? sup->memory_seen_bytes : peak;
	}
	sup->status.memory_peak_bytes = peak;
}

/* The last word must be written down, however long that takes: until then the attempt counts as
 * running. */
static void write_status(struct supervisor *sup)
{
	struct strata_error err;
	int64_t wait_ns = RETRY_FIRST_NS;
	bool said = false;

	sup->status.job = sup->order.job;
	sup->status.attempt = sup->order.attempt;
	sup->status.epoch = sup->order.epoch;
	sup->status.ended_ns = env_now_ns(sup->env, ENV_REALTIME);
	launch_tidy(sup->jobs, sup->name);
	if (sup->order.checkpoint_dir && sup->order.checkpoint_place)
		rmdir(sup->order.checkpoint_dir); /* if there is nothing in it */
	while (journal_add(sup->env, sup->fd, JOURNAL_ENDED, &record_status_schema, &sup->status,
			   false, &sup->memory, &err) < 0) {
		if (!said || wait_ns == RETRY_LAST_NS)
			supervisor_warn(
				sup,
				"it has ended, but that cannot be written down: %s; trying again",
				err.text);
		said = true;
		struct timespec pause = { wait_ns / STRATA_SECOND_NS, wait_ns % STRATA_SECOND_NS };

		nanosleep(&pause, NULL);
		wait_ns = wait_ns * 2 < RETRY_LAST_NS ? wait_ns * 2 : RETRY_LAST_NS;
	}
	if (said)
		supervisor_info(sup, "its end is written down now");
	cgroup_close(&sup->cgroup);
	cgroup_remove(sup->order.cgroup, sup->name);
}

/* A service that is there takes the end into its store and forgets the attempt at once; what is
 * forgotten needs no disk. */
static void make_durable(struct supervisor *sup)
{
	struct timespec pause = { .tv_nsec = FORGET_NS };
	struct stat info;

	nanosleep(&pause, NULL);
	if (fstat(sup->fd, &info) == 0 && info.st_nlink == 0)
		return;
	if (sup->env->sync(sup->env->context, sup->fd, false) < 0 ||
	    sup->env->sync(sup->env->context, sup->jobs, false) < 0)
		supervisor_warn(sup, "its end may not outlast a power failure yet");
}

void supervisor_end(struct supervisor *sup)
{
	fill_usage(sup);
	sup->status.samples = supervisor_samples_end(sup, &sup->arena);
	write_status(sup);
	make_durable(sup);
}

int supervisor_end_unstarted(struct supervisor *sup, enum exec_how how, int code, const char *why)
{
	sup->status.how = how;
	sup->status.error_code = -code;
	sup->status.error = why;
	write_status(sup);
	make_durable(sup);
	return 0;
}

/* ---- what is done to the job ---- */

/* Whoever is born while we go through the list is found the next time; a parent that is killed
 * first bears no more. */
void supervisor_kill_all(const struct supervisor *sup)
{
	if (cgroup_kill(&sup->cgroup) < 0)
		processes_signal(SIGKILL, PROCESSES_ALL);
}

void supervisor_set_frozen(struct supervisor *sup, bool frozen)
{
	if (frozen == (sup->frozen_since_ns != 0))
		return;
	if (cgroup_freeze(&sup->cgroup, frozen) < 0) {
		/* a child born of a process that was not yet stopped: look again until all are */
		for (int before = -1, count; frozen && before < 64; before = count) {
			count = processes_signal(SIGSTOP, PROCESSES_ALL);
			if (count <= before)
				break;
		}
		if (!frozen)
			processes_signal(SIGCONT, PROCESSES_ALL);
	}
	if (frozen) {
		sup->frozen_since_ns = supervisor_now_ns(sup);
		return;
	}
	int64_t lost_ns = supervisor_now_ns(sup) - sup->frozen_since_ns;

	sup->frozen_since_ns = 0;
	sup->status.frozen_ns += lost_ns;
	sup->warn_at_ns += sup->warn_at_ns == SUPERVISOR_NEVER ? 0 : lost_ns;
	sup->limit_at_ns += sup->limit_at_ns == SUPERVISOR_NEVER ? 0 : lost_ns;
}

/* The last line of its output, where its owner looks first; in the words and time of day that
 * people know from Slurm. */
static void leave_message(const struct supervisor *sup, enum exec_how how)
{
	static const char *const whys[EXEC_HOW_COUNT] = {
		[EXEC_TIME_LIMIT] = " DUE TO TIME LIMIT", [EXEC_PREEMPTED] = " DUE TO PREEMPTION",
		[EXEC_REQUEUED] = " DUE TO JOB REQUEUE",  [EXEC_SHUT_DOWN] = " DUE TO SHUTDOWN",
		[EXEC_MEMORY] = " DUE TO MEMORY LIMIT",
	};
	time_t now = (time_t)(env_now_ns(sup->env, ENV_REALTIME) / STRATA_SECOND_NS);
	char text[32] = "";
	struct tm local;

	if (sup->launch.message_fd < 0)
		return;
	if (localtime_r(&now, &local))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &local);
	dprintf(sup->launch.message_fd,
		"slurmstepd: error: *** JOB %" PRId64 "%s%s CANCELLED AT %s%s ***\n",
		sup->order.job, sup->order.node ? " ON " : "",
		sup->order.node ? sup->order.node : "", text, whys[how] ? whys[how] : "");
}

/* The first reason counts; a second request may shorten the grace and no more. */
void supervisor_stop(struct supervisor *sup, enum exec_how how, int64_t grace_ns)
{
	int64_t kill_at_ns = supervisor_now_ns(sup) + grace_ns;

	if (sup->kill_at_ns == SUPERVISOR_NEVER) {
		sup->status.how = (int)how;
		leave_message(sup, how);
		supervisor_set_frozen(sup, false);
		processes_signal(SIGTERM, PROCESSES_ALL);
		processes_signal(
			SIGCONT,
			PROCESSES_ALL); /* one that the job itself stopped could not hear it */
	}
	if (kill_at_ns < sup->kill_at_ns)
		sup->kill_at_ns = kill_at_ns;
	sup->warn_at_ns = sup->limit_at_ns = SUPERVISOR_NEVER;
}

void supervisor_send(const struct supervisor *sup, int number, enum exec_to to,
		     enum processes_which all)
{
	if (to == EXEC_TO_BATCH)
		env_signal(sup->env, &sup->launch.process, number, false, NULL);
	else
		processes_signal(number, to == EXEC_TO_STEPS ? PROCESSES_STEPS : all);
}

/* Asks for a checkpoint those that listen: the signal's default action would end the others. */
void supervisor_ask_checkpoint(struct supervisor *sup)
{
	if (sup->order.checkpoint_signal &&
	    processes_signal((int)sup->order.checkpoint_signal, PROCESSES_CATCHERS) == 0)
		supervisor_warn(sup,
				"no process of it catches signal %" PRId64
				", so none was asked for a checkpoint",
				sup->order.checkpoint_signal);
	sup->look_soon_until_ns = supervisor_now_ns(sup) + LOOK_SOON_FOR_NS;
	sup->look_at_ns = supervisor_now_ns(sup) + SUPERVISOR_LOOK_SOON_NS;
}

void supervisor_look_at_memory(struct supervisor *sup)
{
	int64_t most = sup->order.memory_bytes, bytes = resident_bytes(&sup->cgroup, most);

	if (bytes > sup->memory_seen_bytes)
		sup->memory_seen_bytes = bytes;
	if (bytes > sup->memory_now_bytes)
		sup->memory_now_bytes = bytes;
	if (!most || bytes <= most || sup->kill_at_ns != SUPERVISOR_NEVER)
		return;
	supervisor_warn(sup, "it has %" PRId64 " bytes of memory and asked for %" PRId64, bytes,
			most);
	supervisor_stop(sup, EXEC_MEMORY, 0);
}

void supervisor_set_limit(struct supervisor *sup, int64_t limit_ns)
{
	int64_t start_ns = sup->start_ns + sup->status.frozen_ns;

	sup->limit_at_ns = limit_ns > STRATA_DURATION_NS_MAX ? SUPERVISOR_NEVER
							     : start_ns + limit_ns;
	sup->warn_at_ns = SUPERVISOR_NEVER;
	if (sup->limit_at_ns != SUPERVISOR_NEVER && sup->order.warn_signal)
		sup->warn_at_ns = sup->limit_at_ns - sup->order.warn_ns;
}

/* ---- checkpoints ---- */

void supervisor_look_for_checkpoint(struct supervisor *sup)
{
	struct strata_error err;

	if (!sup->order.checkpoint_dir ||
	    !saved_look(&sup->user, sup->order.checkpoint_dir, &sup->saved))
		return;
	snprintf(sup->checkpoint, sizeof(sup->checkpoint), "%s/%s", sup->order.checkpoint_dir,
		 sup->saved.name);
	sup->status.checkpoint = sup->checkpoint;
	sup->status.checkpoint_bytes = sup->saved.size_bytes;
	struct record_checkpoint record = { .count = ++sup->checkpoint_count,
					    .attempt = sup->order.attempt,
					    .written_ns = sup->saved.written_ns,
					    .path = sup->checkpoint,
					    .step = -1,
					    .size_bytes = sup->saved.size_bytes };

	if (saved_record(sup->env, &sup->user, &sup->order, &record, &sup->memory, &err) < 0)
		supervisor_warn(sup, "its checkpoint cannot be recorded: %s", err.text);
	if (journal_add(sup->env, sup->fd, JOURNAL_CHECKPOINT, &record_checkpoint_schema, &record,
			true, &sup->memory, &err) < 0)
		supervisor_warn(sup, "its checkpoint cannot be reported: %s", err.text);
}
