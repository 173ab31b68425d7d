/*
 * GET /api/v1/tasks/{id}/events: how a task goes on, as server-sent events, up to its end. The
 * decider says it once for each follower (task_feed.h), after the commit that made it durable:
 * every change of its state, its place in line once a second, that there is a new preview. One that
 * has ended is told from the store, in one event.
 */
#include "core/buf.h"
#include "core/text.h"
#include "server/decider.h"
#include "server/event_stream.h"
#include "server/route.h"
#include "server/task_feed.h"
#include "server/task_routes.h"
#include "server/tasks.h"

#include <strata/text.h>

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#define POSITION_NS STRATA_SECOND_NS   /* so often a place in line is told */
#define KEEP_ALIVE_NS STRATA_SECOND_NS /* so often a reader sees that we live */

/* ---- the decider's list ---- */

struct task_feed *task_feeds_add(struct decider *decider, int64_t task, bool previews)
{
	struct task_feed_row *row = calloc(1, sizeof(*row));
	struct task_feed *feed = row ? task_feed_new(previews) : NULL;

	if (!feed) {
		free(row);
		return NULL;
	}
	*row = (struct task_feed_row){ .next = decider->task_feeds, .feed = feed, .task = task };
	decider->task_feeds = row;
	return task_feed_share(feed);
}

/* Whether there is something to say. */
static bool has_changed(const struct task_feed_row *row, const struct task *task, int64_t now_ns)
{
	return task->ended || row->status != task->row.status ||
	       row->steps_done != task->row.steps_done ||
	       (strcmp(task->row.status, "pending") == 0 && now_ns - row->said_ns >= POSITION_NS);
}

/* False: it has ended, and nothing comes any more. */
static bool tell(struct decider *decider, struct task_feed_row *row, int64_t now_ns)
{
	const struct task *task = task_find(decider, row->task);
	bool ended = !task || task->ended;

	if (task && task->preview && task->preview_number != row->preview_number) {
		row->preview_number = task->preview_number;
		task_feed_show(row->feed, task->preview, task->preview_bytes);
	}
	if (task && !has_changed(row, task, now_ns))
		return true;
	json_t *json = task ? task_view_live(decider, task, true) : NULL;

	task_feed_say(row->feed, json ? json_dumps(json, JSON_COMPACT) : NULL, ended);
	json_decref(json);
	row->said_ns = now_ns;
	if (!ended) {
		row->status = task->row.status;
		row->steps_done = task->row.steps_done;
	}
	return !ended;
}

void task_feeds_look(struct decider *decider)
{
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);
	struct task_feed_row **link = &decider->task_feeds;

	while (*link) {
		struct task_feed_row *row = *link;

		if (!task_feed_is_alone(row->feed) && tell(decider, row, now_ns)) {
			link = &row->next;
			continue;
		}
		*link = row->next;
		task_feed_drop(row->feed);
		free(row);
	}
}

int64_t task_feeds_due_ns(const struct decider *decider)
{
	int64_t due_ns = INT64_MAX;

	for (const struct task_feed_row *row = decider->task_feeds; row; row = row->next)
		if (row->status && strcmp(row->status, "pending") == 0 &&
		    row->said_ns + POSITION_NS < due_ns)
			due_ns = row->said_ns + POSITION_NS;
	return due_ns;
}

void task_feeds_free(struct decider *decider)
{
	while (decider->task_feeds) {
		struct task_feed_row *row = decider->task_feeds;

		decider->task_feeds = row->next;
		task_feed_drop(row->feed);
		free(row);
	}
}

/* ---- the stream ---- */

struct follower {
	struct stream base;
	struct strata_memory memory;
	struct task_feed *feed;
	struct buf text; /* not sent yet, from `sent` on */
	size_t sent;
	uint64_t number, preview_number; /* as read last */
	int64_t id, said_ns;
	bool over;
};

static void add_event(struct follower *follower, const char *kind, const char *data)
{
	buf_printf(&follower->text, "event: %s\ndata: ", kind);
	text_show_json(&follower->text, data, strlen(data));
	buf_add(&follower->text, "\n\n");
}

/* False: it is over, or there is no memory; the reader comes back. */
static bool refill(struct follower *follower)
{
	int64_t now_ns = env_now_ns(follower->base.front->env, ENV_MONOTONIC);
	struct task_news news;
	char hint[80];

	buf_reset(&follower->text);
	follower->sent = 0;
	if (follower->over ||
	    task_feed_read(follower->feed, follower->number, follower->preview_number, &news, NULL))
		return false;
	if (news.preview_number > follower->preview_number && !news.ended) {
		snprintf(hint, sizeof(hint), "{\"id\":%lld,\"preview\":%llu}",
			 (long long)follower->id, (unsigned long long)news.preview_number);
		add_event(follower, "preview", hint);
	}
	if (news.text)
		add_event(follower, news.ended ? "end" : "progress", news.text);
	follower->number = news.number;
	follower->preview_number = news.preview_number;
	follower->over = news.ended;
	free(news.text);
	free(news.preview);
	if (!follower->text.length && !follower->over &&
	    now_ns - follower->said_ns >= KEEP_ALIVE_NS)
		buf_add(&follower->text, ": here\n\n");
	if (follower->text.length)
		follower->said_ns = now_ns;
	return !follower->text.failed && (follower->text.length || !follower->over);
}

static ssize_t read_follower(struct stream *stream, char *to, size_t room)
{
	struct follower *follower = (struct follower *)stream;

	if (follower->sent == follower->text.length && !refill(follower))
		return -1;
	size_t left = follower->text.length - follower->sent;
	size_t count = left < room ? left : room;

	memcpy(to, follower->text.text + follower->sent, count);
	follower->sent += count;
	return (ssize_t)count;
}

static bool follower_ready(struct stream *stream, int64_t now_ns)
{
	const struct follower *follower = (struct follower *)stream;

	return follower->over || now_ns - follower->said_ns >= KEEP_ALIVE_NS ||
	       task_feed_has(follower->feed, follower->number, follower->preview_number);
}

static void free_follower(struct stream *stream)
{
	struct follower *follower = (struct follower *)stream;

	task_feed_drop(follower->feed);
	buf_fini(&follower->text);
	free(follower);
}

static const struct stream_class follower_class = { "text/event-stream; charset=utf-8",
						    read_follower, follower_ready, free_follower };

/* The feed becomes the stream's; NULL: no memory for it. */
static void answer_stream(struct request *request, struct task_feed *feed, int64_t id)
{
	struct follower *follower = feed ? calloc(1, sizeof(*follower)) : NULL;

	if (!follower) {
		task_feed_drop(feed);
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "out of memory");
		return;
	}
	follower->base.cls = &follower_class;
	follower->feed = feed;
	follower->id = id;
	follower->said_ns = env_now_ns(request->front->env, ENV_MONOTONIC);
	buf_init(&follower->text, &follower->memory, 0);
	buf_add(&follower->text, "retry: 1000\n\n");
	stream_answer(request, &follower->base);
}

/* ---- the route ---- */

static void release(struct request *request)
{
	task_feed_drop(request->parsed);
}

static void get_events(struct decider *decider, struct request *request)
{
	int64_t id = task_route_id(request);
	const struct task *task = id ? task_find(decider, id) : NULL;

	if (!task || !task_route_may(request, &task->row))
		return; /* answered, or the store is looked at */
	if (atomic_load(&decider->common->standing_by)) {
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "this server stands by: the one that leads tells how tasks go on");
		return;
	}
	request->parsed = task_feeds_add(decider, id, false);
	request->release = release;
	if (!request->parsed)
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "out of memory");
}

/* Of one that has ended: all there is to say. */
static void tell_end(struct request *request)
{
	struct store_task row;

	if (!task_route_read(request, &row) || !task_route_may(request, &row))
		return;
	struct task_feed *feed = task_feed_new(false);
	json_t *json = task_view(&row, true);

	if (feed)
		task_feed_say(feed, json ? json_dumps(json, JSON_COMPACT) : NULL, true);
	json_decref(json);
	answer_stream(request, feed, row.id);
}

static void start_stream(struct request *request)
{
	struct task_feed *feed = request->parsed;

	if (request->answered)
		return;
	request->parsed = NULL;
	if (feed)
		answer_stream(request, feed, task_route_id(request));
	else
		tell_end(request);
}

const struct route api_task_events_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/tasks/*/events",
	  .summary = "how a task goes on, up to its end",
	  .role = ROLE_READER,
	  .decide = get_events,
	  .finish = start_stream },
	{ 0 },
};
