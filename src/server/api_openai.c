/*
 * /v1/…: as much of OpenAI's API of pictures as its clients need to draw with this service as it
 * is: POST /v1/images/generations (waits for the picture, or streams what comes of it), GET
 * /v1/models. Their fields that mean nothing here are passed over, and ours (steps, seed,
 * negative_prompt …) may stand beside theirs. Errors have their form (request.c). And the links
 * that response_format "url" gives, which anybody may follow until they expire.
 */
#include "core/option.h"
#include "core/text.h"
#include "server/decider.h"
#include "server/event_stream.h"
#include "server/front.h"
#include "server/picture_link.h"
#include "server/results.h"
#include "server/route.h"
#include "server/task_feed.h"
#include "server/whole_picture.h"

#include <strata/limits.h>
#include <strata/solver.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINK_S = 3600,               /* so long a link is good */
	ANSWER_BYTES_MAX = 64 << 20, /* of pictures in one answer */
	PARTIAL_MAX = 3,             /* as theirs */
};
#define READER_WAIT_NS (5 * STRATA_SECOND_NS)

/* ---- reading ---- */

enum format { FORMAT_BOTH, FORMAT_BASE64, FORMAT_URL };

struct theirs {
	const char *size;
	int format, output;
	bool stream;
	int64_t partial_images;
};

struct generation {
	struct whole_picture whole; /* first: the request is one of those */
	struct theirs theirs;
	struct task_feed *feed; /* of one that is streamed; until the stream has it */
};

static const struct strata_choice formats[] = { { "b64_json", FORMAT_BASE64, NULL },
						{ "url", FORMAT_URL, NULL },
						{ "both", FORMAT_BOTH, NULL },
						{ 0 } };
static const struct strata_choice outputs[] = { { "png", 0, NULL }, { 0 } };

#define OF(field) offsetof(struct theirs, field)
static const struct strata_option their_options[] = {
	{ "size", STRATA_TEXT, OF(size), .text = { "auto", 32 },
	  .help = "1024x1024; auto: the model's" },
	{ "response_format", STRATA_ENUM, OF(format), .choice = { formats, FORMAT_BOTH },
	  .help = "b64_json, url; both when left out" },
	{ "output_format", STRATA_ENUM, OF(output), .choice = { outputs, 0 }, .help = "png" },
	{ "stream", STRATA_BOOL, OF(stream), .help = "tell what comes of it as it comes" },
	{ "partial_images", STRATA_INT, OF(partial_images), .integer = { 0, 0, PARTIAL_MAX },
	  .help = "previews of one that is streamed, at most" },
	{ 0 }
};
#undef OF
static const struct strata_schema their_schema = { "images/generations", NULL,
						   sizeof(struct theirs), their_options };

static int read_theirs(struct request *request, const json_t *json, struct theirs *theirs,
		       struct strata_error *err)
{
	json_t *known = json_object();
	bool bad = !known;
	int rc = strata_schema_defaults(&their_schema, &request->arena, theirs, err);

	for (const struct strata_option *at = their_options; at->name; at++) {
		json_t *value = json_object_get(json, at->name);

		bad |= value && json_object_set(known, at->name, value);
	}
	if (rc == 0 && bad)
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = option_read_json(&their_schema, known, 0, &request->arena, theirs, err);
	json_decref(known);
	return rc;
}

/* "512x768" over what the caller's width and height say. */
static int set_size(const char *size, json_t *json, struct strata_error *err)
{
	const char *x = strchr(size, 'x');
	int64_t width, height;

	if (strcmp(size, "auto") == 0)
		return 0;
	if (!x ||
	    strata_int_parse(size, (size_t)(x - size), 1, STRATA_IMAGE_SIDE_MAX, &width, NULL) ||
	    strata_int_parse(x + 1, STRATA_TEXT_NUL, 1, STRATA_IMAGE_SIDE_MAX, &height, NULL))
		return strata_fail_at(err, -EINVAL, "size",
				      "size is '%.32s'; expected auto or WIDTHxHEIGHT with 1 to "
				      "%d pixels each way",
				      size, STRATA_IMAGE_SIDE_MAX);
	if (json_object_set_new(json, "width", json_integer(width)) ||
	    json_object_set_new(json, "height", json_integer(height)))
		return strata_fail_memory(err);
	return 0;
}

/* Theirs (low, high, hd …) is about size and price and means nothing here; a word of ours
 * counts. */
static void drop_their_quality(json_t *json)
{
	const char *word = json_string_value(json_object_get(json, "quality"));
	bool ours = false;

	for (size_t i = 0; word && strata_quality_name(i); i++)
		ours |= strcmp(word, strata_quality_name(i)) == 0;
	if (!ours)
		json_object_del(json, "quality");
}

static void release(struct request *request)
{
	struct generation *it = request->parsed;

	task_feed_drop(it->feed);
	whole_picture_release(request);
}

static void parse_generation(struct request *request)
{
	struct generation *it = strata_arena_get(&request->arena, sizeof(*it));
	struct strata_error err = { 0 };
	json_t *json = it ? request_json(request) : NULL;

	if (!it)
		request_answer(request, MHD_HTTP_OK, NULL);
	if (!json)
		return;
	int rc = read_theirs(request, json, &it->theirs, &err);

	drop_their_quality(json);
	if (rc == 0)
		rc = set_size(it->theirs.size, json, &err);
	if (rc)
		request_fail(request, rc, &err);
	else if (whole_picture_read(request, json, &it->whole))
		request->release = release;
	json_decref(json);
}

/* ---- deciding ---- */

static void post_generation(struct decider *decider, struct request *request)
{
	struct generation *it = request->parsed;

	if (!whole_picture_take(decider, request))
		return;
	if (!it->theirs.stream) {
		whole_picture_wait(decider, request);
		return;
	}
	it->feed = task_feeds_add(decider, it->whole.id, true);
	if (it->feed)
		request_answer_empty(request, MHD_HTTP_OK);
	else
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "out of memory");
}

/* ---- the whole answer ---- */

/* Where the caller has found us. */
static void add_link(const struct request *request, int64_t task, size_t number, struct buf *buf)
{
	const char *host =
		MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Host");
	char path[PICTURE_LINK_BYTES];
	bool plain = host && *host &&
		     strspn(host, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  ".-_:[]") == strlen(host);

	picture_link_make(request->front->common->job_key, task, (int64_t)number,
			  common_now_ns(request->front->common) / STRATA_SECOND_NS + LINK_S, path);
	buf_printf(buf, "http%s://%.255s%s", request->encrypted ? "s" : "",
		   plain ? host : "localhost", path);
}

static int add_picture(const struct request *request, size_t number, struct buf *buf,
		       struct strata_error *err)
{
	const struct generation *it = request->parsed;
	int rc = 0;

	buf_add(buf, number ? ",{" : "{");
	if (it->theirs.format != FORMAT_URL) {
		buf_add(buf, "\"b64_json\":\"");
		rc = whole_picture_add(request, it->whole.task, number, buf, err);
		buf_add(buf, it->theirs.format == FORMAT_BOTH ? "\"," : "\"");
	}
	if (it->theirs.format != FORMAT_BASE64) {
		buf_add(buf, "\"url\":\"");
		add_link(request, it->whole.id, number, buf);
		buf_add(buf, "\"");
	}
	buf_add(buf, "}");
	return rc ? rc : buf_check(buf, err);
}

static int64_t now_s(const struct request *request)
{
	return common_now_ns(request->front->common) / STRATA_SECOND_NS;
}

static void add_size(const json_t *task, struct buf *buf)
{
	const json_t *image = json_array_get(json_object_get(task, "images"), 0);

	buf_printf(buf,
		   "\"size\":\"%lldx%lld\",\"quality\":\"%s\",\"output_format\":\"png\","
		   "\"background\":\"opaque\"",
		   (long long)json_integer_value(json_object_get(image, "width")),
		   (long long)json_integer_value(json_object_get(image, "height")), "auto");
}

static void answer_whole(struct request *request)
{
	const struct generation *it = request->parsed;
	size_t count = json_array_size(json_object_get(it->whole.task, "images"));
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct buf buf;
	int rc = 0;

	if (it->theirs.format != FORMAT_URL &&
	    whole_picture_bytes(it->whole.task) > ANSWER_BYTES_MAX) {
		request_refuse(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "too_large",
			       "the pictures of task T%lld have more than %d bytes; ask for "
			       "response_format url",
			       (long long)it->whole.id, ANSWER_BYTES_MAX);
		return;
	}
	buf_init(&buf, &memory, 0);
	buf_printf(&buf, "{\"created\":%lld,", (long long)now_s(request));
	buf_add(&buf, "\"data\":[");
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_picture(request, i, &buf, &err);
	buf_add(&buf, "]}");
	if (rc == 0)
		rc = buf_check(&buf, &err);
	if (rc)
		request_fail(request, rc, &err);
	else
		request_give_text(request, MHD_HTTP_OK, "application/json", strdup(buf.text));
	buf_fini(&buf);
}

/* ---- the stream ---- */

struct generation_stream {
	struct stream base;
	struct strata_memory memory;
	struct task_feed *feed;
	struct request shadow; /* what is needed of the request: its front */
	struct buf text;       /* not sent yet, from `sent` on */
	size_t sent;
	uint64_t number, preview_number;
	int64_t partial_left, partial_index, said_ns;
	bool over;
};

static void add_partial(struct generation_stream *it, const struct task_news *news)
{
	buf_add(&it->text, "event: image_generation.partial_image\ndata: "
			   "{\"type\":\"image_generation.partial_image\",");
	buf_printf(&it->text, "\"partial_image_index\":%lld,\"created_at\":%lld,",
		   (long long)it->partial_index++, (long long)now_s(&it->shadow));
	buf_add(&it->text, "\"size\":\"auto\",\"quality\":\"auto\",\"output_format\":\"png\","
			   "\"background\":\"opaque\",\"b64_json\":\"");
	buf_add_base64(&it->text, news->preview, news->preview_bytes);
	buf_add(&it->text, "\"}\n\n");
	it->partial_left--;
}

static int add_completed(struct generation_stream *it, const json_t *task, size_t number,
			 struct strata_error *err)
{
	buf_add(&it->text, "event: image_generation.completed\ndata: "
			   "{\"type\":\"image_generation.completed\",");
	buf_printf(&it->text, "\"created_at\":%lld,", (long long)now_s(&it->shadow));
	add_size(task, &it->text);
	buf_add(&it->text, ",\"usage\":{\"input_tokens\":0,\"output_tokens\":0,\"total_tokens\":0,"
			   "\"input_tokens_details\":{\"image_tokens\":0,\"text_tokens\":0}},"
			   "\"b64_json\":\"");
	int rc = whole_picture_add(&it->shadow, task, number, &it->text, err);

	buf_add(&it->text, "\"}\n\n");
	return rc;
}

static void add_error(struct generation_stream *it, const char *code, const char *message)
{
	json_t *json = json_pack("{s:s,s:{s:s,s:s,s:s,s:n}}", "type", "error", "error", "type",
				 "image_generation_error", "code", code, "message", message,
				 "param");
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	buf_add(&it->text, "event: error\ndata: ");
	if (text)
		text_show_json(&it->text, text, strlen(text));
	buf_add(&it->text, "\n\n");
	free(text);
	json_decref(json);
}

static void add_end(struct generation_stream *it, const char *text)
{
	json_t *task = text ? json_loads(text, 0, NULL) : NULL;
	const char *status = json_string_value(json_object_get(task, "status"));
	const char *error = json_string_value(json_object_get(task, "error"));
	size_t count = json_array_size(json_object_get(task, "images"));
	struct strata_error err = { 0 };
	int rc = 0;

	if (!status || strcmp(status, "finished") != 0)
		add_error(it, status ? status : "unavailable",
			  error ? error : "the task has ended without a picture");
	else if (whole_picture_bytes(task) > ANSWER_BYTES_MAX)
		add_error(it, "too_large",
			  "the pictures are too large for one answer; ask for "
			  "response_format url");
	else
		for (size_t i = 0; rc == 0 && i < count; i++) {
			size_t before = it->text.length;

			rc = add_completed(it, task, i, &err);
			if (rc) {
				it->text.length = before;
				add_error(it, "failed", err.text);
			}
		}
	json_decref(task);
}

static bool refill(struct generation_stream *it)
{
	int64_t now_ns = env_now_ns(it->base.front->env, ENV_MONOTONIC);
	struct task_news news;

	buf_reset(&it->text);
	it->sent = 0;
	if (it->over || task_feed_read(it->feed, it->number, it->preview_number, &news, NULL))
		return false;
	if (news.preview && it->partial_left > 0 && !news.ended)
		add_partial(it, &news);
	if (news.ended)
		add_end(it, news.text);
	it->number = news.number;
	it->preview_number = news.preview_number;
	it->over = news.ended;
	free(news.text);
	free(news.preview);
	if (!it->text.length && now_ns - it->said_ns >= 15 * STRATA_SECOND_NS)
		buf_add(&it->text, ": here\n\n");
	if (it->text.length)
		it->said_ns = now_ns;
	return !it->text.failed && (it->text.length || !it->over);
}

static ssize_t read_stream(struct stream *stream, char *to, size_t room)
{
	struct generation_stream *it = (struct generation_stream *)stream;

	if (it->sent == it->text.length && !refill(it))
		return -1;
	size_t left = it->text.length - it->sent, count = left < room ? left : room;

	memcpy(to, it->text.text + it->sent, count);
	it->sent += count;
	return (ssize_t)count;
}

static bool stream_ready(struct stream *stream, int64_t now_ns)
{
	const struct generation_stream *it = (struct generation_stream *)stream;

	return it->over || now_ns - it->said_ns >= 15 * STRATA_SECOND_NS ||
	       task_feed_has(it->feed, it->number, it->preview_number);
}

static void free_stream(struct stream *stream)
{
	struct generation_stream *it = (struct generation_stream *)stream;

	task_feed_drop(it->feed);
	buf_fini(&it->text);
	free(it);
}

static const struct stream_class generation_class = { "text/event-stream; charset=utf-8",
						      read_stream, stream_ready, free_stream };

static void answer_stream(struct request *request, struct generation *asked)
{
	struct generation_stream *it = calloc(1, sizeof(*it));

	if (!it) {
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "out of memory");
		return;
	}
	it->base.cls = &generation_class;
	it->feed = task_feed_share(asked->feed);
	it->shadow.front = request->front;
	it->partial_left = asked->theirs.partial_images;
	it->said_ns = env_now_ns(request->front->env, ENV_MONOTONIC);
	buf_init(&it->text, &it->memory, 0);
	stream_answer(request, &it->base);
}

static void finish_generation(struct request *request)
{
	struct generation *it = request->parsed;

	if (it->feed && request->status == MHD_HTTP_OK)
		answer_stream(request, it);
	task_feed_drop(it->feed);
	it->feed = NULL;
	if (!request->stream && request->status == MHD_HTTP_OK &&
	    whole_picture_check(request, NULL))
		answer_whole(request);
}

/* ---- models ---- */

static json_t *view_model(const struct model *model)
{
	return json_pack("{s:s,s:s,s:I,s:s}", "id", model->name, "object", "model", "created",
			 (json_int_t)(model->created_ns / STRATA_SECOND_NS), "owned_by", "strata");
}

static void get_models(struct decider *decider, struct request *request)
{
	json_t *list = json_array();

	for (const struct model *model = model_next(decider, NULL); model;
	     model = model_next(decider, model))
		json_array_append_new(list, view_model(model));
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:s,s:o}", "object", "list", "data", list));
}

static void get_model(struct decider *decider, struct request *request)
{
	const struct model *model = models_find(decider, request->segments[0]);

	if (model)
		request_answer(request, MHD_HTTP_OK, view_model(model));
	else
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "there is no model %.60s; GET /v1/models lists them",
			       request->segments[0]);
}

/* ---- links ---- */

static void get_linked(struct request *request)
{
	struct strata_error err = { 0 };
	struct store_task row;
	struct store *store;
	int64_t id, number, expires_s;

	if (!picture_link_read(request->front->common->job_key, request->segments, &id, &number,
			       &expires_s)) {
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "the link is not one that this service made");
		return;
	}
	if (expires_s <= now_s(request)) {
		request_refuse(request, MHD_HTTP_GONE, "gone",
			       "the link has expired; its owner can get the picture as GET "
			       "/api/v1/tasks/%lld/image/%lld",
			       (long long)id, (long long)number);
		return;
	}
	int rc = store_readers_take(request->front->readers, READER_WAIT_NS, &store, &err);

	if (rc == 0) {
		rc = store_task_get(store, id, &request->arena, &row, &err);
		store_readers_give(request->front->readers, store);
	}
	json_t *images = rc == 0 && row.images ? json_loads(row.images, 0, NULL) : NULL;
	const char *hash =
		json_string_value(json_object_get(json_array_get(images, (size_t)number), "hash"));

	if (rc == 0 && !hash)
		rc = strata_fail(&err, -ENOENT, "the picture is not there any more");
	if (rc)
		request_fail(request, rc, &err);
	else
		results_answer(request, hash);
	json_decref(images);
}

/* ---- routes ---- */

const struct route api_openai_routes[] = {
	{ .method = "POST",
	  .path = "/v1/images/generations",
	  .summary = "OpenAI's: draw pictures",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_GENERATE_BODY_BYTES_MAX,
	  .parse = parse_generation,
	  .decide = post_generation,
	  .finish = finish_generation },
	{ .method = "GET",
	  .path = "/v1/models",
	  .summary = "OpenAI's: models",
	  .role = ROLE_READER,
	  .decide = get_models,
	  .answer = "object data" },
	{ .method = "GET",
	  .path = "/v1/models/*",
	  .summary = "OpenAI's: one model",
	  .role = ROLE_READER,
	  .decide = get_model,
	  .answer = "id object created" },
	{ .method = "GET",
	  .path = PICTURE_LINK_PREFIX "*/*/*/*",
	  .summary = "a picture, by a link that expires",
	  .role = ROLE_NONE,
	  .parse = get_linked },
	{ 0 },
};
