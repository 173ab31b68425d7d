/*
 * An HTTP/1.1 answer as it comes in, piece by piece: status, then the bytes of its body, by length, in chunks, or until the other end hangs
 * up. Pure: it is given bytes and says what they mean.
 */
#ifndef CLIENT_REPLY_H
#define CLIENT_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPLY_LINE_BYTES_MAX = 8192, REPLY_LINES_MAX = 100 };

enum reply_state {
	REPLY_HEAD,     /* the status line or a field */
	REPLY_BYTES,    /* `left` more of the body or of a chunk */
	REPLY_REST,     /* of the body, until the end of the connection */
	REPLY_SIZE,     /* the line before a chunk */
	REPLY_GAP,      /* the end of line after one */
	REPLY_TRAILER,  /* lines after the last chunk */
	REPLY_COMPLETE, /* all there */
	REPLY_BROKEN,   /* it is no answer */
};

struct reply {
	enum reply_state state;
	int status; /* 0: not known yet */
	bool chunked;
	int64_t length; /* -1: the head does not say */
	int64_t left;
	char line[REPLY_LINE_BYTES_MAX];
	size_t line_length, lines;
};

void reply_init(struct reply *reply);

/* Takes in what came and says which part of it is body (in `bytes`, length 0: none). Returns how many of the bytes it has taken; call it
 * again with the rest until that is all of them. Takes nothing once it is complete or broken. */
size_t reply_feed(struct reply *reply, const char *bytes, size_t count, const char **ret_body,
		  size_t *ret_length);
/* The other end has hung up: is that the end of the answer? */
bool reply_end(struct reply *reply);

#endif
