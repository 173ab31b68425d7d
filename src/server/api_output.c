/*
 * GET /api/v1/jobs/…/output: what a job has written, read with its user's rights; as much as is
 * there, or (follow=1) until the job ends. One that has not begun yet can be followed, too: it is
 * waited for.
 */
#include "core/env_path.h"
#include "server/api_jobs.h"
#include "server/as_user.h"
#include "server/decider.h"
#include "server/front.h"
#include "server/job_files.h"
#include "server/live.h"
#include "server/output.h"
#include "server/route.h"
#include "server/event_stream.h"

#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES_LOOKED_AT = 4096 };
#define LOOK_AGAIN_NS STRATA_SECOND_NS /* for a file that is not there yet */

struct query {
	bool error, follow;
	int64_t from, tail, lines; /* lines -1: what it wrote is asked for, not where lines begin */
};

struct output {
	struct stream base;
	int64_t job;
	uid_t uid;
	gid_t gid;
	bool error; /* its standard error */
	int64_t from;
	int64_t tail;         /* of a file that is longer, so many bytes at most; 0: all */
	_Atomic(char *) path; /* NULL: it has not begun; set once, by the decider */
	atomic_bool ended;
	int fd;            /* -1: not open yet */
	int64_t looked_ns; /* when there was no file; monotonic */
};

static const struct strata_option query_options[] = {
	{ "from", STRATA_INT, offsetof(struct query, from), .integer = { 0, 0, INT64_MAX },
	  .help = "from this byte on" },
	{ "tail", STRATA_INT, offsetof(struct query, tail), .integer = { 0, 0, INT64_MAX },
	  .help = "the last so many bytes only, from a line's beginning; 0: all" },
	{ "error", STRATA_BOOL, offsetof(struct query, error), .help = "its standard error" },
	{ "follow", STRATA_BOOL, offsetof(struct query, follow), .help = "as it comes" },
	{ "lines", STRATA_INT, offsetof(struct query, lines), .integer = { -1, -1, 1000000 },
	  .help = "not what it wrote, but the byte at which the last so many lines begin" },
	{ 0 }
};
static const struct strata_schema output_query = { "the query", NULL, sizeof(struct query),
						   query_options };

static void parse_output(struct request *request)
{
	request->parsed = (void *)(uintptr_t)request->query;
}

/* With the rights of the job's user, whatever the path has become since. */
static int open_as_user(const struct output *output, struct strata_error *err)
{
	if (!as_user_begin(output->uid, output->gid))
		return strata_fail(err, -EPERM, "the service cannot act for user %u", output->uid);
	int fd = env_path_open(AT_FDCWD, atomic_load(&output->path), ENV_PATH_FILE, O_RDONLY, 0,
			       err);

	as_user_end();
	return fd;
}

/* ---- following ---- */

/* So that who follows a long file is not sent all of it. A line that is longer than that is cut. */
static void skip_to_tail(struct output *output)
{
	char bytes[LINE_BYTES_LOOKED_AT];
	struct stat info;

	if (output->fd < 0 || output->tail == 0 || fstat(output->fd, &info) ||
	    info.st_size - output->from <= output->tail)
		return;
	output->from = info.st_size - output->tail;
	ssize_t count = pread(output->fd, bytes, sizeof(bytes), output->from - 1);
	const char *end = count > 0 ? memchr(bytes, '\n', (size_t)count) : NULL;

	if (end)
		output->from += end - bytes;
}

static ssize_t read_output(struct stream *stream, char *to, size_t room)
{
	struct output *output = (struct output *)stream;
	bool ended = atomic_load(
		&output->ended); /* before the read: what was written until then is seen */

	if (output->fd < 0 && atomic_load(&output->path)) {
		output->fd = open_as_user(output, NULL);
		skip_to_tail(output);
	}
	if (output->fd < 0) {
		output->looked_ns = env_now_ns(stream->front->env, ENV_MONOTONIC);
		return ended ? -1 : 0;
	}
	ssize_t count = pread(output->fd, to, room, output->from);

	if (count > 0)
		output->from += count;
	return count > 0 ? count : count < 0 || ended ? -1 : 0;
}

static bool output_ready(struct stream *stream, int64_t now_ns)
{
	struct output *output = (struct output *)stream;
	struct stat info;

	if (atomic_load(&output->ended))
		return true;
	if (output->fd < 0)
		return atomic_load(&output->path) && now_ns - output->looked_ns >= LOOK_AGAIN_NS;
	return fstat(output->fd, &info) || info.st_size > output->from;
}

static void free_output(struct stream *stream)
{
	struct output *output = (struct output *)stream;

	if (output->fd >= 0)
		close(output->fd);
	free(atomic_load(&output->path));
	free(output);
}

static const struct stream_class output_class = { "text/plain; charset=utf-8", read_output,
						  output_ready, free_output };

struct news {
	int64_t first, last; /* of these jobs */
	const char *output, *error;
	bool ended;
};

static void tell(struct stream *stream, void *context)
{
	struct output *output = (struct output *)stream;
	const struct news *news = context;
	const char *path = output->error && news->error ? news->error : news->output;

	if (output->job < news->first || output->job > news->last)
		return;
	if (path && !atomic_load(&output->path))
		atomic_store(&output->path, strdup(path));
	if (news->ended)
		atomic_store(&output->ended, true);
}

void output_started(struct decider *decider, const struct live *live)
{
	struct news news = { .first = live->job.id,
			     .last = live->job.id,
			     .output = live->output,
			     .error = live->error };

	streams_each(decider->streams, &output_class, tell, &news);
}

void output_ended(struct decider *decider, const struct live *live)
{
	struct news news = { .first = job_first_id(&live->job),
			     .last = live->job.id,
			     .ended = true };

	streams_each(decider->streams, &output_class, tell, &news);
}

/* ---- the last lines ---- */

enum { TAIL_BLOCK = 65536, TAIL_BYTES_MAX = 64 << 20 }; /* so far back is looked */

/* Where the last lines of a file of that size begin; a line that is not ended yet is one. */
static int64_t tail_from(int fd, int64_t size, int64_t lines)
{
	int64_t at = size, least = size > TAIL_BYTES_MAX ? size - TAIL_BYTES_MAX : 0;
	char block[TAIL_BLOCK];

	if (lines == 0)
		return size;
	while (at > least) {
		int64_t start = at - least > TAIL_BLOCK ? at - TAIL_BLOCK : least;
		ssize_t count = pread(fd, block, (size_t)(at - start), start);

		if (count != at - start)
			return at; /* it has become shorter meanwhile */
		for (ssize_t i = count - 1; i >= 0; i--)
			if (block[i] == '\n' && start + i + 1 < size && --lines == 0)
				return start + i + 1;
		at = start;
	}
	return least;
}

static void tell_tail(struct request *request, const struct output *output, int64_t lines)
{
	struct stat info;
	int64_t size = output->fd >= 0 && fstat(output->fd, &info) == 0 ? info.st_size : 0;

	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:I,s:I}", "from",
				 (json_int_t)(size ? tail_from(output->fd, size, lines) : 0),
				 "size", (json_int_t)size));
}

/* ---- the request ---- */

static void begin(struct request *request, const struct job *job, const char *path)
{
	const struct query *query = request->parsed;
	struct output *output = calloc(1, sizeof(*output));

	if (!output) {
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "out of memory");
		return;
	}
	output->base.cls = &output_class;
	output->fd = -1;
	output->job = job->id;
	output->uid = (uid_t)job->uid;
	output->gid = (gid_t)job->gid;
	output->error = query->error;
	output->from = query->from;
	output->tail = query->tail;
	/* as much as is there is a stream whose job counts as ended */
	atomic_init(&output->ended, !query->follow || job->completed_ns != 0);
	if (path)
		atomic_init(&output->path, strdup(path));
	stream_answer(request, &output->base);
}

static void get_output(struct decider *decider, struct request *request)
{
	const struct query *query = request->parsed;
	struct strata_error err;
	const char *path;
	const struct live *live;

	if (!api_job_find(decider, request, true, &live) || !live)
		return; /* the history is looked at then */
	path = query->error && live->error ? live->error : live->output;
	if (!path && live->job.attempt) /* started before this service was */
		job_files_output(&live->job, &live->spec->spec, query->error, &request->arena,
				 &path, &err);
	if (path || query->follow)
		begin(request, &live->job, path);
	else
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "job %.40s has not started; `strata why %.40s` says why",
			       request->segments[0], request->segments[0]);
}

/* Of a job that ended long ago. */
static void look_back(struct request *request)
{
	struct strata_error err = { 0 };
	struct job_spec spec;
	struct job job;
	const char *path;

	if (!api_job_read(request, &job) || !api_job_may(request, &job))
		return;
	const struct query *query = request->parsed;
	int rc = job.attempt ? job_spec_restore(job.request, &request->arena, &spec, &err)
			     : strata_fail(&err, -ENOENT, "job %lld never ran", (long long)job.id);

	if (rc == 0)
		rc = job_files_output(&job, &spec, query->error, &request->arena, &path, &err);

	if (rc)
		request_fail(request, rc, &err);
	else
		begin(request, &job, path);
}

/* A file that cannot be read is said while there still is a status to say it with. */
static void open_output(struct request *request)
{
	if (!request->answered && !request->stream)
		look_back(request);
	struct output *output = (struct output *)request->stream;
	struct strata_error why = { 0 };

	const struct query *query = request->query;

	if (output && atomic_load(&output->path))
		output->fd = open_as_user(output, &why);
	if (output && query->lines >= 0 && (output->fd >= 0 || !atomic_load(&output->ended))) {
		request->stream = NULL;
		request->answered = false;
		tell_tail(request, output, query->lines);
		stream_drop(&output->base);
		return;
	}
	if (output)
		skip_to_tail(output);
	if (!output || !atomic_load(&output->path) || output->fd >= 0 ||
	    !atomic_load(&output->ended))
		return;
	request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "cannot read %s: %s",
		       atomic_load(&output->path), why.text);
	stream_drop(&output->base);
	request->stream = NULL;
}

/* ---- routes ---- */

const struct route api_output_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/jobs/*/output",
	  .summary = "what it wrote",
	  .role = ROLE_USER,
	  .parse = parse_output,
	  .decide = get_output,
	  .finish = open_output,
	  .query = &output_query },
	{ 0 },
};
