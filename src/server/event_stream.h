/*
 * Answers without an end in sight: events as they happen, output as it is written. A stream that
 * has nothing to say now gives its connection up to the reaper, which looks at all of them ten
 * times a second and wakes those that have. So a thousand followers cost no thread, and whoever is
 * followed does not know of it.
 */
#ifndef SERVER_EVENT_STREAM_H
#define SERVER_EVENT_STREAM_H

#include "server/front.h"
#include "server/request.h"

struct stream {
	const struct stream_class *cls;
	struct front *front;
	struct MHD_Connection *connection;
	struct stream *next, *previous;
	bool asleep;   /* the reaper wakes it */
	bool deserted; /* its reader has hung up */
};

struct stream_class {
	const char *media;
	/* On an HTTP thread: bytes written to `to`, 0 when there is nothing now, -1 at the end. */
	ssize_t (*read)(struct stream *stream, char *to, size_t room);
	/* On the reaper's thread, under the list's lock: is there something, or may there be?
	 * Quick, nothing is waited for. */
	bool (*ready)(struct stream *stream, int64_t now_ns);
	void (*free)(struct stream *stream);
};

struct streams;
int streams_new(struct streams **ret_streams, struct strata_error *err);
/* Ends them all, and waits a moment for their last words to go out; before the HTTP server
 * stops. */
void streams_close(struct streams *streams);
void streams_free(struct streams *streams);

/* The answer to the request is this stream, which is owned by it from now on. */
void stream_answer(struct request *request, struct stream *stream);
/* It is not the answer after all. */
void stream_drop(struct stream *stream);
/* The response has the stream then. */
struct MHD_Response *stream_response(struct stream *stream); /* NULL: out of memory */
/* Wakes those that have something. Returns how many there are. The reaper's. */
size_t streams_look(struct streams *streams, int64_t now_ns);

/* Looks at every stream of a class, under the lock. Any thread. */
void streams_each(struct streams *streams, const struct stream_class *cls,
		  void (*each)(struct stream *stream, void *context), void *context);

#endif
