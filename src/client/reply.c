/* Answers as they come in; reply.h says how. One line or one run of body at a time. */
#include "client/reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void reply_init(struct reply *reply)
{
	*reply = (struct reply){ .state = REPLY_HEAD, .length = -1 };
}

/* A number of digits of this base and nothing else; -1: it is none, or absurd. */
static int64_t parse_number(const char *text, size_t length, int base)
{
	int64_t number = 0;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		int digit = c >= '0' && c <= '9'                 ? c - '0'
			    : base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : base == 16 && c >= 'A' && c <= 'F' ? c - 'A' + 10
								 : -1;

		if (digit < 0 || number > (INT64_MAX >> 5))
			return -1;
		number = number * base + digit;
	}
	return length ? number : -1;
}

static bool take_status(struct reply *reply, const char *line)
{
	if (strncmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') ||
	    line[8] != ' ')
		return false;
	int64_t status = parse_number(line + 9, strcspn(line + 9, " "), 10);

	if (status < 100 || status > 999)
		return false;
	reply->status = (int)status;
	return true;
}

static bool take_field(struct reply *reply, const char *line)
{
	const char *colon = strchr(line, ':');
	size_t name = colon ? (size_t)(colon - line) : 0;

	if (!colon || name == 0)
		return false;
	const char *value = colon + 1 + strspn(colon + 1, " \t");

	if (name == 14 && strncasecmp(line, "content-length", 14) == 0) {
		reply->length = parse_number(value, strcspn(value, " \t"), 10);
		return reply->length >= 0;
	}
	if (name == 17 && strncasecmp(line, "transfer-encoding", 17) == 0) {
		reply->chunked = strncasecmp(value, "chunked", 7) == 0;
		return reply->chunked; /* no other was asked for */
	}
	return true;
}

/* The head is there: what follows? */
static enum reply_state begin_body(struct reply *reply)
{
	if (reply->status < 200) { /* not the answer yet */
		reply_init(reply);
		return REPLY_HEAD;
	}
	if (reply->status == 204 || reply->status == 304 || (!reply->chunked && reply->length == 0))
		return REPLY_COMPLETE;
	if (reply->chunked)
		return REPLY_SIZE;
	reply->left = reply->length;
	return reply->length > 0 ? REPLY_BYTES : REPLY_REST;
}

static enum reply_state take_line(struct reply *reply, const char *line)
{
	switch (reply->state) {
	case REPLY_HEAD:
		if (!reply->status)
			return take_status(reply, line) ? REPLY_HEAD : REPLY_BROKEN;
		if (*line)
			return take_field(reply, line) ? REPLY_HEAD : REPLY_BROKEN;
		return begin_body(reply);
	case REPLY_SIZE:
		reply->left = parse_number(line, strcspn(line, "; \t"), 16);
		return reply->left < 0 ? REPLY_BROKEN : reply->left ? REPLY_BYTES : REPLY_TRAILER;
	case REPLY_GAP:
		return *line ? REPLY_BROKEN : REPLY_SIZE;
	default:
		return *line ? REPLY_TRAILER : REPLY_COMPLETE;
	}
}

/* Bytes up to the end of a line; how many were taken. */
static size_t feed_line(struct reply *reply, const char *bytes, size_t count)
{
	const char *end = memchr(bytes, '\n', count);
	size_t part = end ? (size_t)(end - bytes) : count;

	if (reply->line_length + part >= sizeof(reply->line) || memchr(bytes, '\0', part) ||
	    (end && ++reply->lines > REPLY_LINES_MAX && reply->state != REPLY_SIZE &&
	     reply->state != REPLY_GAP)) {
		reply->state = REPLY_BROKEN;
		return 0;
	}
	memcpy(reply->line + reply->line_length, bytes, part);
	reply->line_length += part;
	if (!end)
		return part;
	if (reply->line_length && reply->line[reply->line_length - 1] == '\r')
		reply->line_length--;
	reply->line[reply->line_length] = '\0';
	reply->line_length = 0;
	reply->state = take_line(reply, reply->line);
	return part + 1;
}

size_t reply_feed(struct reply *reply, const char *bytes, size_t count, const char **ret_body,
		  size_t *ret_length)
{
	*ret_length = 0;
	*ret_body = bytes;
	switch (reply->state) {
	case REPLY_COMPLETE:
	case REPLY_BROKEN:
		return 0;
	case REPLY_REST:
		*ret_length = count;
		return count;
	case REPLY_BYTES:
		if ((int64_t)count > reply->left)
			count = (size_t)reply->left;
		*ret_length = count;
		reply->left -= (int64_t)count;
		if (reply->left == 0)
			reply->state = reply->chunked ? REPLY_GAP : REPLY_COMPLETE;
		return count;
	default:
		return feed_line(reply, bytes, count);
	}
}

bool reply_end(struct reply *reply)
{
	if (reply->state == REPLY_REST)
		reply->state = REPLY_COMPLETE;
	return reply->state == REPLY_COMPLETE;
}
