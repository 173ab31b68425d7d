/*
 * What happened: a page of it as JSON, or server-sent events, which go on until the reader hangs
 * up. Events are read from the store, so that a stream that was cut goes on where it was, whichever
 * server it comes back to.
 */
#include "core/buf.h"
#include "core/text.h"
#include "server/event_ring.h"
#include "server/front.h"
#include "server/route.h"
#include "server/event_stream.h"
#include "server/view.h"

#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_MAX = 1000, STREAM_PAGE = 100, RING_PAGE = 500 };
#define READER_WAIT_NS (5 * STRATA_SECOND_NS)
#define KEEP_ALIVE_NS \
	(15 *         \
	 STRATA_SECOND_NS) /* so often something is said, so that proxies and readers see that we live */

static json_t *view_event(const struct store_event *row)
{
	json_t *about = row->about ? json_loads(row->about, 0, NULL) : NULL;

	return json_pack("{s:I,s:o,s:I,s:s,s:o}", "sequence", (json_int_t)row->sequence, "at",
			 view_exact_time(row->at_ns), "job", (json_int_t)row->job, "kind",
			 row->kind, "about", about ? about : json_object());
}

static int read_page(struct front *front, int64_t after, size_t limit, store_each *each,
		     void *context, struct strata_error *err)
{
	struct store *store;
	int rc = store_readers_take(front->readers, READER_WAIT_NS, &store, err);

	if (rc == 0) {
		rc = store_events_page(store, after, limit, each, context, err);
		store_readers_give(front->readers, store);
	}
	return rc;
}

/* ---- a page ---- */

struct page {
	const struct identity *who;
	json_t *list;
};

static int add_event(void *context, const void *row, struct strata_error *err)
{
	const struct page *page = context;

	char *owner;

	if (event_owner(row, &owner))
		return strata_fail_memory(err);
	bool shown = event_is_for(owner, page->who->user, page->who->role);

	free(owner);
	if (!shown)
		return 0;
	return json_array_append_new(page->list, view_event(row)) ? strata_fail_memory(err) : 0;
}

static void answer_page(struct request *request, int64_t after, int64_t limit)
{
	struct strata_error err = { 0 };
	struct page page = { .who = &request->who, .list = json_array() };
	int rc = read_page(request->front, after, (size_t)limit, add_event, &page, &err);

	if (rc) {
		json_decref(page.list);
		request_fail(request, rc, &err);
		return;
	}
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "events", page.list));
}

/* ---- a stream ---- */

struct events {
	struct stream base;
	struct strata_memory memory;
	struct buf text; /* not sent yet, from `sent` on */
	size_t sent;
	int64_t after;
	int64_t said_ns; /* monotonic */
	char user[sizeof(((struct identity *)0)->user)]; /* who reads it */
	enum role role;
};

/* One that is further behind than the ring goes. */
static int add_text(void *context, const void *row, struct strata_error *err)
{
	struct events *events = context;
	char *owner;

	if (event_owner(row, &owner))
		return strata_fail_memory(err);
	bool shown = event_is_for(owner, events->user, events->role);

	free(owner);
	events->after = ((const struct store_event *)row)->sequence;
	return shown ? event_text_add(&events->text, row, err) : 0;
}

static int put_event(void *context, const void *row, struct strata_error *err)
{
	return event_ring_put(context, row, err);
}

/* For all streams: those behind a number. */
static int read_events_behind(void *context, int64_t after, struct strata_error *err)
{
	struct front *front = context;

	return read_page(front, after, RING_PAGE, put_event, front->events, err);
}

static int read_next(struct events *events, int64_t newest)
{
	struct front *front = events->base.front;
	int rc = event_ring_take(front->events, events->user, events->role, newest, STREAM_PAGE,
				 read_events_behind, front, &events->after, &events->text, NULL);

	return rc == -ERANGE ? read_page(front, events->after, STREAM_PAGE, add_text, events, NULL)
			     : rc;
}

/* The next page of text, or a sign of life. False: the store is away, or there is no memory; the
 * reader comes back. */
static bool refill(struct events *events)
{
	struct front *front = events->base.front;
	int64_t now_ns = env_now_ns(front->env, ENV_MONOTONIC);

	buf_reset(&events->text);
	events->sent = 0;
	int64_t newest = atomic_load(&front->common->event_last);

	if (newest > events->after && read_next(events, newest))
		return false;
	if (events->text.length == 0 && now_ns - events->said_ns >= KEEP_ALIVE_NS)
		buf_add(&events->text, ": here\n\n");
	if (events->text.length)
		events->said_ns = now_ns;
	return !events->text.failed;
}

static ssize_t read_events(struct stream *stream, char *to, size_t room)
{
	struct events *events = (struct events *)stream;

	if (events->sent == events->text.length && !refill(events))
		return -1;
	size_t left = events->text.length - events->sent;
	size_t count = left < room ? left : room;

	memcpy(to, events->text.text + events->sent, count);
	events->sent += count;
	return (ssize_t)count;
}

static bool events_ready(struct stream *stream, int64_t now_ns)
{
	const struct events *events = (struct events *)stream;

	return atomic_load(&stream->front->common->event_last) > events->after ||
	       now_ns - events->said_ns >= KEEP_ALIVE_NS;
}

static void free_events(struct stream *stream)
{
	struct events *events = (struct events *)stream;

	buf_fini(&events->text);
	free(events);
}

static const struct stream_class events_class = { "text/event-stream; charset=utf-8", read_events,
						  events_ready, free_events };

static void answer_stream(struct request *request, int64_t after)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events) {
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "out of memory");
		return;
	}
	events->base.cls = &events_class;
	events->after = after;
	memcpy(events->user, request->who.user, sizeof(events->user));
	events->role = request->who.role;
	events->said_ns = env_now_ns(request->front->env, ENV_MONOTONIC);
	buf_init(&events->text, &events->memory, 0);
	buf_add(&events->text, "retry: 1000\n\n");
	stream_answer(request, &events->base);
}

enum format { FORMAT_STREAM, FORMAT_JSON };

struct asked {
	int64_t after, last; /* -1: not said */
	int64_t limit;
	int format;
};

static const struct strata_choice formats[] = { { "stream", FORMAT_STREAM, NULL },
						{ "json", FORMAT_JSON, NULL },
						{ 0 } };
static const struct strata_option query_options[] = {
	{ "after", STRATA_INT, offsetof(struct asked, after), .integer = { -1, -1, INT64_MAX },
	  .help = "behind the event of this number; -1: not said" },
	{ "last", STRATA_INT, offsetof(struct asked, last), .integer = { -1, -1, INT64_MAX },
	  .help = "the last so many, and what comes; -1: not said" },
	{ "limit", STRATA_INT, offsetof(struct asked, limit),
	  .integer = { STREAM_PAGE, 1, PAGE_MAX }, .help = "of a page" },
	{ "format", STRATA_ENUM, offsetof(struct asked, format),
	  .choice = { formats, FORMAT_STREAM }, .help = "a stream of events, or a page as JSON" },
	{ 0 }
};
static const struct strata_schema events_query = { "the query", NULL, sizeof(struct asked),
						   query_options };

/* Behind which event: what the reader saw last, what it asks for, the last so many; else a page
 * begins at the beginning and a stream now. */
static void get_events(struct request *request)
{
	const struct asked *asked = request->query;
	const char *seen =
		MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Last-Event-ID");
	bool page = asked->format == FORMAT_JSON;
	int64_t newest = atomic_load(&request->front->common->event_last);
	int64_t last = asked->last >= 0 ? asked->last : page ? newest : 0;
	int64_t after = asked->after >= 0 ? asked->after : last < newest ? newest - last : 0;

	if (seen && strata_int_parse(seen, STRATA_TEXT_NUL, 0, INT64_MAX, &after, NULL)) {
		request_refuse(request, MHD_HTTP_BAD_REQUEST, "invalid",
			       "Last-Event-ID is not the number of an event");
		return;
	}
	if (page)
		answer_page(request, after, asked->limit);
	else
		answer_stream(request, after);
}

/* ---- routes ---- */

const struct route api_events_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/events",
	  .summary = "what happened",
	  .role = ROLE_READER,
	  .parse = get_events,
	  .query = &events_query },
	{ 0 },
};
