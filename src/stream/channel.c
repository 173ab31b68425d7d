/* What channels share: what becomes of a request after an attempt, and lines of requests. */
#include "stream/channel.h"

#include "core/env.h"
#include "stream/layout.h"

#include <errno.h>

int64_t channel_now_ns(void)
{
	return env_now_ns(env_system(), ENV_MONOTONIC);
}

void channel_close(struct channel *channel)
{
	if (channel)
		channel->cls->close(channel);
}

/*
 * Short transfers go on where they stopped, at the last whole block: a direct transfer cannot begin elsewhere, and the end of a file looks
 * like a transfer that stopped. When not even a block more came, the file has no more.
 */
bool request_advance(struct request *request, ssize_t result)
{
	if (result == -EINTR || result == -EAGAIN)
		return false;
	if (result < 0) {
		request->rc = (int)result;
		return true;
	}
	size_t before = request->done, left = request->bytes - before;

	request->done += (size_t)result < left ? (size_t)result : left;
	if (request->done >= request->need)
		return true;
	request->done -= request->done % LAYOUT_BLOCK_BYTES;
	if (request->done > before)
		return false;
	request->rc = request->write ? -ENOSPC : -ENODATA;
	return true;
}

void request_line_add(struct request_line *line, struct request *list)
{
	if (!list)
		return;
	if (!line->first)
		line->end = &line->first;
	*line->end = list;
	while (list->next)
		list = list->next;
	line->end = &list->next;
}

struct request *request_line_take(struct request_line *line)
{
	struct request *request = line->first;

	if (!request)
		return NULL;
	line->first = request->next;
	request->next = NULL;
	return request;
}
