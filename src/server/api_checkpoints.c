/*
 * /api/v1/jobs/…/checkpoints: what a job could go on from. Jobs tell by renaming into their
 * directory, which the supervisor sees, or by asking here. A path may be anywhere that whoever
 * reports it can read; what the service deletes again is only what is in the job's own directory,
 * and with its user's rights.
 */
#include "core/env_path.h"
#include "exec/record.h"
#include "server/api_jobs.h"
#include "server/as_user.h"
#include "server/checkpoint.h"
#include "server/mirror.h"
#include "server/decider.h"
#include "server/front.h"
#include "server/live.h"
#include "server/remover.h"
#include "server/route.h"
#include "core/env_log.h"
#include "server/view.h"

#include <strata/limits.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- for the decider ---- */

/* A job that reports a step and then is seen to have written the file has written it once. */
static void keep_step(const struct strata_checkpoint *kept, size_t count,
		      struct strata_checkpoint *checkpoint)
{
	if (count && checkpoint->step < 0 && strcmp(kept[0].path, checkpoint->path) == 0)
		checkpoint->step = kept[0].step;
}

int checkpoint_note(struct decider *decider, struct live *live,
		    const struct strata_checkpoint *checkpoint, struct strata_error *err)
{
	int64_t now_ns = decider_now_ns(decider);
	struct strata_checkpoint own = *checkpoint, kept[2] = { 0 };
	uint64_t id = (uint64_t)live->job.id;

	keep_step(kept, strata_cluster_checkpoints(decider->cluster, id, kept), &own);
	int rc = strata_cluster_checkpoint(decider->cluster, id, &own, now_ns, err);

	if (rc)
		return rc;
	char *path = strdup(own.path);

	if (path) {
		free(live->checkpoint);
		live->checkpoint = path;
	}
	size_t count = strata_cluster_checkpoints(decider->cluster, id, kept);

	for (size_t i = 0; i < count; i++) {
		struct store_checkpoint row = { .job = live->job.id,
						.rank = (int64_t)i,
						.path = kept[i].path,
						.size_bytes = kept[i].size_bytes,
						.at_ns = kept[i].time_ns,
						.step = kept[i].step };

		batch_put(decider, STORE_PUT(&row));
	}
	mirror_store(decider, live, own.path);
	batch_event(decider, live->job.id, "job.checkpoint",
		    json_pack("{s:s,s:I,s:I}", "path", own.path, "step", (json_int_t)own.step,
			      "size_bytes", (json_int_t)own.size_bytes));
	return 0;
}

/* A file, or a directory and what is in it; links are not followed. */
static void remove_tree(int dir, const char *name, int depth)
{
	enum { DEPTH_MAX = 16 };
	const struct dirent *entry;

	if (unlinkat(dir, name, 0) == 0 || depth == DEPTH_MAX)
		return;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	while (list && (entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_tree(fd, entry->d_name, depth + 1);
	if (list)
		closedir(list);
	unlinkat(dir, name, AT_REMOVEDIR);
}

/* STATE/checkpoints/17; with `ending` the record beside it. */
static const char *place_of(const struct server_conf *conf, struct strata_arena *arena, int64_t job,
			    const char *ending)
{
	return strata_arena_printf(arena, "%s/%lld%s", conf->checkpoint_dir, (long long)job,
				   ending);
}

/* On the remover's thread. */
void checkpoint_remove(const struct common *common, const struct removal *removal)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct record_checkpoint last = { 0 };
	const char *path = removal->path;

	strata_arena_init(&arena, &memory, 0);
	const char *place = place_of(common->conf, &arena, removal->job, "");
	const char *record = place_of(common->conf, &arena, removal->job, ".json");
	size_t length = place ? strlen(place) : 0;

	if (place && strncmp(path, place, length) == 0 && path[length] == '/' && path[length + 1] &&
	    !strchr(path + length + 1, '/') && as_user_begin(removal->uid, removal->gid)) {
		int dir = env_path_open(AT_FDCWD, place, ENV_PATH_DIR, O_RDONLY | O_NOFOLLOW, 0,
					NULL);

		if (dir >= 0) {
			remove_tree(dir, path + length + 1, 0);
			close(dir);
		}
		as_user_end();
	}
	if (record &&
	    record_read(common->env, AT_FDCWD, record, &record_checkpoint_schema, &arena, &last,
			NULL) == 0 &&
	    last.path && strcmp(last.path, path) == 0)
		unlink(record);
	if (place && rmdir(place) < 0 && errno != ENOTEMPTY && errno != ENOENT && errno != EEXIST)
		log_warning("checkpoints", "cannot remove %s: %s", place, strerror(errno));
	strata_arena_fini(&arena);
}

/* ---- routes ---- */

/* Where there are copies, it says whether there is one of it, or why not. */
static json_t *view_checkpoint(struct decider *decider, const struct live *live,
			       const struct strata_checkpoint *kept)
{
	const char *why_not;
	bool copied = mirror_has(decider, live, kept->path, &why_not);
	json_t *json = json_pack("{s:s,s:I,s:o,s:o}", "path", kept->path, "size_bytes",
				 (json_int_t)kept->size_bytes, "time", view_time(kept->time_ns),
				 "step", kept->step < 0 ? json_null() : json_integer((json_int_t)kept->step));

	if (decider->mirror) {
		json_object_set_new(json, "copied", json_boolean(copied));
		json_object_set_new(json, "not_copied", why_not ? json_string(why_not) : json_null());
	}
	return json;
}

static void get_checkpoints(struct decider *decider, struct request *request)
{
	struct strata_checkpoint kept[2];
	const struct live *live = api_job_look_live(decider, request, false);

	if (!live)
		return;
	json_t *list = json_array();
	size_t count = strata_cluster_checkpoints(decider->cluster, (uint64_t)live->job.id, kept);

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, view_checkpoint(decider, live, &kept[i]));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "checkpoints", list));
}

static void delete_checkpoints(struct decider *decider, struct request *request)
{
	struct strata_error err = { 0 };
	struct live *live = api_job_find_live(decider, request, true);

	if (!live)
		return;
	int rc = strata_cluster_drop_checkpoints(decider->cluster, (uint64_t)live->job.id,
						 decider_now_ns(decider), &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	for (int64_t rank = 0; rank < 2; rank++) {
		struct store_checkpoint row = { .job = live->job.id, .rank = rank };

		batch_put(decider, STORE_DELETE(&row));
	}
	free(live->checkpoint);
	live->checkpoint = NULL;
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json_pack("{s:I}", "id", (json_int_t)live->job.id));
}

/* ---- reports ---- */

struct report {
	const char *path;
	int64_t step, size_bytes;
	int64_t job, attempt, time_ns; /* filled in by the decider */
};
static const struct strata_option report_options[] = {
	{ "path", STRATA_TEXT, offsetof(struct report, path), .flags = STRATA_REQUIRED,
	  .text = { NULL, STRATA_PATH_BYTES_MAX - 1 }, .help = "what was written; absolute" },
	{ "step", STRATA_INT, offsetof(struct report, step), .integer = { -1, -1, INT64_MAX },
	  .help = "how far the job had come; -1: not told" },
	{ "size_bytes", STRATA_INT, offsetof(struct report, size_bytes),
	  .integer = { -1, -1, INT64_MAX }, .help = "its size; -1: that of the file" },
	{ 0 }
};
static const struct strata_schema checkpoint_schema = { "checkpoint", NULL, sizeof(struct report),
							report_options };

/* Is it a path that means the same to everybody, and is it there for whoever reports it? */
static int check_report(const struct identity *who, struct report *report, struct strata_error *err)
{
	size_t length = strlen(report->path);
	struct strata_error why = { 0 };
	struct stat info = { 0 };

	if (report->path[0] != '/' || strstr(report->path, "/../") ||
	    (length >= 3 && strcmp(report->path + length - 3, "/..") == 0))
		return strata_fail_at(err, -EINVAL, "path",
				      "path is %.100s; expected an absolute one without ..",
				      report->path);
	if (!as_user_begin(who->uid, who->gid))
		return strata_fail(err, -EPERM, "the service cannot act for user %u", who->uid);
	int fd = env_path_open(AT_FDCWD, report->path, ENV_PATH_FILE_DIR, O_RDONLY, 0, &why);

	as_user_end();
	if (fd < 0)
		return strata_fail_at(err, -EINVAL, "path",
				      "path is %.100s, which you cannot read: %s", report->path,
				      why.text);
	if (fstat(fd, &info) < 0)
		info = (struct stat){ 0 };
	close(fd);
	if (report->size_bytes < 0)
		report->size_bytes = S_ISREG(info.st_mode) ? info.st_size : 0;
	return 0;
}

static void parse_checkpoint(struct request *request)
{
	struct report *report = strata_arena_get(&request->arena, sizeof(*report));
	struct strata_error err = { 0 };
	int rc = report ? strata_schema_defaults(&checkpoint_schema, &request->arena, report, &err)
			: strata_fail_memory(&err);

	if (rc == 0)
		rc = strata_schema_read_json(&checkpoint_schema, request->body ? request->body : "",
					     request->body_length, &request->arena, report, &err);
	if (rc == 0)
		rc = check_report(&request->who, report, &err);
	request->parsed = report;
	if (rc)
		request_fail(request, rc, &err);
}

static void post_checkpoint(struct decider *decider, struct request *request)
{
	struct report *report = request->parsed;
	struct strata_error err = { 0 };
	struct live *live = api_job_find_live(decider, request, true);

	if (!live)
		return;
	report->job = live->job.id;
	report->attempt = live->job.attempt;
	report->time_ns = decider_now_ns(decider);
	struct strata_checkpoint checkpoint = { .path = report->path,
						.size_bytes = report->size_bytes,
						.time_ns = report->time_ns,
						.step = report->step };
	int rc = checkpoint_note(decider, live, &checkpoint, &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->durable = true;
	request_answer(request, MHD_HTTP_CREATED,
		       json_pack("{s:I,s:I,s:s,s:I,s:I,s:o}", "id", (json_int_t)report->job,
				 "attempt", (json_int_t)report->attempt, "path", report->path,
				 "step", (json_int_t)report->step, "size_bytes",
				 (json_int_t)report->size_bytes, "time",
				 view_time(report->time_ns)));
}

/* The record by which anybody finds the newest one, also without the service. */
static void write_record(struct request *request)
{
	const struct report *report = request->parsed;
	const char *path =
		report ? place_of(request->front->conf, &request->arena, report->job, ".json")
		       : NULL;
	struct strata_error err = { 0 };

	if (request->status != MHD_HTTP_CREATED || !path)
		return;
	struct record_checkpoint record = { .count = 1,
					    .attempt = report->attempt,
					    .written_ns = report->time_ns,
					    .path = report->path,
					    .step = report->step,
					    .size_bytes = report->size_bytes };

	if (record_write(request->front->env, AT_FDCWD, path, &record_checkpoint_schema, &record,
			 &request->memory, &err))
		log_say(LOG_LEVEL_WARNING, "checkpoints", report->job, "%s", err.text);
}

/* ---- routes ---- */

const struct route api_checkpoints_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/jobs/*/checkpoints",
	  .summary = "its checkpoints",
	  .role = ROLE_READER,
	  .decide = get_checkpoints,
	  .answer = "checkpoints" },
	{ .method = "POST",
	  .path = "/api/v1/jobs/*/checkpoints",
	  .summary = "report one",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_checkpoint,
	  .decide = post_checkpoint,
	  .finish = write_record,
	  .body = &checkpoint_schema,
	  .answer = "",
	  .also = 201 },
	{ .method = "DELETE",
	  .path = "/api/v1/jobs/*/checkpoints",
	  .summary = "delete them",
	  .role = ROLE_USER,
	  .decide = delete_checkpoints,
	  .answer = "id" },
	{ 0 },
};
