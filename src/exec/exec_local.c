/*
 * Running jobs on this machine. Starting one means writing its order to disk and then starting a
 * supervisor on it; all else is the supervisor's, which outlives us. Asking something of one means
 * writing the control request to disk and waking its supervisor. local_watch.c sees what becomes of
 * them.
 */
#include "core/env_trust.h"
#include "exec/cgroup.h"
#include "exec/launch.h"
#include "exec/leader.h"
#include "exec/exec_local.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct conf {
	const char *cgroup;
};

static const struct strata_option options[] = {
	{ "cgroup", STRATA_TEXT, offsetof(struct conf, cgroup), .text = { "auto" }, .value = "DIR",
	  .help = "directory for control groups of jobs; auto: below the service's own, none: do "
		  "without" },
	{ 0 }
};

static int local_fd(const struct exec *exec)
{
	return ((const struct local *)exec)->epoll;
}

static void local_describe_limits(const struct exec *exec, char *text, size_t room)
{
	struct cgroup_support support = cgroup_support(((const struct local *)exec)->cgroup);

	cgroup_support_print(&support, text, room);
}

/* ---- orders ---- */

static int check_order(const struct exec_order *order, struct strata_error *err)
{
	if (order->job < 1 || order->attempt < 1 || order->attempt > UINT32_MAX)
		return strata_fail(err, -EINVAL,
				   "job %" PRId64 ", attempt %" PRId64 "; expected numbers from 1",
				   order->job, order->attempt);
	if (!order->program == !order->script)
		return strata_fail(err, -EINVAL,
				   "an order needs a program or a script, and not both");
	if (order->program && !*order->program)
		return strata_fail(err, -EINVAL, "the program has no name");
	if (!order->directory || order->directory[0] != '/')
		return strata_fail(err, -EINVAL,
				   "the directory is %.100s; expected an absolute path",
				   order->directory ? order->directory : "missing");
	if (order->time_limit_ns < 1)
		return strata_fail(err, -EINVAL,
				   "the time limit is %" PRId64 " ns; expected at least 1",
				   order->time_limit_ns);
	if (geteuid() != 0 && (uid_t)order->uid != geteuid())
		return strata_fail(err, -EPERM,
				   "the service does not run as root, so it runs jobs of user %u "
				   "only, not of %" PRId64,
				   geteuid(), order->uid);
	return 0;
}

/* One that was suspended while another took over has no say any more. */
static int check_leader(struct local *local, struct strata_error *err)
{
	return leader_check(local->env, local->jobs, LEADER_FROM_JOBS, local->epoch, local->memory,
			    err);
}

int local_order(struct local *local, const struct exec_order *order, struct attempt **ret_attempt,
		struct strata_error *err)
{
	struct exec_order own = *order;
	struct attempt *attempt;
	int rc = check_order(order, err);

	if (rc == 0)
		rc = check_leader(local, err);
	if (rc)
		return rc;
	struct exec_key key = { (uint64_t)order->job, (uint32_t)order->attempt };

	own.epoch = local->epoch;
	own.cgroup = local->cgroup;
	if (local_find(local, key))
		return strata_fail(err, -EEXIST,
				   "attempt %" PRId64 ".%" PRId64 " was ordered before", order->job,
				   order->attempt);
	rc = local_take(local, key, &attempt, err);
	if (rc)
		return rc;
	rc = journal_create(local->env, local->jobs, attempt->name, &own, local->memory, err);
	if (rc) {
		local_drop(local, attempt);
		return rc;
	}
	*ret_attempt = attempt;
	return 0;
}

static int local_start(struct exec *exec, const struct exec_order *order, struct strata_error *err)
{
	struct local *local = (struct local *)exec;
	struct attempt *attempt;
	int rc = local_order(local, order, &attempt, err);

	if (rc == 0 && local_start_supervisor(local, attempt, NULL))
		local_mark(local, attempt); /* it counts: what went wrong comes as an event */
	return rc;
}

static int local_adopt(struct exec *exec, struct exec_key key, struct strata_error *err)
{
	struct local *local = (struct local *)exec;
	struct attempt *attempt = local_find(local, key);
	char name[RECORD_NAME_BYTES];

	if (attempt) { /* after trouble */
		attempt->tries = 0;
		attempt->troubled = false;
		local_mark(local, attempt);
		return 0;
	}
	struct journal journal = { 0 };
	int rc = local_read(local, record_name(key, name), &journal, err);

	if (rc == 0)
		rc = local_take(local, key, &attempt, err);
	if (rc == 0)
		local_mark(local, attempt);
	return rc;
}

/* ---- control ---- */

static int add_control(struct record_control *record, const struct exec_control *control,
		       struct strata_error *err)
{
	switch (control->type) {
	case EXEC_STOP:
		if (control->how != EXEC_CANCELLED && control->how != EXEC_PREEMPTED &&
		    control->how != EXEC_REQUEUED)
			return strata_fail(err, -EINVAL, "a job cannot be stopped as \"%s\"",
					   exec_how_name(control->how));
		record->stop = 1 + (int64_t)control->how;
		record->grace_ns = control->grace_ns;
		break;
	case EXEC_FREEZE:
	case EXEC_THAW:
		record->frozen = control->type == EXEC_FREEZE;
		break;
	case EXEC_CHECKPOINT:
		record->checkpoints++;
		break;
	case EXEC_SIGNAL:
		if (control->signal < 1 || control->signal >= _NSIG)
			return strata_fail(err, -EINVAL, "signal %d; expected 1 to %d",
					   control->signal, _NSIG - 1);
		record->signals++;
		record->signal = control->signal;
		record->signal_to = (int64_t)control->to;
		break;
	case EXEC_LIMIT:
		if (control->limit_ns < 1)
			return strata_fail(err, -EINVAL,
					   "a time limit of %" PRId64 " ns; expected at least 1",
					   control->limit_ns);
		record->limit_ns = control->limit_ns;
		break;
	}
	return 0;
}

/* Tells the supervisor, if there is one by now; one that comes later reads the file anyway. */
static int wake_supervisor(struct local *local, int fd, struct strata_error *err)
{
	struct env_process holder;
	int rc = local_find_supervisor(fd, &holder, err);

	if (rc || !holder.pid)
		return rc;
	env_signal(local->env, &holder, SIGHUP, false, NULL);
	env_process_close(local->env, &holder);
	return 0;
}

static int local_control(struct exec *exec, struct exec_key key, const struct exec_control *control,
			 struct strata_error *err)
{
	struct local *local = (struct local *)exec;
	char name[RECORD_NAME_BYTES];
	struct journal journal;
	int rc = check_leader(local, err);

	if (rc == 0)
		rc = local_read(local, record_name(key, name), &journal, err);
	if (rc || journal.ended)
		return rc;
	rc = add_control(&journal.control, control, err);
	if (rc)
		return rc;
	int fd = journal_open(local->env, local->jobs, name, err);

	if (fd < 0)
		return fd;
	rc = journal_add(local->env, fd, JOURNAL_CONTROL, &record_control_schema, &journal.control,
			 true, local->memory, err);
	if (rc == 0)
		rc = wake_supervisor(local, fd, err);
	close(fd);
	return rc;
}

/* ---- finding and forgetting ---- */

/* One that was ordered and never claimed: under the lock, so that no supervisor begins
 * meanwhile. */
static int remove_unclaimed(struct local *local, const char *name, struct strata_error *err)
{
	struct journal journal = { 0 };
	struct strata_arena arena;
	int fd = journal_open(local->env, local->jobs, name, err);

	if (fd < 0)
		return fd;
	strata_arena_init(&arena, local->memory, 0);
	int rc = journal_lock(fd, err);

	if (rc == 0)
		rc = journal_read(fd, &arena, &journal, err);
	if (rc == 0 && journal.claimed && !journal.ended)
		rc = strata_fail(err, -EBUSY, "attempt %s has not ended", name);
	if (rc == 0)
		rc = local_remove(local, name, err);
	strata_arena_fini(&arena);
	close(fd);
	return rc;
}

static int local_forget(struct exec *exec, struct exec_key key, struct strata_error *err)
{
	struct local *local = (struct local *)exec;
	struct attempt *attempt = local_find(local, key);
	char name[RECORD_NAME_BYTES];
	struct journal journal = { .ended = true };

	record_name(key, name);
	int rc = attempt && attempt->ended ? 0 : local_read(local, name, &journal, err);

	if (rc == 0 && journal.claimed && !journal.ended)
		rc = strata_fail(err, -EBUSY, "attempt %s has not ended", name);
	if (rc == 0)
		rc = journal.ended ? local_remove(local, name, err)
				   : remove_unclaimed(local, name, err);
	if (rc == 0 && attempt)
		local_drop(local, attempt);
	return rc;
}

/* ---- open and close ---- */

static int open_state(struct local *local, const char *state_dir, struct strata_error *err)
{
	char path[PATH_MAX];

	if (!realpath(state_dir, path) ||
	    snprintf(local->jobs_path, sizeof(local->jobs_path), "%s/jobs", path) >=
		    (int)sizeof(local->jobs_path) - 2 * RECORD_NAME_BYTES)
		return strata_fail(err, -errno, "cannot use the directory %.200s: %s", state_dir,
				   strerror(errno));
	int rc = env_trust_make_dir(local->env, local->jobs_path, 0711, ENV_TRUST_OWN_DIR,
				    "the directory of orders", err);
	int state = rc ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (rc)
		return rc;
	local->jobs = open(local->jobs_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state < 0 || local->jobs < 0 || fchmod(local->jobs, 0711) < 0)
		rc = strata_fail(err, -errno, "cannot open %.200s: %s", local->jobs_path,
				 strerror(errno));
	else
		rc = leader_take(local->env, state, local->epoch, local->memory, err);
	if (state >= 0)
		close(state);
	return rc;
}

void local_fini(struct local *local)
{
	const struct map_text_entry *entry;

	fork_server_close(&local->fork_server, local->env);
	while ((entry = map_text_next(&local->attempts, NULL)))
		local_drop(local, entry->value);
	local_free_dropped(local);
	cgroup_remove_base(local->cgroup);
	map_text_fini(&local->attempts);
	int fds[] = { local->jobs, local->epoll, local->inotify, local->wake };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	strata_arena_fini(&local->arena);
	strata_arena_fini(&local->event_arena);
}

static void local_close(struct exec *exec)
{
	struct local *local = (struct local *)exec;

	if (!exec)
		return;
	local_fini(local);
	strata_memory_put(local->memory, local, sizeof(*local));
}

int local_init(struct local *local, const struct exec_open *from, struct strata_error *err)
{
	local->env = from->env;
	local->memory = from->memory;
	local->epoch = from->epoch;
	local->jobs = local->epoll = local->inotify = local->wake = local->fork_server.socket = -1;
	strata_arena_init(&local->arena, from->memory, 0);
	strata_arena_init(&local->event_arena, from->memory, 0);
	map_text_init(&local->attempts, from->memory);
	local->supervisor =
		strata_arena_text(&local->arena, from->supervisor, strlen(from->supervisor));
	int rc = local->supervisor ? env_make_dir(from->env, AT_FDCWD, from->state_dir, 0711, err)
				   : strata_fail_memory(err);

	if (rc == 0)
		rc = open_state(local, from->state_dir, err);
	return rc ? rc : local_open_watches(local, err);
}

static int local_open(const void *conf, const struct exec_open *from, struct exec **ret_exec,
		      struct strata_error *err)
{
	const struct conf *own = conf;
	struct local *local = strata_memory_get(from->memory, sizeof(*local));

	if (!local)
		return strata_fail_memory(err);
	local->base.cls = &exec_local;
	local->supervised = true;
	int rc = local_init(local, from, err);

	if (rc == 0)
		rc = cgroup_find_base(own->cgroup, from->state_dir, &local->arena, &local->cgroup,
				      err);
	if (rc) {
		local_close(&local->base);
		return rc;
	}
	*ret_exec = &local->base;
	return 0;
}

const struct exec_class exec_local = {
	.keeps_descriptors = true,
	.base = { .name = "local",
		  .summary = "on this machine, each job under a small supervisor of its own",
		  .conf_size = sizeof(struct conf),
		  .options = options },
	.open = local_open,
	.close = local_close,
	.describe_limits = local_describe_limits,
	.fd = local_fd,
	.next = local_next,
	.start = local_start,
	.control = local_control,
	.scan = local_scan,
	.adopt = local_adopt,
	.forget = local_forget,
};
