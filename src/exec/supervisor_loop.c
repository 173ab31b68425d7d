/*
 * The supervisor; supervisor_loop.h says what it is. It sleeps in poll() on its signals: SIGCHLD
 * when a process of the job ends, SIGHUP when another control request was added to its file,
 * SIGTERM when it is to end. Control requests are read from there and compared with what is, so a
 * signal may be lost, doubled or sent by a daemon that has died since. Deadlines are of the clock
 * that does not jump.
 */
#include "exec/supervisor_loop.h"

#include "exec/leader.h"
#include "exec/processes.h"
#include "exec/supervisor_actions.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILL_AGAIN_NS (100 * STRATA_MS_NS)
#define SAMPLE_NS STRATA_SECOND_NS     /* between two looks at its memory */
#define LOOK_NS (5 * STRATA_SECOND_NS) /* for a checkpoint that was not asked for */

/* ---- control ---- */

static void obey(struct supervisor *sup)
{
	struct strata_arena arena;
	struct strata_error err;

	strata_arena_init(&arena, &sup->memory, 0);
	int rc = journal_read(sup->fd, &arena, &sup->journal, &err);

	strata_arena_fini(&arena);
	if (rc < 0) {
		supervisor_warn(sup, "its control requests cannot be read: %s", err.text);
		return;
	}
	struct record_control desired = sup->journal.control, done = sup->done;

	sup->done = desired;
	if (desired.limit_ns != done.limit_ns && sup->kill_at_ns == SUPERVISOR_NEVER)
		supervisor_set_limit(sup, desired.limit_ns ? desired.limit_ns
							   : sup->order.time_limit_ns);
	if (sup->kill_at_ns == SUPERVISOR_NEVER)
		supervisor_set_frozen(sup, desired.frozen);
	if (desired.checkpoints > done.checkpoints)
		supervisor_ask_checkpoint(sup);
	if (desired.signals > done.signals && desired.signal)
		supervisor_send(sup, (int)desired.signal, (enum exec_to)desired.signal_to,
				PROCESSES_ALL);
	if (desired.stop)
		supervisor_stop(sup, (enum exec_how)(desired.stop - 1), desired.grace_ns);
}

/* ---- the loop ---- */

/* Takes in the dead. True while any process is left. */
static bool reap(struct supervisor *sup)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid == 0)
			return true;
		if (pid < 0)
			return errno == EINTR;
		if (pid != sup->launch.process.pid)
			continue;
		sup->running = false;
		if (WIFEXITED(status))
			sup->status.exit_code = WEXITSTATUS(status);
		else
			sup->status.signal = WTERMSIG(status);
		sup->status.core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
	}
}

static int64_t earliest(const struct supervisor *sup)
{
	int64_t at = sup->kill_at_ns;

	if (!sup->frozen_since_ns) {
		at = sup->limit_at_ns < at ? sup->limit_at_ns : at;
		at = sup->warn_at_ns < at ? sup->warn_at_ns : at;
		at = sup->sample_at_ns < at ? sup->sample_at_ns : at;
		at = sup->measure_at_ns < at ? sup->measure_at_ns : at;
	}
	return sup->look_at_ns < at ? sup->look_at_ns : at;
}

static void wait_for_something(struct supervisor *sup, int64_t until_ns)
{
	struct pollfd waiting = { sup->signals, POLLIN, 0 };
	struct signalfd_siginfo info;
	int64_t left_ns = until_ns - supervisor_now_ns(sup);
	struct timespec timeout = { left_ns / STRATA_SECOND_NS, left_ns % STRATA_SECOND_NS };

	if (left_ns < 0)
		timeout = (struct timespec){ 0 };
	if (ppoll(&waiting, 1, until_ns == SUPERVISOR_NEVER ? NULL : &timeout, NULL) <= 0)
		return;
	while (read(sup->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (!sup->running)
			continue; /* it has ended by then: nothing more can be asked of it */
		if (info.ssi_signo == SIGHUP)
			obey(sup);
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			supervisor_stop(sup, EXEC_SHUT_DOWN, sup->order.grace_ns);
	}
}

static void keep_deadlines(struct supervisor *sup)
{
	int64_t now_ns = supervisor_now_ns(sup);

	if (now_ns >= sup->look_at_ns) {
		supervisor_look_for_checkpoint(sup);
		sup->look_at_ns = now_ns + (now_ns < sup->look_soon_until_ns
						    ? SUPERVISOR_LOOK_SOON_NS
						    : LOOK_NS);
	}
	if (!sup->frozen_since_ns && now_ns >= sup->sample_at_ns) {
		supervisor_look_at_memory(sup);
		sup->sample_at_ns = now_ns + SAMPLE_NS;
	}
	if (!sup->frozen_since_ns && now_ns >= sup->measure_at_ns)
		supervisor_measure(sup);
	if (!sup->frozen_since_ns && now_ns >= sup->warn_at_ns) {
		sup->warn_at_ns = SUPERVISOR_NEVER;
		supervisor_send(sup, (int)sup->order.warn_signal, (enum exec_to)sup->order.warn_to,
				PROCESSES_CATCHERS);
	}
	if (!sup->frozen_since_ns && now_ns >= sup->limit_at_ns)
		supervisor_stop(sup, EXEC_TIME_LIMIT, sup->order.grace_ns);
	if (now_ns >= sup->kill_at_ns) {
		supervisor_kill_all(sup);
		sup->kill_at_ns = now_ns + KILL_AGAIN_NS; /* until nobody is left */
	}
}

/* Until the first process has ended, and then until the last: what it leaves behind is killed. */
static void watch(struct supervisor *sup)
{
	while (reap(sup) && sup->running) {
		keep_deadlines(sup);
		wait_for_something(sup, earliest(sup));
	}
	int64_t ended_ns = supervisor_now_ns(sup);

	if (sup->frozen_since_ns) /* killed from outside */
		supervisor_set_frozen(sup, false);
	sup->status.ran_ns = ended_ns - sup->start_ns - sup->status.frozen_ns;
	while (reap(sup)) {
		supervisor_kill_all(sup);
		wait_for_something(sup, supervisor_now_ns(sup) + KILL_AGAIN_NS / 10);
	}
}

/* ---- the beginning ---- */

/* Takes the lock, and finds out whether there is anything to do. */
static int take_up(struct supervisor *sup, int64_t epoch, bool *ret_idle, struct strata_error *err)
{
	int rc = journal_lock(sup->fd, err); /* until the process ends */

	*ret_idle = rc == -EBUSY;
	if (rc)
		return *ret_idle ? 0 : rc;
	rc = journal_read(sup->fd, &sup->arena, &sup->journal, err);
	*ret_idle = rc == 0 && sup->journal.ended;
	if (rc || *ret_idle)
		return rc;
	rc = journal_read_order(sup->fd, &sup->arena, &sup->order, err);
	if (rc)
		return rc;
	*ret_idle = sup->journal.epoch != epoch;
	if (*ret_idle)
		supervisor_warn(sup,
				"the order is of epoch %" PRId64 ", not %" PRId64 "; left alone",
				sup->journal.epoch, epoch);
	if (sup->journal.cgroup)
		sup->order.cgroup = sup->journal.cgroup;
	sup->order.epoch = sup->journal.epoch;
	return 0;
}

/* Its supervisor died with the claim in its hands. Whether the job ran nobody can say, so it is
 * not started again; but what is left of it ends here. */
static int end_lost(struct supervisor *sup)
{
	cgroup_find(&sup->cgroup, sup->order.cgroup, sup->name);
	cgroup_kill(&sup->cgroup);
	for (int i = 0; i < 100 && processes_kill_orphans(sup->path) > 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10 * STRATA_MS_NS }, NULL);
	sup->status.started_ns = sup->journal.start.started_ns;
	sup->status.checkpoint = sup->journal.checkpoint.path;
	sup->status.checkpoint_bytes = sup->journal.checkpoint.size_bytes;
	sup->status.samples = supervisor_samples_lost(sup, &sup->arena);
	return supervisor_end_unstarted(sup, EXEC_LOST, 0,
					"its supervisor, or the machine, ended before it did");
}

/* Durable before anything is started, and all that was written before with it; so is the name of
 * the file. */
static int claim(struct supervisor *sup, struct strata_error *err)
{
	const struct record_claim mine = { getpid(), sup->order.epoch,
					   env_now_ns(sup->env, ENV_REALTIME) };
	int rc = journal_add(sup->env, sup->fd, JOURNAL_CLAIMED, &record_claim_schema, &mine, true,
			     &sup->memory, err);
	int code = rc ? 0 : sup->env->sync(sup->env->context, sup->jobs, false);

	return code && code != -EINVAL /* a file system that needs none */
		       ? strata_fail(err, code, "cannot make the claim durable: %s",
				     strerror(-code))
		       : rc;
}

/* The few texts of the order that are needed while the job runs; all else, mostly environment, is
 * given back. */
static int keep_little(struct supervisor *sup)
{
	struct strata_arena small;
	const char **texts[] = { &sup->order.checkpoint_dir, &sup->order.node, &sup->order.cgroup };

	strata_arena_init(&small, &sup->memory, 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!*texts[i])
			continue;
		*texts[i] = strata_arena_text(&small, *texts[i], strlen(*texts[i]));
		if (!*texts[i])
			return -ENOMEM;
	}
	strata_arena_fini(&sup->arena);
	sup->arena = small;
	sup->order.user = sup->order.directory = sup->order.program = NULL;
	sup->order.input = sup->order.output = sup->order.error_output = NULL;
	sup->order.script = sup->order.token = NULL;
	sup->order.arguments = (struct strata_list){ 0 };
	sup->order.environment = NULL;
	return 0;
}

static int start(struct supervisor *sup, struct strata_error *err)
{
	const struct cgroup_limits limits = { sup->order.cpu_milli, sup->order.memory_bytes,
					      sup->order.process_count };
	struct strata_error why;

	if (sup->order.cgroup && cgroup_enter_supervisors(sup->order.cgroup, &why) < 0) {
		supervisor_warn(sup, "runs without control group: %s", why.text);
		sup->order.cgroup = NULL; /* we could not get out of the job's again */
	}
	if (cgroup_make(&sup->cgroup, sup->order.cgroup, sup->name, &limits, &why) < 0)
		supervisor_warn(sup, "runs without control group: %s", why.text);
	const struct launch_conf conf = { .env = sup->env,
					  .jobs = sup->jobs,
					  .path = sup->path,
					  .order = &sup->order,
					  .user = &sup->user,
					  .cgroup = &sup->cgroup };
	int rc = launch_user_init(&sup->user, &sup->order, err);

	return rc ? rc : launch_start(&conf, &sup->launch, err);
}

static void run(struct supervisor *sup)
{
	struct strata_error err;

	sup->running = true;
	sup->start_ns = supervisor_now_ns(sup);
	sup->status.how = EXEC_EXITED;
	sup->status.started_ns = env_now_ns(sup->env, ENV_REALTIME);
	sup->kill_at_ns = SUPERVISOR_NEVER;
	sup->sample_at_ns = sup->cgroup.memory_kept ? SUPERVISOR_NEVER : sup->start_ns + SAMPLE_NS;
	sup->look_at_ns = sup->order.checkpoint_dir ? sup->start_ns + SUPERVISOR_LOOK_SOON_NS
						    : SUPERVISOR_NEVER;
	supervisor_samples_begin(sup);
	supervisor_set_limit(sup, sup->order.time_limit_ns);
	const struct record_start record = { sup->launch.process.pid, sup->status.started_ns };

	if (journal_add(sup->env, sup->fd, JOURNAL_STARTED, &record_start_schema, &record, false,
			&sup->memory, &err) < 0)
		supervisor_warn(sup, "its start cannot be reported: %s", err.text);
	if (keep_little(sup) < 0)
		supervisor_warn(sup, "no memory to give memory back");
	obey(sup);
	watch(sup);
	supervisor_look_for_checkpoint(sup);
	if (sup->status.how == EXEC_EXITED && cgroup_ran_out_of_memory(&sup->cgroup))
		sup->status.how = EXEC_MEMORY;
	supervisor_end(sup);
	env_process_close(sup->env, &sup->launch.process);
}

static int attend(struct supervisor *sup, int64_t epoch, struct strata_error *err)
{
	bool idle = false;
	int rc = take_up(sup, epoch, &idle, err);

	if (rc || idle)
		return rc;
	if (sup->journal.claimed)
		return end_lost(sup);
	/* Whoever leads later looks at what there is after it has written so: it has seen this
	 * order, or it is not run. */
	rc = leader_check(sup->env, sup->jobs, LEADER_FROM_JOBS, sup->order.epoch, &sup->memory,
			  err);
	if (rc == 0)
		rc = claim(sup, err);
	if (rc == 0) /* once more: from here on a control request comes with a signal */
		rc = journal_read(sup->fd, &sup->arena, &sup->journal, err);
	if (rc)
		return rc;
	if (sup->journal.control.stop)
		return supervisor_end_unstarted(sup, (enum exec_how)(sup->journal.control.stop - 1),
						0, NULL);
	rc = start(sup, err);
	if (rc)
		return supervisor_end_unstarted(sup, EXEC_NOT_STARTED, rc, err->text);
	run(sup);
	return 0;
}

/* Blocked from the start, so that none is missed between two looks. */
static int take_signals(struct supervisor *sup, struct strata_error *err)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	sup->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sup->signals < 0)
		return strata_fail(err, -errno, "no signalfd: %s", strerror(errno));
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return strata_fail(err, -errno, "cannot be a subreaper: %s", strerror(errno));
	return 0;
}

static int open_files(struct supervisor *sup, struct strata_error *err)
{
	const char *slash = strrchr(sup->path, '/');
	char directory[PATH_MAX];

	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - sup->path) : 1,
		 slash ? sup->path : ".");
	snprintf(sup->name, sizeof(sup->name), "%s", slash ? slash + 1 : sup->path);
	sup->jobs = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sup->jobs < 0)
		return strata_fail(err, -errno, "cannot open %.200s: %s", directory,
				   strerror(errno));
	sup->fd = journal_open(sup->env, sup->jobs, sup->name, err);
	return sup->fd < 0 ? sup->fd : 0;
}

int supervise(const struct env *env, const char *path, int64_t epoch, struct strata_error *err)
{
	struct strata_error own = { 0 };
	struct supervisor sup = { .env = env,
				  .path = path,
				  .jobs = -1,
				  .fd = -1,
				  .signals = -1,
				  .cgroup = { .dir = -1 },
				  .launch = { .message_fd = -1 } };

	err = err ? err : &own;
	umask(0077);
	strata_arena_init(&sup.arena, &sup.memory, 0);
	int rc = open_files(&sup, err);

	if (rc == 0)
		rc = take_signals(&sup, err);
	if (rc == 0)
		rc = attend(&sup, epoch, err);
	launch_user_fini(&sup.user);
	strata_arena_fini(&sup.arena);
	const int fds[] = { sup.launch.message_fd, sup.signals, sup.fd, sup.jobs };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return rc;
}
