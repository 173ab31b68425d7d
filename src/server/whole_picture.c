/* Asking and waiting in one: see whole_picture.h. */
#include "server/whole_picture.h"

#include "core/option.h"
#include "server/front.h"
#include "server/parked.h"
#include "server/results.h"
#include "server/route.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_NS (600 * STRATA_SECOND_NS)
enum { RETRY_S = 5 };

/* ---- reading ---- */

void whole_picture_release(struct request *request)
{
	struct whole_picture *picture = request->parsed;

	json_decref(picture->task);
	free(picture->preview);
}

static int read_fields(struct request *request, const json_t *json, struct whole_picture *picture,
		       struct strata_error *err)
{
	json_t *known = json_object(), *value;
	const char *key;
	bool bad = !known;
	int rc = strata_schema_defaults(&generate_schema, &request->arena, &picture->asked, err);

	json_object_foreach((json_t *)(uintptr_t)json, key, value)
		bad |= option_find(&generate_schema, key, strlen(key)) &&
		       json_object_set(known, key, value);
	if (rc == 0 && bad)
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = option_read_json(&generate_schema, known, 0, &request->arena, &picture->asked,
				      err);
	json_decref(known);
	return rc;
}

bool whole_picture_read(struct request *request, const json_t *json, struct whole_picture *picture)
{
	struct strata_error err = { 0 };
	int rc = read_fields(request, json, picture, &err);

	if (rc == 0)
		rc = generate_check(request, &picture->asked, &err);
	if (rc == 0)
		rc = init_image_keep(request, &picture->asked.init, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return false;
	}
	request->parsed = picture;
	request->release = whole_picture_release;
	return true;
}

/* ---- waiting ---- */

bool whole_picture_take(struct decider *decider, struct request *request)
{
	struct whole_picture *picture = request->parsed;
	struct strata_error err = { 0 };
	struct task *task;
	int rc = generate_take(decider, &request->who, &picture->asked, &task, &err);

	if (rc) {
		request->retry_after_s = rc == -EDQUOT ? RETRY_S : 0;
		generate_refused(decider, &picture->asked);
		request_fail(request, rc, &err);
		return false;
	}
	picture->id = task->row.id;
	request->durable = true;
	return true;
}

static void keep_preview(struct whole_picture *picture, const struct task *task)
{
	picture->preview = task->preview ? malloc(task->preview_bytes + 1) : NULL;
	if (!picture->preview)
		return;
	memcpy(picture->preview, task->preview, task->preview_bytes);
	picture->preview_bytes = task->preview_bytes;
}

static bool look(struct decider *decider, struct request *request, bool due)
{
	struct whole_picture *picture = request->parsed;
	const struct task *task = task_find(decider, picture->id);

	if (task && !task->ended && !due)
		return false;
	if (task && task->ended) {
		picture->task = task_view_live(decider, task, true);
		if (task->row.cancelled_by)
			keep_preview(picture, task);
	}
	request_answer_empty(request, MHD_HTTP_OK);
	return true;
}

void whole_picture_wait(struct decider *decider, struct request *request)
{
	if (!parked_add(decider, request, WAIT_NS, look))
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "out of memory");
}

struct request *whole_picture_waiting(const struct decider *decider, const struct identity *who,
				      const char *path_prefix)
{
	struct request *oldest = NULL;

	for (const struct parked *parked = decider->parked; parked; parked = parked->next)
		if (parked->look == look && parked->request->who.uid == who->uid &&
		    strncmp(parked->request->route->path, path_prefix, strlen(path_prefix)) == 0)
			oldest = parked->request; /* newest first */
	return oldest;
}

/* ---- answering ---- */

bool whole_picture_check(struct request *request, bool *cancelled)
{
	const struct whole_picture *picture = request->parsed;
	const char *status = json_string_value(json_object_get(picture->task, "status"));
	const char *error = json_string_value(json_object_get(picture->task, "error"));
	const char *by = json_string_value(json_object_get(picture->task, "cancelled_by"));

	/* 422: who repeats it gets the same again, and clients repeat what is 5xx or 409 */
	if (!status)
		request_refuse(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "timed_out",
			       "task T%lld has not ended after %d s and goes on; GET "
			       "/api/v1/tasks/%lld tells of it",
			       (long long)picture->id, (int)(WAIT_NS / STRATA_SECOND_NS),
			       (long long)picture->id);
	else if (strcmp(status, "finished") == 0)
		return true;
	else if (strcmp(status, "cancelled") == 0 && cancelled)
		*cancelled = true;
	else if (strcmp(status, "cancelled") == 0)
		request_refuse(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "cancelled",
			       "task T%lld was cancelled by %s", (long long)picture->id,
			       by ? by : "nobody");
	else
		request_refuse(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "failed",
			       "task T%lld failed: %s", (long long)picture->id,
			       error ? error : "no reason was given");
	return false;
}

int64_t whole_picture_bytes(const json_t *task)
{
	const json_t *images = json_object_get(task, "images");
	int64_t bytes = 0;

	for (size_t i = 0; i < json_array_size(images); i++)
		bytes += json_integer_value(json_object_get(json_array_get(images, i), "bytes"));
	return bytes;
}

static int read_file(int fd, char *bytes, size_t count)
{
	for (size_t done = 0; done < count;) {
		ssize_t got = read(fd, bytes + done, count - done);

		if (got == 0 || (got < 0 && errno != EINTR))
			return -EIO;
		done += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

int whole_picture_add(const struct request *request, const json_t *task, size_t index,
		      struct buf *buf, struct strata_error *err)
{
	const json_t *image = json_array_get(json_object_get(task, "images"), index);
	const char *hash = json_string_value(json_object_get(image, "hash"));
	uint64_t count = 0;
	int fd = results_open_file(request->front->conf->state_dir, hash ? hash : "", &count, err);

	if (fd < 0)
		return fd;
	char *bytes = malloc(count + 1);
	int rc = bytes ? read_file(fd, bytes, count) : strata_fail_memory(err);

	if (rc == 0)
		buf_add_base64(buf, bytes, count);
	else if (bytes)
		strata_fail(err, rc, "the picture %.64s cannot be read", hash);
	free(bytes);
	close(fd);
	return rc ? rc : buf_check(buf, err);
}
