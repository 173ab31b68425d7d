/*
 * Looking after what runs. A pidfd says that a supervisor has ended, inotify that something was
 * added to the file of an attempt; what happened is read from there. So an event is never lost with
 * the daemon that would have had it: the next one looks at the same file.
 *
 * One rule recovers from everything: an attempt that has not ended and whose lock nobody holds gets
 * a supervisor. The supervisor, under the lock, finds out whether it is to start the job or to say
 * that it was lost.
 */
#include "exec/exec_local.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES_MAX = 3, EVENTS_AT_ONCE = 64, ASKED_MAX = 64 };

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

	if (!attempt->dirty)
		return;
	for (struct attempt *at = local->first_dirty; at != attempt; at = at->next_dirty)
		before = at;
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
	map_text_remove(&local->attempts, attempt->name, strlen(attempt->name));
	if (!attempt->asked && (!attempt->child || attempt->gone)) {
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

int local_take(struct local *local, struct exec_key key, struct attempt **ret_attempt,
	       struct strata_error *err)
{
	struct attempt *attempt = strata_memory_get(local->memory, sizeof(*attempt));

	if (!attempt)
		return strata_fail_memory(err);
	*attempt = (struct attempt){ .key = key, .supervisor = { 0, -1 } };
	record_name(key, attempt->name);
	if (map_text_put(&local->attempts, attempt->name, strlen(attempt->name), attempt, NULL)) {
		strata_memory_put(local->memory, attempt, sizeof(*attempt));
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

/* The fork server has ended, and with it all hope of an answer: those who wait for one are looked
 * at again. */
static void lose_fork_server(struct local *local)
{
	const struct map_text_entry *entry = NULL;

	fork_server_close(&local->fork_server, local->env);
	local->asked = 0;
	while ((entry = map_text_next(&local->attempts, entry))) {
		struct attempt *attempt = entry->value;

		if (attempt->asked)
			local_mark(local, attempt);
		attempt->asked = false;
	}
	for (struct attempt *at = local->dropped, *next; at; at = next) {
		next = at->next_dropped;
		if (at->asked)
			free_attempt(local, at);
	}
}

static void take_answer(struct local *local, struct attempt *attempt, pid_t pid)
{
	local->asked--;
	attempt->asked = false;
	if (pid > 0) {
		attempt->supervisor =
			(struct env_process){ pid, (int)syscall(SYS_pidfd_open, pid, 0) };
		attempt->child = true;
		watch_supervisor(local, attempt);
	} else if (attempt->dropped) {
		free_attempt(local, attempt);
	} else {
		local_mark(local, attempt); /* no process was to be had: it is tried again */
	}
}

static void take_answers(struct local *local)
{
	void *cookie;
	pid_t pid;
	int rc = 0;

	while (local->fork_server.socket >= 0 &&
	       (rc = fork_server_take(&local->fork_server, &cookie, &pid)) > 0)
		take_answer(local, cookie, pid);
	if (rc < 0)
		lose_fork_server(local);
}

static int open_fork_server(struct local *local, struct strata_error *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = &local->fork_server };
	int rc = fork_server_open(&local->fork_server, local->env, local->supervisor,
				  local->jobs_path, local->cgroup, err);

	if (rc == 0 &&
	    epoll_ctl(local->epoll, EPOLL_CTL_ADD, local->fork_server.socket, &event) < 0) {
		rc = strata_fail(err, -errno, "cannot watch jobs: %s", strerror(errno));
		fork_server_close(&local->fork_server, local->env);
	}
	return rc;
}

static int request_supervisor(struct local *local, struct attempt *attempt, int64_t epoch,
			      struct strata_error *err)
{
	/* it must not wait for room for an answer while we wait for room for a question */
	while (local->asked >= ASKED_MAX && local->fork_server.socket >= 0) {
		struct pollfd waiting = { local->fork_server.socket, POLLIN, 0 };

		poll(&waiting, 1, -1);
		take_answers(local);
	}
	int rc = local->fork_server.socket < 0 ? open_fork_server(local, err) : 0;

	if (rc)
		return rc;
	attempt->asked = true;
	local->asked++;
	if (fork_server_request(&local->fork_server, attempt->name, epoch, attempt, NULL) < 0)
		lose_fork_server(local);
	return 0;
}

int local_start_supervisor(struct local *local, struct attempt *attempt, struct strata_error *err)
{
	attempt->tries++;
	return request_supervisor(local, attempt, local->epoch, err);
}

/* An order that nobody claimed becomes ours, so that a supervisor of an earlier leader leaves it
 * alone. */
static int take_over(struct local *local, int fd, struct journal *journal, struct strata_error *err)
{
	const struct record_leader own = { local->epoch, local->cgroup };

	if (journal->epoch > local->epoch)
		return strata_fail(err, -ESTALE, "a leader of epoch %" PRId64 " has the order",
				   journal->epoch);
	if (journal->epoch == local->epoch || journal->claimed)
		return 0;
	int rc = journal_add(local->env, fd, JOURNAL_LEADER, &record_leader_schema, &own, false,
			     local->memory, err);

	if (rc == 0)
		journal->epoch = local->epoch;
	return rc;
}

/* Finds the supervisor that holds the lock. The number could be another process's by the time it
 * is opened, so the lock is looked at again: whoever holds it has held it all the time. */
int local_find_supervisor(int fd, struct env_process *ret_process, struct strata_error *err)
{
	pid_t pid, again;
	int rc = journal_lock_holder(fd, &pid, err);

	if (rc)
		return rc;
	*ret_process = (struct env_process){ 0, -1 };
	if (!pid)
		return 0;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	rc = journal_lock_holder(fd, &again, err);
	if (rc || again != pid) {
		if (pidfd >= 0)
			close(pidfd);
		return rc;
	}
	*ret_process = (struct env_process){ pid, pidfd };
	return 0;
}

/* For an attempt that has not ended: finds its supervisor or asks for one. */
static int ensure_supervisor(struct local *local, struct attempt *attempt, int fd,
			     struct journal *journal, struct strata_error *err)
{
	if (attempt->asked || (attempt->supervisor.pid && !attempt->gone))
		return 0;
	let_supervisor_go(local, attempt);
	int rc = local_find_supervisor(fd, &attempt->supervisor, err);

	if (rc)
		return rc;
	if (attempt->supervisor.pid) {
		watch_supervisor(local, attempt);
		return 0;
	}
	if (attempt->tries++ >= TRIES_MAX)
		return strata_fail(
			err, -EIO,
			"%d supervisors of attempt %s ended without starting it; the log says why",
			TRIES_MAX, attempt->name);
	rc = take_over(local, fd, journal, err);
	return rc ? rc : request_supervisor(local, attempt, journal->epoch, err);
}

/* ---- events ---- */

/* What the file says that was not reported yet: 1 and an event, 0 for none. */
static int look(struct local *local, struct attempt *attempt, int fd, struct exec_event *event,
		struct strata_error *err)
{
	struct journal journal = { .lines_at = attempt->lines_at, .epoch = attempt->epoch };
	int rc = journal_read(fd, &local->event_arena, &journal, err);

	if (rc == 0 && !journal.lines_at)
		rc = strata_fail(err, -ENOENT, "there is no attempt %s", attempt->name);
	if (rc)
		return rc;
	attempt->lines_at = journal.lines_at;
	attempt->epoch = journal.epoch;
	event->key = attempt->key;
	if (!attempt->started && journal.started) {
		attempt->started = true;
		event->type = EXEC_STARTED;
		event->status = (struct exec_status){ .started_ns = journal.start.started_ns };
		return 1;
	}
	if (journal.checkpoint.count > attempt->checkpoints) {
		attempt->checkpoints = journal.checkpoint.count;
		event->type = EXEC_CHECKPOINTED;
		event->status =
			(struct exec_status){ .checkpoint = journal.checkpoint.path,
					      .checkpoint_bytes = journal.checkpoint.size_bytes,
					      .ended_ns = journal.checkpoint.written_ns };
		return 1;
	}
	if (!journal.ended)
		return local->supervised ? ensure_supervisor(local, attempt, fd, &journal, err) : 0;
	attempt->ended = true;
	event->type = EXEC_ENDED;
	event->status = journal.status;
	return 1;
}

static int next_of(struct local *local, struct attempt *attempt, struct exec_event *event)
{
	struct strata_error err;
	int fd = journal_open(local->env, local->jobs, attempt->name, &err);
	int rc = fd < 0 ? fd : look(local, attempt, fd, event, &err);

	if (fd >= 0)
		close(fd);
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
			struct attempt *attempt = event->len ? map_text_get(&local->attempts,
									    event->name,
									    strlen(event->name))
							     : NULL;

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

			if (events[i].data.ptr == &local->inotify)
				read_watches(local);
			else if (events[i].data.ptr == &local->fork_server)
				take_answers(local);
			else if (events[i].data.ptr != &local->wake)
				supervisor_ended(local, attempt);
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
		unmark_first(local); /* before the look, which may find a reason for another */
		int rc = next_of(local, attempt, &event);

		if (rc > 0 && !attempt->ended)
			local_mark(local, attempt); /* there may be more of it */
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
	    inotify_add_watch(local->inotify, local->jobs_path, IN_MODIFY | IN_ONLYDIR) < 0 ||
	    epoll_ctl(local->epoll, EPOLL_CTL_ADD, local->inotify, &inotify) < 0 ||
	    epoll_ctl(local->epoll, EPOLL_CTL_ADD, local->wake, &wake) < 0)
		return strata_fail(err, -errno, "cannot watch jobs: %s", strerror(errno));
	return 0;
}
