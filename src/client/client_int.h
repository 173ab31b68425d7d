/* What the parts of the client share: a client, and one request on its way. */
#ifndef CLIENT_CLIENT_INT_H
#define CLIENT_CLIENT_INT_H

#include "client/client.h"

#include "core/buf.h"

struct client {
	struct strata_memory *memory;              /* borrowed until client_close */
	struct strata_arena arena;                 /* of the texts below */
	const struct client_web *web;              /* to a url; NULL over a socket */
	void *handle;                              /* web's */
	const char *socket, *base, *authorization; /* socket and authorization may be NULL */
	const char *pin;                           /* of the server's key; NULL: none */
	int64_t retry_ns, timeout_ns;
};

/* The body of a request as it is sent. */
struct client_body {
	const char *bytes; /* NULL: there is none */
	size_t count;
	const char *type; /* of its content */
};

/* One request on its way. */
struct transfer {
	struct client *client;
	struct buf body;   /* what is not given to the sink */
	client_sink *sink; /* NULL: everything is kept */
	void *sink_context;
	int sink_rc, take_rc;
	bool too_large; /* the body went past its limit */
	long status;
	struct strata_error *err;
};

/* A way to a url. */
struct client_web {
	void *(*open)(void); /* NULL: no memory */
	void (*close)(void *handle);
	/* 0 when there is an answer, whatever it is. */
	int (*send)(struct transfer *transfer, const struct client_request *request,
		    const struct client_body *body, struct strata_error *err);
};

/* Takes in a part of the answer's body; not 0 ends the transfer, and is worded by client_fail_take. */
int client_take(struct transfer *transfer, long status, const char *bytes, size_t count);
int client_fail_take(const struct transfer *transfer, struct strata_error *err);
int client_fail_time(const struct client *client, struct strata_error *err);

#endif
