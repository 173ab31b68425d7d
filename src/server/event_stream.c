/* Streams: see event_stream.h. */
#include "server/event_stream.h"

#include <strata/text.h>

#include <microhttpd.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct streams {
	pthread_mutex_t lock;
	struct stream *first;
	bool closing;
};

enum { BLOCK_BYTES = 32768, CLOSE_TRIES = 100 };

int streams_new(struct streams **ret_streams, struct strata_error *err)
{
	struct streams *streams = calloc(1, sizeof(*streams));

	if (!streams)
		return strata_fail_memory(err);
	pthread_mutex_init(&streams->lock, NULL);
	*ret_streams = streams;
	return 0;
}

void streams_free(struct streams *streams)
{
	if (!streams)
		return;
	pthread_mutex_destroy(&streams->lock);
	free(streams);
}

static void wake(struct stream *stream)
{
	stream->asleep = false;
	MHD_resume_connection(stream->connection);
}

void streams_close(struct streams *streams)
{
	if (!streams)
		return;
	pthread_mutex_lock(&streams->lock);
	streams->closing = true;
	for (struct stream *at = streams->first; at; at = at->next)
		if (at->asleep)
			wake(at);
	for (int i = 0; streams->first && i < CLOSE_TRIES; i++) {
		static const struct timespec pause = { .tv_nsec = 10 * STRATA_MS_NS };

		pthread_mutex_unlock(&streams->lock);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&streams->lock);
	}
	pthread_mutex_unlock(&streams->lock);
}

void stream_answer(struct request *request, struct stream *stream)
{
	struct streams *streams = request->front->streams;

	stream->front = request->front;
	stream->connection = request->connection;
	pthread_mutex_lock(&streams->lock);
	stream->next = streams->first;
	if (stream->next)
		stream->next->previous = stream;
	streams->first = stream;
	pthread_mutex_unlock(&streams->lock);
	request->stream = stream;
	request->status = MHD_HTTP_OK;
	request->answered = true;
}

/* libmicrohttpd asks for more. */
static ssize_t give(void *context, uint64_t position, char *to, size_t room)
{
	struct stream *stream = context;
	struct streams *streams = stream->front->streams;
	bool deserted = stream->deserted; /* once it sleeps that is the reaper's */
	ssize_t count = deserted ? -1 : stream->cls->read(stream, to, room);

	(void)position;
	if (count > 0)
		return count;
	pthread_mutex_lock(&streams->lock);
	bool over = count < 0 || streams->closing;

	/* whatever came after the read is seen by the reaper, since it looks later than this */
	if (!over) {
		stream->asleep = true;
		MHD_suspend_connection(stream->connection);
	}
	pthread_mutex_unlock(&streams->lock);
	if (deserted)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	return over ? MHD_CONTENT_READER_END_OF_STREAM : 0;
}

void stream_drop(struct stream *stream)
{
	struct streams *streams = stream->front->streams;

	pthread_mutex_lock(&streams->lock);
	if (stream->next)
		stream->next->previous = stream->previous;
	if (stream->previous)
		stream->previous->next = stream->next;
	else
		streams->first = stream->next;
	pthread_mutex_unlock(&streams->lock);
	stream->cls->free(stream);
}

static void drop(void *context)
{
	stream_drop(context);
}

struct MHD_Response *stream_response(struct stream *stream)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK_BYTES, give, stream, drop);

	if (!response)
		stream_drop(stream);
	return response;
}

/* Its reader has hung up: that shows only when somebody looks. */
static bool is_deserted(const struct stream *stream)
{
	const union MHD_ConnectionInfo *about =
		MHD_get_connection_info(stream->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	char byte;

	return about && recv(about->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

size_t streams_look(struct streams *streams, int64_t now_ns)
{
	size_t count = 0;

	pthread_mutex_lock(&streams->lock);
	for (struct stream *at = streams->first; at; at = at->next, count++) {
		if (!at->asleep)
			continue;
		at->deserted = is_deserted(at);
		if (at->deserted || at->cls->ready(at, now_ns))
			wake(at);
	}
	pthread_mutex_unlock(&streams->lock);
	return count;
}

void streams_each(struct streams *streams, const struct stream_class *cls,
		  void (*each)(struct stream *stream, void *context), void *context)
{
	pthread_mutex_lock(&streams->lock);
	for (struct stream *at = streams->first; at; at = at->next)
		if (at->cls == cls)
			each(at, context);
	pthread_mutex_unlock(&streams->lock);
}
