/*
 * Copies of checkpoints: the queue of what is to be done, the threads that do it, and what the
 * decider makes of what they say. See mirror.h. Of one job one thing is done at a time, in the
 * order in which it was asked for, but that fetches go first.
 */
#include "server/mirror.h"

#include "core/env_log.h"
#include "exec/exec.h"
#include "exec/launch.h"
#include "s3/s3_address.h"
#include "server/load.h"
#include "server/mirror_process.h"
#include "server/write_batch.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { THREADS = 4, NAME_BYTES = 256, KEY_BYTES = 1024, PLAIN_BYTES_MAX = 128,
        WHY_BYTES = STRATA_ERROR_TEXT_BYTES };
#define RETRY_NS (5 * STRATA_SECOND_NS)
#define RETRY_NS_MAX (600 * STRATA_SECOND_NS)
#define SLACK_BYTES (INT64_C(1) << 20)

struct task {
	struct task *next;
	int what; /* enum copy_what */
	int64_t job, attempt, bytes_max, due_ns; /* due: monotonic */
	uid_t uid;
	gid_t gid;
	int tries;
	bool told; /* that it does not work */
	char name[NAME_BYTES], key[KEY_BYTES], dir[STRATA_PATH_BYTES_MAX];
	/* what became of it */
	int code;
	char why[WHY_BYTES];
	struct copy_result result;
};

/* What is known of a checkpoint's copy; of the newest of each job and the one before. */
struct copied {
	struct copied *next;
	int64_t job;
	bool is_there;
	char name[NAME_BYTES], why[WHY_BYTES];
};

struct mirror {
	struct mirror_place place;
	struct strata_memory memory;
	struct strata_arena arena; /* of the place's texts */
	struct inbox *inbox;
	const struct env *env;
	pthread_t threads[THREADS];
	int thread_count;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	struct task *waiting, *running[THREADS], *done;
	pid_t pids[THREADS];
	bool ends;
	/* the decider's own */
	struct copied *copies;
	uint64_t stored, failed, bytes;
};

/* ---- the queue; under the lock ---- */

static int64_t now(const struct mirror *mirror)
{
	return env_now_ns(mirror->env, ENV_MONOTONIC);
}

static void append(struct task **list, struct task *task)
{
	while (*list)
		list = &(*list)->next;
	task->next = NULL;
	*list = task;
}

static bool is_busy(const struct mirror *mirror, const struct task *task)
{
	for (int i = 0; i < THREADS; i++)
		if (mirror->running[i] && (mirror->running[i]->job == task->job ||
					   (task->uid && mirror->running[i]->uid == task->uid)))
			return true;
	return false;
}

/* The next that is due, of a job that nothing is done for; a later one of the same job waits for
 * its earlier ones. */
static struct task *take_due(struct mirror *mirror, int64_t *ret_due_ns)
{
	int64_t now_ns = now(mirror);

	*ret_due_ns = INT64_MAX;
	for (struct task **at = &mirror->waiting; *at; at = &(*at)->next) {
		struct task *task = *at;
		bool first = !is_busy(mirror, task);

		for (const struct task *before = mirror->waiting; first && before != task;
		     before = before->next)
			first = before->job != task->job;
		if (first && task->due_ns <= now_ns) {
			*at = task->next;
			return task;
		}
		if (first && task->due_ns < *ret_due_ns)
			*ret_due_ns = task->due_ns;
	}
	return NULL;
}

static void wait_for(struct mirror *mirror, int64_t due_ns)
{
	int64_t wait_ns = due_ns == INT64_MAX ? 3600 * STRATA_SECOND_NS : due_ns - now(mirror);
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	wait_ns += until.tv_nsec;
	until.tv_sec += wait_ns / STRATA_SECOND_NS;
	until.tv_nsec = wait_ns % STRATA_SECOND_NS;
	pthread_cond_timedwait(&mirror->more, &mirror->lock, &until);
}

/* ---- the threads ---- */

/* In the service's own directory, which users cannot write to. */
static int make_dir(const struct task *task, struct strata_error *err)
{
	const struct exec_order order = { .checkpoint_dir = task->dir, .checkpoint_place = true };
	const struct launch_user user = { .switches = geteuid() == 0,
					  .uid = task->uid,
					  .gid = task->gid };

	return launch_make_checkpoint_dir(&order, &user, err);
}

static void carry_out(struct mirror *mirror, int slot, struct task *task)
{
	const struct copy_order order = { .what = task->what,
					  .key = task->key,
					  .dir = task->dir,
					  .name = task->name,
					  .bytes_max = task->bytes_max };
	const struct mirror_run run = { .uid = task->uid,
					.gid = task->gid,
					.order = &order,
					.lock = &mirror->lock,
					.pid = &mirror->pids[slot] };
	struct strata_error err = { 0 };

	task->code = task->what == COPY_FETCH ? make_dir(task, &err) : 0;
	if (task->code == 0)
		task->code = mirror_process_run(&mirror->place, &run, &task->result, &err);
	snprintf(task->why, sizeof(task->why), "%s", task->code ? err.text : "");
}

struct thread {
	struct mirror *mirror;
	int slot;
};

static void *run_thread(void *context)
{
	struct thread *thread = context;
	struct mirror *mirror = thread->mirror;
	int slot = thread->slot;
	int64_t due_ns;
	sigset_t all;

	free(thread);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* those of the service are for others */
	pthread_mutex_lock(&mirror->lock);
	while (!mirror->ends) {
		struct task *task = take_due(mirror, &due_ns);

		if (!task) {
			wait_for(mirror, due_ns);
			continue;
		}
		mirror->running[slot] = task;
		pthread_mutex_unlock(&mirror->lock);
		carry_out(mirror, slot, task);
		pthread_mutex_lock(&mirror->lock);
		mirror->running[slot] = NULL;
		append(&mirror->done, task);
		inbox_wake(mirror->inbox);
		pthread_cond_broadcast(&mirror->more);
	}
	pthread_mutex_unlock(&mirror->lock);
	return NULL;
}

static int start_threads(struct mirror *mirror)
{
	int code = 0;

	for (int i = 0; code == 0 && i < THREADS; i++) {
		struct thread *thread = malloc(sizeof(*thread));

		if (!thread)
			return ENOMEM;
		*thread = (struct thread){ mirror, i };
		code = pthread_create(&mirror->threads[i], NULL, run_thread, thread);
		if (code)
			free(thread);
		else
			mirror->thread_count++;
	}
	return code;
}

int mirror_start(struct decider *decider, struct strata_error *err)
{
	static const char *const places[] = { "strata-checkpoints",
					      "../libexec/strata/strata-checkpoints", NULL };
	const struct server_conf *conf = decider->conf;
	pthread_condattr_t monotonic;
	int rc = conf_check_copies(conf, err);

	if (rc || !conf->checkpoint_path)
		return rc;
	struct mirror *mirror = calloc(1, sizeof(*mirror));

	if (!mirror)
		return strata_fail_memory(err);
	strata_arena_init(&mirror->arena, &mirror->memory, 0);
	mirror->inbox = &decider->common->inbox;
	mirror->env = decider->env;
	mirror->place.conf = conf;
	mirror->place.program = load_find_program(&mirror->arena, places);
	pthread_mutex_init(&mirror->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&mirror->more, &monotonic);
	pthread_condattr_destroy(&monotonic);
	decider->mirror = mirror;
	if (!mirror->place.program)
		return strata_fail(err, -EIO, "the program strata-checkpoints is not found");
	rc = s3_address_read(conf->checkpoint_path, &mirror->arena, &mirror->place.bucket,
			     &mirror->place.prefix, err);
	int code = rc ? 0 : start_threads(mirror);

	return rc	? rc
	       : code ? strata_fail(err, -code, "no thread: %s", strerror(code))
		      : 0;
}

static void free_tasks(struct task *task)
{
	while (task) {
		struct task *next = task->next;

		free(task);
		task = next;
	}
}

void mirror_stop(struct decider *decider)
{
	struct mirror *mirror = decider->mirror;

	if (!mirror)
		return;
	pthread_mutex_lock(&mirror->lock);
	mirror->ends = true;
	for (int i = 0; i < THREADS; i++)
		if (mirror->pids[i])
			kill(mirror->pids[i], SIGKILL); /* it goes on where it was, next time */
	pthread_cond_broadcast(&mirror->more);
	pthread_mutex_unlock(&mirror->lock);
	for (int i = 0; i < mirror->thread_count; i++)
		pthread_join(mirror->threads[i], NULL);
	free_tasks(mirror->waiting);
	free_tasks(mirror->done);
	while (mirror->copies) {
		struct copied *copied = mirror->copies;

		mirror->copies = copied->next;
		free(copied);
	}
	pthread_cond_destroy(&mirror->more);
	pthread_mutex_destroy(&mirror->lock);
	strata_arena_fini(&mirror->arena);
	free(mirror);
	decider->mirror = NULL;
}

/* ---- the decider: what is to be done ---- */

/* The name in the job's own directory; NULL: it is elsewhere, and not ours to copy. */
static const char *own_name(const struct decider *decider, const struct live *live,
			    const char *path, char dir[STRATA_PATH_BYTES_MAX])
{
	int length = snprintf(dir, STRATA_PATH_BYTES_MAX, "%s/%" PRId64,
			      decider->conf->checkpoint_dir, live->job.id);

	if (length >= STRATA_PATH_BYTES_MAX || strncmp(path, dir, (size_t)length) != 0 ||
	    path[length] != '/')
		return NULL;
	const char *name = path + length + 1;

	return *name && *name != '.' && !strchr(name, '/') && strlen(name) < NAME_BYTES ? name
											 : NULL;
}

/* A key has plain characters only, and no more than S3 takes; other names are told apart by their
 * hash. False: no memory. */
static bool make_key(const struct mirror *mirror, const struct live *live, const char *name,
		     char key[KEY_BYTES])
{
	bool plain = s3_is_plain(name) && strlen(name) <= PLAIN_BYTES_MAX;
	const char *prefix = mirror->place.prefix;
	struct digest digest;

	if (!plain && digest_bytes(name, strlen(name), &digest, NULL))
		return false;
	return snprintf(key, KEY_BYTES, "%s%s%s.%" PRId64 "/%s/%s", prefix, *prefix ? "/" : "",
			live->job.uuid, live->job.id, plain ? "n" : "x",
			plain ? name : digest.sha256_hex) < KEY_BYTES;
}

/* NULL: there is nothing to be done, or no memory. */
static struct task *new_task(struct decider *decider, const struct live *live, const char *path,
			     enum copy_what what)
{
	struct mirror *mirror = decider->mirror;
	struct task *task = mirror && decider->exec ? calloc(1, sizeof(*task)) : NULL;
	const char *name = task ? own_name(decider, live, path, task->dir) : NULL;

	if (!name) {
		free(task);
		return NULL;
	}
	task->what = what;
	task->job = live->job.id;
	task->attempt = live->job.attempt;
	task->uid = (uid_t)live->job.uid;
	task->gid = (gid_t)live->job.gid;
	task->bytes_max = INT64_MAX;
	snprintf(task->name, sizeof(task->name), "%s", name);
	if (make_key(mirror, live, name, task->key))
		return task;
	free(task);
	return NULL;
}

static bool is_same(const struct task *task, const struct task *other)
{
	return task->job == other->job && strcmp(task->name, other->name) == 0;
}

/* What waits to be stored is, as it is then. */
static bool waits(const struct mirror *mirror, const struct task *like)
{
	for (const struct task *at = mirror->waiting; at; at = at->next)
		if (at->what == like->what && is_same(at, like))
			return true;
	return false;
}

static void forget_waiting(struct mirror *mirror, const struct task *like)
{
	for (struct task **at = &mirror->waiting; *at;) {
		struct task *it = *at;

		if (it->what == like->what && is_same(it, like)) {
			*at = it->next;
			free(it);
		} else {
			at = &it->next;
		}
	}
}

static void put(struct mirror *mirror, struct task *task)
{
	pthread_mutex_lock(&mirror->lock);
	if (task->what == COPY_FETCH) { /* one that waits still was an earlier attempt's */
		forget_waiting(mirror, task);
		task->next = mirror->waiting;
		mirror->waiting = task;
	} else if (waits(mirror, task)) {
		free(task);
	} else {
		append(&mirror->waiting, task);
	}
	pthread_cond_broadcast(&mirror->more);
	pthread_mutex_unlock(&mirror->lock);
}

static struct copied **find_copied(struct mirror *mirror, int64_t job, const char *name)
{
	struct copied **at = &mirror->copies;

	while (*at && ((*at)->job != job || strcmp((*at)->name, name) != 0))
		at = &(*at)->next;
	return at;
}

/* Asked of paths in the job's own directory only: those that a user names elsewhere may hang. */
static bool is_missing(const char *path)
{
	struct stat info;

	return lstat(path, &info) < 0 && errno == ENOENT;
}

void mirror_store(struct decider *decider, const struct live *live, const char *path)
{
	struct task *task = new_task(decider, live, path, COPY_STORE);

	if (task && is_missing(path)) { /* it is elsewhere: after a takeover */
		free(task);
		return;
	}
	if (!task)
		return;
	struct copied **at = find_copied(decider->mirror, task->job, task->name);

	if (!*at && (*at = calloc(1, sizeof(**at)))) {
		(*at)->job = task->job;
		memcpy((*at)->name, task->name, sizeof((*at)->name));
	}
	if (*at)
		(*at)->is_there = false;
	put(decider->mirror, task);
}

void mirror_drop(struct decider *decider, const struct live *live, const char *path)
{
	struct task *task = new_task(decider, live, path, COPY_DROP);

	if (!task)
		return;
	struct mirror *mirror = decider->mirror;
	struct copied **at = find_copied(mirror, task->job, task->name), *gone = *at;

	if (gone) {
		*at = gone->next;
		free(gone);
	}
	struct task like = *task;

	like.what = COPY_STORE; /* what waits to be stored need not be */
	pthread_mutex_lock(&mirror->lock);
	forget_waiting(mirror, &like);
	pthread_mutex_unlock(&mirror->lock);
	put(mirror, task);
}

bool mirror_fetch(struct decider *decider, struct live *live)
{
	struct strata_checkpoint kept[2];
	struct task *task =
		live->checkpoint ? new_task(decider, live, live->checkpoint, COPY_FETCH) : NULL;

	if (!task || !is_missing(live->checkpoint)) {
		free(task);
		return false;
	}
	if (strata_cluster_checkpoints(decider->cluster, (uint64_t)live->job.id, kept) &&
	    kept[0].size_bytes > 0 && kept[0].size_bytes < INT64_MAX / 4)
		task->bytes_max = 2 * kept[0].size_bytes + SLACK_BYTES;
	live->fetching = true;
	put(decider->mirror, task);
	return true;
}

/* ---- the decider: what became of it ---- */

/* What no later try would change. */
static bool is_final(int code)
{
	return code == -EINVAL || code == -E2BIG || code == -ENOENT || code == -ENAMETOOLONG;
}

static void try_later(struct mirror *mirror, struct task *task)
{
	int64_t wait_ns = RETRY_NS;

	for (int i = 0; i < task->tries && wait_ns < RETRY_NS_MAX; i++)
		wait_ns *= 3;
	task->tries++;
	task->due_ns = now(mirror) + (wait_ns < RETRY_NS_MAX ? wait_ns : RETRY_NS_MAX);
	put(mirror, task);
}

/* The first time only: it may go on for hours. */
static void tell_trouble(struct decider *decider, struct task *task)
{
	if (task->told)
		return;
	task->told = true;
	log_say(LOG_LEVEL_WARNING, "checkpoints", task->job, "%s %s: %s",
		task->what == COPY_DROP ? "the copy is not removed of" : "no copy of", task->name,
		task->why);
	batch_event(decider, task->job, "job.checkpoint_not_copied",
		    json_pack("{s:s,s:s}", "name", task->name, "error", task->why));
}

static void note_stored(struct decider *decider, struct task *task)
{
	struct mirror *mirror = decider->mirror;
	struct copied *copied = *find_copied(mirror, task->job, task->name);

	if (copied) {
		copied->is_there = task->code == 0;
		memcpy(copied->why, task->why, sizeof(copied->why));
	}
	if (task->code) {
		mirror->failed++;
		tell_trouble(decider, task);
		return;
	}
	mirror->stored++;
	mirror->bytes += task->result.was_there ? 0 : (uint64_t)task->result.bytes;
	if (!task->result.was_there)
		batch_event(decider, task->job, "job.checkpoint_copied",
			    json_pack("{s:s,s:I}", "name", task->name, "bytes",
				      (json_int_t)task->result.bytes));
}

static struct task *take_done(struct mirror *mirror)
{
	pthread_mutex_lock(&mirror->lock);
	struct task *task = mirror->done;

	if (task)
		mirror->done = task->next;
	pthread_mutex_unlock(&mirror->lock);
	return task;
}

bool mirror_take(struct decider *decider, struct mirror_answer *ret_answer)
{
	struct mirror *mirror = decider->mirror;
	struct task *task;

	while (mirror && (task = take_done(mirror))) {
		if (task->what == COPY_FETCH) {
			*ret_answer = (struct mirror_answer){ .job = task->job,
							      .attempt = task->attempt,
							      .code = task->code };
			memcpy(ret_answer->why_not, task->why, sizeof(task->why));
			free(task);
			return true;
		}
		if (task->what == COPY_STORE)
			note_stored(decider, task);
		else if (task->code)
			tell_trouble(decider, task);
		bool again = task->code && !is_final(task->code) &&
			     (task->what == COPY_DROP ||
			      *find_copied(mirror, task->job, task->name));

		if (again)
			try_later(mirror, task);
		else
			free(task);
	}
	return false;
}

bool mirror_has(struct decider *decider, const struct live *live, const char *path,
		const char **ret_why_not)
{
	char dir[STRATA_PATH_BYTES_MAX];
	const char *name = decider->mirror ? own_name(decider, live, path, dir) : NULL;
	struct copied *copied = name ? *find_copied(decider->mirror, live->job.id, name) : NULL;

	*ret_why_not = copied && !copied->is_there && *copied->why ? copied->why : NULL;
	return copied && copied->is_there;
}

static size_t count_waiting(struct mirror *mirror)
{
	size_t waiting = 0;

	pthread_mutex_lock(&mirror->lock);
	for (const struct task *at = mirror->waiting; at; at = at->next)
		waiting++;
	for (int i = 0; i < THREADS; i++)
		waiting += mirror->running[i] != NULL;
	pthread_mutex_unlock(&mirror->lock);
	return waiting;
}

void mirror_print(const struct decider *decider, struct buf *buf)
{
	struct mirror *mirror = decider->mirror;

	metrics_print_one(buf, "checkpoint_copies_total", "counter",
			  "checkpoints that are in S3 now or were",
			  mirror ? (double)mirror->stored : 0);
	metrics_print_one(buf, "checkpoint_copies_failed_total", "counter",
			  "tries to copy a checkpoint that failed",
			  mirror ? (double)mirror->failed : 0);
	metrics_print_one(buf, "checkpoint_copied_bytes_total", "counter",
			  "bytes of checkpoints that were sent to S3",
			  mirror ? (double)mirror->bytes : 0);
	metrics_print_one(buf, "checkpoint_copies_waiting", "gauge",
			  "copies that are to be stored, fetched or removed",
			  mirror ? (double)count_waiting(mirror) : 0);
}
