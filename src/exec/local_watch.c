/*
 * Looking after what runs. A pidfd says that a supervisor has ended, inotify that it wrote something; what happened is read
 * from the attempt's directory. So an event is never lost with the daemon that would have had it: the next one looks at
 * the same directory.
 *
 * One rule recovers from everything: an attempt without a status whose lock nobody holds gets a supervisor. The
 * supervisor, under the lock, finds out whether it is to start the job or to say that it was lost.
 */
#include "exec/local.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES_MAX = 3, EVENTS_AT_ONCE = 64 };

/* ---- attempts ---- */

void local_mark(struct local *local, struct attempt *attempt)
{
	if (attempt->dirty)
		return;
	attempt->dirty = true;
	attempt->next_dirty = NULL;
	if (local->last_dirty)
		local->last_dirty->next_dirty = attempt;
	else
		local->first_dirty = attempt;
	local->last_dirty = attempt;
	eventfd_write(local->wake, 1);
}

static void unmark_first(struct local *local)
{
	struct attempt *attempt = local->first_dirty;

	attempt->dirty = false;
	local->first_dirty = attempt->next_dirty;
	if (!local->first_dirty)
		local->last_dirty = NULL;
}

static void unmark(struct local *local, struct attempt *attempt)
{
	struct attempt *before = NULL;

	for (struct attempt *at = local->first_dirty; at && at != attempt; at = at->next_dirty)
		before = at;
	if (!attempt->dirty)
		return;
	if (before)
		before->next_dirty = attempt->next_dirty;
	else
		local->first_dirty = attempt->next_dirty;
	if (local->last_dirty == attempt)
		local->last_dirty = before;
	attempt->dirty = false;
}

struct attempt *local_find(struct local *local, struct exec_key key)
{
	char name[RECORD_NAME_BYTES];

	record_name(key, name);
	return map_text_get(&local->attempts, name, strlen(name));
}

int local_open_dir(struct local *local, const char *name, struct strata_error *err)
{
	int dir = openat(local->jobs, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0 && errno == ENOENT)
		return strata_fail(err, -ENOENT, "there is no attempt %s", name);
	return dir < 0 ? strata_fail(err, -errno, "cannot open %s/%s: %s", local->jobs_path, name,
				     strerror(errno))
		       : dir;
}

static void let_supervisor_go(struct local *local, struct attempt *attempt)
{
	struct env_exit ended;

	if (attempt->child && attempt->gone)
		env_wait(local->env, &attempt->supervisor, false, &ended, NULL);
	env_process_close(local->env, &attempt->supervisor); /* leaves epoll with it */
	attempt->supervisor = (struct env_process){ 0, -1 };
	attempt->child = attempt->gone = false;
}

static void free_attempt(struct local *local, struct attempt *attempt)
{
	if (attempt->dropped) {
		*attempt->dropped_link = attempt->next_dropped;
		if (attempt->next_dropped)
			attempt->next_dropped->dropped_link = attempt->dropped_link;
	}
	let_supervisor_go(local, attempt);
	strata_memory_put(local->memory, attempt, sizeof(*attempt));
}

void local_drop(struct local *local, struct attempt *attempt)
{
	unmark(local, attempt);
	if (attempt->watch >= 0) {
		inotify_rm_watch(local->inotify, attempt->watch);
		map_u64_remove(&local->watches, (uint64_t)attempt->watch);
	}
	map_text_remove(&local->attempts, attempt->name, strlen(attempt->name));
	if (!attempt->child || attempt->gone) {
		free_attempt(local, attempt);
		return;
	}
	attempt->dropped = true; /* a supervisor lives a little longer than its job */
	attempt->next_dropped = local->dropped;
	attempt->dropped_link = &local->dropped;
	if (local->dropped)
		local->dropped->dropped_link = &attempt->next_dropped;
	local->dropped = attempt;
}

void local_free_dropped(struct local *local)
{
	while (local->dropped)
		free_attempt(local, local->dropped);
}

/* Begins to watch. Without a watch of inotify (they are limited) the end is still seen, by the supervisor's. */
int local_take(struct local *local, struct exec_key key, struct attempt **ret_attempt,
	       struct strata_error *err)
{
	struct attempt *attempt = strata_memory_get(local->memory, sizeof(*attempt));
	char path[PATH_MAX + RECORD_NAME_BYTES];

	if (!attempt)
		return strata_fail_memory(err);
	*attempt = (struct attempt){ .key = key, .supervisor = { 0, -1 }, .watch = -1 };
	record_name(key, attempt->name);
	if (map_text_put(&local->attempts, attempt->name, strlen(attempt->name), attempt, NULL)) {
		strata_memory_put(local->memory, attempt, sizeof(*attempt));
		return strata_fail_memory(err);
	}
	snprintf(path, sizeof(path), "%s/%s", local->jobs_path, attempt->name);
	attempt->watch = inotify_add_watch(local->inotify, path, IN_MOVED_TO | IN_ONLYDIR);
	if (attempt->watch >= 0 &&
	    map_u64_put(&local->watches, (uint64_t)attempt->watch, attempt, NULL)) {
		local_drop(local, attempt);
		return strata_fail_memory(err);
	}
	*ret_attempt = attempt;
	return 0;
}

/* ---- supervisors ---- */

static void watch_supervisor(struct local *local, struct attempt *attempt)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = attempt };

	if (attempt->supervisor.pidfd < 0 ||
	    epoll_ctl(local->epoll, EPOLL_CTL_ADD, attempt->supervisor.pidfd, &event) < 0)
		attempt->gone = true; /* without a pidfd: asked for again at every look */
}

/* An order that nobody claimed becomes ours, so that a supervisor of an earlier leader leaves it alone. */
static int renew(struct local *local, int dir, int64_t *ret_epoch, struct strata_error *err)
{
	struct strata_arena arena;
	struct exec_order order = { 0 };

	strata_arena_init(&arena, local->memory, 0);
	int rc = record_read(local->env, dir, RECORD_ORDER, &record_order_schema, &arena, &order,
			     err);

	if (rc == 0 && order.epoch > local->epoch)
		rc = strata_fail(err, -ESTALE, "a leader of epoch %" PRId64 " has the order",
				 order.epoch);
	if (rc == 0 && order.epoch != local->epoch && !record_exists(dir, RECORD_CLAIMED)) {
		order.epoch = local->epoch;
		order.cgroup = local->cgroup;
		rc = record_write(local->env, dir, RECORD_ORDER, &record_order_schema, &order,
				  local->memory, err);
	}
	if (rc == 0)
		*ret_epoch = order.epoch;
	strata_arena_fini(&arena);
	return rc;
}

/* A session of its own and nothing of our environment: it outlives us, and a job's variables never reach it. */
static int start_supervisor(struct local *local, struct attempt *attempt, int dir,
			    struct strata_error *err)
{
	char path[PATH_MAX + RECORD_NAME_BYTES], epoch_text[24];
	int64_t epoch;
	int rc = renew(local, dir, &epoch, err);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/%s", local->jobs_path, attempt->name);
	snprintf(epoch_text, sizeof(epoch_text), "%" PRId64, epoch);
	const struct env_command command = {
		.program = local->supervisor,
		.argv = (const char *const[]){ "strata", "supervise", path, epoch_text, NULL },
		.envp = (const char *const[]){ "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL },
		.cwd = "/",
		.fds = { -1, -1, STDERR_FILENO },
		.new_session = true,
	};

	rc = env_spawn(local->env, &command, &attempt->supervisor, err);
	if (rc)
		return rc;
	attempt->child = true;
	watch_supervisor(local, attempt);
	return 0;
}

/* Finds the supervisor that holds the lock. The number could be another process's by the time it is opened, so the lock is
 * looked at again: whoever holds it has held it all the time. */
int local_find_supervisor(int dir, struct env_process *ret_process, struct strata_error *err)
{
	pid_t pid, again;
	int rc = record_lock_holder(dir, &pid, err);

	if (rc)
		return rc;
	*ret_process = (struct env_process){ 0, -1 };
	if (!pid)
		return 0;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	rc = record_lock_holder(dir, &again, err);
	if (rc || again != pid) {
		if (pidfd >= 0)
			close(pidfd);
		return rc;
	}
	*ret_process = (struct env_process){ pid, pidfd };
	return 0;
}

int local_ensure_supervisor(struct local *local, struct attempt *attempt, int dir,
			    struct strata_error *err)
{
	if (attempt->supervisor.pid && !attempt->gone)
		return 0;
	let_supervisor_go(local, attempt);
	int rc = local_find_supervisor(dir, &attempt->supervisor, err);

	if (rc)
		return rc;
	if (attempt->supervisor.pid) {
		watch_supervisor(local, attempt);
		return 0;
	}
	if (attempt->tries++ < TRIES_MAX)
		return start_supervisor(local, attempt, dir, err);
	return strata_fail(
		err, -EIO,
		"%d supervisors of attempt %s ended without starting it; the log says why",
		TRIES_MAX, attempt->name);
}

/* ---- events ---- */

/* What the directory says that was not reported yet: 1 and an event, 0 for none. */
static int look(struct local *local, struct attempt *attempt, int dir, struct exec_event *event,
		struct strata_error *err)
{
	struct record_start start = { 0 };
	struct record_checkpoint saved = { 0 };
	struct exec_status status = { 0 };
	struct strata_arena *arena = &local->event_arena;
	int ended = record_read(local->env, dir, RECORD_STATUS, &record_status_schema, arena,
				&status, err);

	if (ended < 0 && ended != -ENOENT)
		return ended;
	event->key = attempt->key;
	if (!attempt->started && record_read(local->env, dir, RECORD_STARTED, &record_start_schema,
					     arena, &start, NULL) == 0) {
		attempt->started = true;
		event->type = EXEC_STARTED;
		event->status = (struct exec_status){ .started_ns = start.started_ns };
		return 1;
	}
	if (record_read(local->env, dir, RECORD_CHECKPOINT, &record_checkpoint_schema, arena,
			&saved, NULL) == 0 &&
	    saved.count > attempt->checkpoints) {
		attempt->checkpoints = saved.count;
		event->type = EXEC_CHECKPOINTED;
		event->status = (struct exec_status){ .checkpoint = saved.path,
						      .ended_ns = saved.written_ns };
		return 1;
	}
	if (ended < 0)
		return local_ensure_supervisor(local, attempt, dir, err);
	attempt->ended = true;
	event->type = EXEC_ENDED;
	event->status = status;
	return 1;
}

static int next_of(struct local *local, struct attempt *attempt, struct exec_event *event)
{
	struct strata_error err;
	int dir = local_open_dir(local, attempt->name, &err);
	int rc = dir < 0 ? dir : look(local, attempt, dir, event, &err);

	if (dir >= 0)
		close(dir);
	if (rc >= 0)
		return rc;
	if (attempt->troubled)
		return 0;
	attempt->troubled = true;
	*event = (struct exec_event){
		.type = EXEC_TROUBLE,
		.key = attempt->key,
		.status = { .error_code = -rc,
			    .error = strata_arena_text(&local->event_arena, err.text,
						       strlen(err.text)) },
	};
	return 1;
}

static void mark_all(struct local *local)
{
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(&local->attempts, entry)))
		if (!((struct attempt *)entry->value)->ended)
			local_mark(local, entry->value);
}

static void read_watches(struct local *local)
{
	_Alignas(struct inotify_event) char bytes[4096];
	ssize_t got;

	while ((got = read(local->inotify, bytes, sizeof(bytes))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(bytes + at);
			struct attempt *attempt = map_u64_get(&local->watches, (uint64_t)event->wd);

			if (attempt && !attempt->ended)
				local_mark(local, attempt);
			if (event->mask & IN_Q_OVERFLOW) /* some were dropped */
				mark_all(local);
			at += (ssize_t)sizeof(*event) + event->len;
		}
	}
}

static void supervisor_ended(struct local *local, struct attempt *attempt)
{
	epoll_ctl(local->epoll, EPOLL_CTL_DEL, attempt->supervisor.pidfd, NULL);
	attempt->gone = true;
	if (attempt->dropped)
		free_attempt(local, attempt);
	else if (attempt->ended)
		let_supervisor_go(local, attempt);
	else
		local_mark(local, attempt);
}

/* Turns what epoll has to say into attempts to look at. */
static void collect(struct local *local)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	eventfd_t ignored;
	int count;

	eventfd_read(local->wake, &ignored);
	do {
		count = epoll_wait(local->epoll, events, EVENTS_AT_ONCE, 0);
		for (int i = 0; i < count; i++) {
			struct attempt *attempt = events[i].data.ptr;

			if (events[i].data.ptr == &local->inotify) {
				read_watches(local);
			} else if (events[i].data.ptr != &local->wake) {
				supervisor_ended(local, attempt);
			}
		}
	} while (count == EVENTS_AT_ONCE);
}

int local_next(struct exec *exec, struct exec_event *ret_event, struct strata_error *err)
{
	struct local *local = (struct local *)exec;
	struct exec_event event = { 0 };

	(void)err;
	collect(local);
	while (local->first_dirty) {
		struct attempt *attempt = local->first_dirty;

		strata_arena_reset(&local->event_arena);
		int rc = next_of(local, attempt, &event);

		if (rc == 0 || attempt->ended)
			unmark_first(local);
		if (attempt->ended && attempt->gone)
			let_supervisor_go(local, attempt);
		if (rc == 0)
			continue;
		if (local->first_dirty)
			eventfd_write(local->wake, 1); /* there may be more: stay readable */
		*ret_event = event;
		return 1;
	}
	eventfd_read(local->wake, &(eventfd_t){ 0 });
	return 0;
}

int local_open_watches(struct local *local, struct strata_error *err)
{
	struct epoll_event inotify = { .events = EPOLLIN, .data.ptr = &local->inotify };
	struct epoll_event wake = { .events = EPOLLIN, .data.ptr = &local->wake };

	local->epoll = epoll_create1(EPOLL_CLOEXEC);
	local->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	local->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (local->epoll < 0 || local->inotify < 0 || local->wake < 0 ||
	    epoll_ctl(local->epoll, EPOLL_CTL_ADD, local->inotify, &inotify) < 0 ||
	    epoll_ctl(local->epoll, EPOLL_CTL_ADD, local->wake, &wake) < 0)
		return strata_fail(err, -errno, "cannot watch jobs: %s", strerror(errno));
	return 0;
}
