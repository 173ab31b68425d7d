/*
 * Output of pods, brought home into the job's file by a thread of its own: one connection for each
 * pod that runs, all of them in one multi handle. Lines come with their times; what is in the file
 * already, after a connection or the service ended, is passed over by that: a mark beside the
 * attempt's file says the time of the last line, how much of that time was written, and how long
 * the file was then. The file itself is only ever added to, with the rights of the job's user.
 */
#include "exec/exec_kubernetes.h"

#include "core/env_path.h"
#include "kubernetes/kube_transfer.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGAIN_NS STRATA_SECOND_NS
#define FOLLOW_NS STRATA_DAY_NS

enum { STAMP_BYTES = 48, MARK_BYTES = 64, POLL_MS = 1000 };

struct kube_log {
	struct kube_log *next;
	struct kube_logs *logs;
	char *path, *name; /* owned, like the next */
	char *asked_path;  /* of the request */
	char asked[96];    /* its query */
	struct launch_user user;
	mode_t mode;
	bool append;

	bool finishing, over, dropped; /* under the logs' lock */

	/* the thread's own */
	struct kube_request request;
	struct kube_transfer transfer;
	CURL *curl; /* NULL: none; owned */
	bool running, finished_before;
	int fd, mark;
	/* of the last line: its time, what was written of that time, the file's length then */
	int64_t last_ns, last_bytes, size;
	int64_t pass_over; /* bytes that the file has already */
	char stamp[STAMP_BYTES];
	size_t stamp_length;
	bool in_line, passes_line;
	int64_t again_ns;
};

struct kube_logs {
	struct kube_logs_conf conf;
	struct strata_memory memory; /* of the thread */
	struct kube_client *client;
	CURLM *multi;
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock; /* of the next two, and as said above */
	struct kube_log *first;
	bool stops;
};

/* ---- the file and its mark ---- */

static int open_output(const struct kube_log_from *from, int flags, struct strata_error *err)
{
	struct strata_error why = { 0 };

	launch_as_user_begin(&from->user);
	int fd = env_path_open(AT_FDCWD, from->path, ENV_PATH_FILE,
			       O_WRONLY | O_CREAT | O_APPEND | flags, from->mode, &why);

	launch_as_user_end(&from->user);
	return fd >= 0 ? fd
		       : strata_fail(err, fd, "cannot open its output file %.200s: %s", from->path,
				     fd == -ENOENT ? "its directory does not exist" : why.text);
}

int kube_log_check(const struct kube_log_from *from, struct strata_error *err)
{
	int fd = open_output(from, 0, err);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int64_t size_of(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : 0;
}

static void write_mark(const struct kube_log *log)
{
	char text[MARK_BYTES + 1];

	snprintf(text, sizeof(text), "%020" PRId64 " %020" PRId64 " %020" PRId64 "\n", log->last_ns,
		 log->last_bytes, log->size);
	if (pwrite(log->mark, text, strlen(text), 0) < 0)
		return; /* then some of it may come twice after a crash */
}

static bool read_mark(struct kube_log *log)
{
	char text[MARK_BYTES + 1] = "";

	return pread(log->mark, text, MARK_BYTES, 0) > 0 &&
	       sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64, &log->last_ns, &log->last_bytes,
		      &log->size) == 3;
}

/* Opened once; a file that is to be emptied is emptied before its mark is made, and never again. */
static int open_files(struct kube_log *log)
{
	const struct kube_log_from from = { .path = log->path,
					    .user = log->user,
					    .mode = log->mode };
	int jobs = log->logs->conf.jobs;

	if (log->fd >= 0)
		return 0;
	log->mark = openat(jobs, log->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	bool known = log->mark >= 0 && read_mark(log);

	log->fd = open_output(&from, known || log->append ? 0 : O_TRUNC, NULL);
	if (log->fd < 0)
		return log->fd;
	if (log->mark < 0)
		log->mark = openat(jobs, log->name,
				   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int64_t size = size_of(log->fd);

	/* what was written after the mark was */
	if (known && size > log->size)
		log->last_bytes += size - log->size;
	log->size = size;
	if (!known)
		write_mark(log);
	return log->mark < 0 ? -errno : 0;
}

/* ---- lines ---- */

static int put(struct kube_log *log, const char *bytes, size_t count)
{
	log->last_bytes += (int64_t)count;
	if (log->pass_over >= (int64_t)count) {
		log->pass_over -= (int64_t)count;
		return 0;
	}
	bytes += log->pass_over;
	count -= (size_t)log->pass_over;
	log->pass_over = 0;
	while (count) {
		ssize_t done = write(log->fd, bytes, count);

		if (done < 0 && errno != EINTR)
			return -errno;
		bytes += done > 0 ? done : 0;
		count -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* A line begins: "2026-01-31T12:00:00.123456789Z " stands before it. */
static void begin_line(struct kube_log *log)
{
	int64_t ns;

	log->in_line = true;
	log->passes_line = false;
	ns = kube_time(log->stamp);
	log->stamp_length = 0;
	if (ns && ns < log->last_ns) {
		log->passes_line = true;
	} else if (ns > log->last_ns) {
		log->last_ns = ns;
		log->last_bytes = 0;
	}
}

static int take_stamp(struct kube_log *log, char c)
{
	if (c != ' ' && c != '\n' && log->stamp_length + 1 < STAMP_BYTES) {
		log->stamp[log->stamp_length++] = c;
		log->stamp[log->stamp_length] = '\0';
		return 0;
	}
	begin_line(log);
	if (c == ' ')
		return 0;
	if (c == '\n')
		log->in_line = false;
	return log->passes_line ? 0 : put(log, &c, 1);
}

static int take_bytes(void *context, const char *bytes, size_t count)
{
	struct kube_log *log = context;
	int rc = 0;

	while (rc == 0 && count) {
		if (!log->in_line) {
			rc = take_stamp(log, *bytes++);
			count--;
			continue;
		}
		const char *end = memchr(bytes, '\n', count);
		size_t span = end ? (size_t)(end + 1 - bytes) : count;

		if (!log->passes_line)
			rc = put(log, bytes, span);
		log->in_line = !end;
		bytes += span;
		count -= span;
	}
	log->size = size_of(log->fd);
	write_mark(log);
	return rc;
}

/* ---- requests ---- */

static int begin_request(struct kube_log *log)
{
	char since[STRATA_FORM_BYTES] = "";
	int rc = open_files(log);

	if (rc)
		return rc;
	if (log->last_ns)
		strata_time_print(log->last_ns / STRATA_SECOND_NS * STRATA_SECOND_NS, since);
	snprintf(log->asked, sizeof(log->asked), "follow=true&timestamps=true%s%s",
		 *since ? "&sinceTime=" : "", since);
	log->request = (struct kube_request){ .method = KUBE_GET,
					      .path = log->asked_path,
					      .query = log->asked,
					      .timeout_ns = FOLLOW_NS,
					      .plain = true };
	log->pass_over = log->last_bytes;
	log->last_bytes = 0;
	log->in_line = false;
	log->stamp_length = 0;
	log->curl = curl_easy_init();
	if (!log->curl)
		return -ENOMEM;
	rc = kube_transfer_init(&log->transfer, log->logs->client, log->curl, &log->request, NULL);
	log->transfer.sink = take_bytes;
	log->transfer.sink_context = log;
	curl_easy_setopt(log->curl, CURLOPT_PRIVATE, log);
	if (rc == 0 && curl_multi_add_handle(log->logs->multi, log->curl) != CURLM_OK)
		rc = -ENOMEM;
	if (rc) {
		kube_transfer_fini(&log->transfer);
		curl_easy_cleanup(log->curl);
		log->curl = NULL;
	}
	log->running = rc == 0;
	return rc;
}

static void end_transfer(struct kube_log *log)
{
	curl_multi_remove_handle(log->logs->multi, log->curl);
	kube_transfer_fini(&log->transfer);
	curl_easy_cleanup(log->curl);
	log->curl = NULL;
	log->running = false;
}

static void set_over(struct kube_log *log)
{
	pthread_mutex_lock(&log->logs->lock);
	log->over = true;
	pthread_mutex_unlock(&log->logs->lock);
	eventfd_write(log->logs->conf.wake, 1);
}

/* A stream that ended is all there is, if the pod had ended before. */
static void end_request(struct kube_log *log, CURLcode code)
{
	struct kube_answer answer = { 0 };
	int rc = kube_transfer_end(&log->transfer, code, &answer, NULL);

	if (rc && answer.status == 401)
		kube_client_renew(log->logs->client);
	kube_answer_fini(&answer);
	end_transfer(log);
	if (rc == -ENOENT || (rc == 0 && log->finished_before)) {
		set_over(log);
		return;
	}
	/* bytes that were passed over are still in the file */
	log->last_bytes += log->pass_over;
	log->again_ns = env_now_ns(log->logs->conf.env, ENV_MONOTONIC) + AGAIN_NS;
}

/* ---- the thread ---- */

static void free_log(struct kube_log *log)
{
	if (log->running)
		end_transfer(log);
	if (log->fd >= 0)
		close(log->fd);
	if (log->mark >= 0)
		close(log->mark);
	free(log->path);
	free(log->name);
	free(log->asked_path);
	free(log);
}

static void look_at_one(struct kube_log *log, bool finishing)
{
	int64_t now_ns = env_now_ns(log->logs->conf.env, ENV_MONOTONIC);

	if (finishing && !log->finished_before && !log->running)
		log->again_ns = 0;
	if (log->running)
		return; /* its end is all only if another look after it finds nothing more */
	if (now_ns < log->again_ns)
		return;
	log->finished_before = finishing;
	int rc = begin_request(log);

	if (rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE)
		log->again_ns = now_ns + AGAIN_NS;
	else if (rc)
		set_over(log); /* there is no file to write to */
}

static void look_at_all(struct kube_logs *logs)
{
	pthread_mutex_lock(&logs->lock);
	for (struct kube_log **at = &logs->first; *at;) {
		struct kube_log *log = *at;
		bool finishing = log->finishing, over = log->over;

		if (log->dropped) {
			*at = log->next;
			free_log(log);
			continue;
		}
		at = &log->next;
		if (over)
			continue;
		pthread_mutex_unlock(&logs->lock); /* only this thread takes any out */
		look_at_one(log, finishing);
		pthread_mutex_lock(&logs->lock);
	}
	pthread_mutex_unlock(&logs->lock);
}

static void end_those_done(struct kube_logs *logs)
{
	const CURLMsg *message;
	struct kube_log *log;
	int left;

	while ((message = curl_multi_info_read(logs->multi, &left))) {
		CURLcode code = message->data.result;

		if (message->msg == CURLMSG_DONE &&
		    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&log) ==
			    CURLE_OK)
			end_request(log, code);
	}
}

static bool goes_on(struct kube_logs *logs)
{
	pthread_mutex_lock(&logs->lock);
	bool on = !logs->stops;

	pthread_mutex_unlock(&logs->lock);
	return on;
}

static void *run(void *context)
{
	struct kube_logs *logs = context;
	int running;

	while (goes_on(logs)) {
		look_at_all(logs);
		curl_multi_perform(logs->multi, &running);
		end_those_done(logs);
		curl_multi_poll(logs->multi, NULL, 0, POLL_MS / 4, NULL);
	}
	return NULL;
}

/* ---- for others ---- */

int kube_logs_open(const struct kube_logs_conf *conf, struct kube_logs **ret_logs,
		   struct strata_error *err)
{
	struct kube_logs *logs = calloc(1, sizeof(*logs));

	if (!logs)
		return strata_fail_memory(err);
	logs->conf = *conf;
	pthread_mutex_init(&logs->lock, NULL);
	logs->multi = curl_multi_init();
	int rc = logs->multi ? kube_client_open(conf->config, conf->env, &logs->memory,
						&logs->client, err)
			     : strata_fail_memory(err);
	int code = rc ? 0 : pthread_create(&logs->thread, NULL, run, logs);

	if (code)
		rc = strata_fail(err, -code, "no thread: %s", strerror(code));
	logs->runs = rc == 0;
	if (rc)
		kube_logs_close(logs);
	else
		*ret_logs = logs;
	return rc;
}

void kube_logs_close(struct kube_logs *logs)
{
	if (!logs)
		return;
	pthread_mutex_lock(&logs->lock);
	logs->stops = true;
	pthread_mutex_unlock(&logs->lock);
	curl_multi_wakeup(logs->multi);
	if (logs->runs)
		pthread_join(logs->thread, NULL);
	while (logs->first) {
		struct kube_log *log = logs->first;

		logs->first = log->next;
		free_log(log);
	}
	kube_client_close(logs->client);
	curl_multi_cleanup(logs->multi);
	pthread_mutex_destroy(&logs->lock);
	free(logs);
}

struct kube_log *kube_log_begin(struct kube_logs *logs, const struct kube_log_from *from)
{
	struct kube_log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	*log = (struct kube_log){ .logs = logs,
				  .user = from->user,
				  .mode = from->mode,
				  .append = from->append,
				  .fd = -1,
				  .mark = -1,
				  .path = strdup(from->path),
				  .name = strdup(from->name) };
	if (asprintf(&log->asked_path, "/api/v1/namespaces/%s/pods/%s/log", from->space,
		     from->pod) < 0)
		log->asked_path = NULL;
	if (!log->path || !log->name || !log->asked_path) {
		free_log(log);
		return NULL;
	}
	pthread_mutex_lock(&logs->lock);
	log->next = logs->first;
	logs->first = log;
	pthread_mutex_unlock(&logs->lock);
	curl_multi_wakeup(logs->multi);
	return log;
}

void kube_log_finish(struct kube_log *log)
{
	pthread_mutex_lock(&log->logs->lock);
	bool before = log->finishing;

	log->finishing = true;
	pthread_mutex_unlock(&log->logs->lock);
	if (!before)
		curl_multi_wakeup(log->logs->multi);
}

bool kube_log_is_over(struct kube_log *log)
{
	pthread_mutex_lock(&log->logs->lock);
	bool over = log->over;

	pthread_mutex_unlock(&log->logs->lock);
	return over;
}

void kube_log_drop(struct kube_log *log)
{
	if (!log)
		return;
	pthread_mutex_lock(&log->logs->lock);
	log->dropped = true;
	pthread_mutex_unlock(&log->logs->lock);
}
