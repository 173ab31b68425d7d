/* One request over a Unix socket, without a library: most commands are one such request, and end sooner than a library for all protocols
 * is loaded. */
#ifndef CLIENT_LOCAL_SOCKET_H
#define CLIENT_LOCAL_SOCKET_H

#include <strata/error.h>

#include <stddef.h>
#include <stdint.h>

struct local_request {
	const char *socket; /* path */
	const char *head;   /* all of it, with the empty line */
	const char *body;   /* NULL: none */
	size_t body_bytes;
	int64_t timeout_ns; /* of the whole; 0: as long as it takes */
	/* What comes of the body, with the status; not 0 ends it, and is returned. */
	int (*take)(void *context, int status, const char *bytes, size_t count);
	void *context;
};

/* 0 and the status when there is a whole answer. -ECONNREFUSED, -ENOENT, -EACCES …: there is no connection; -ETIMEDOUT; -ECONNRESET: it
 * broke, or what came is no answer. */
int local_ask(const struct local_request *request, int *ret_status);

#endif
