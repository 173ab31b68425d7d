/*
 * Server-sent events, read as they come: bytes go in, the data of each event comes out. The events of the service are JSON, with their number in
 * them, so that ids, names and comments need not be looked at.
 */
#ifndef CLIENT_SSE_H
#define CLIENT_SSE_H

#include "core/buf.h"

enum { SSE_EVENT_BYTES_MAX = 1 << 20 };

/* Gets the data of one event. 0, or a negative code that ends the reading. */
typedef int sse_take(void *context, const char *data, size_t length, struct strata_error *err);

struct sse {
	struct buf line, data;
	bool has_data;
	sse_take *take;
	void *context;
};

void sse_init(struct sse *sse, struct strata_memory *memory, sse_take *take, void *context);
void sse_fini(struct sse *sse);
/* The next bytes, cut anywhere. -EBADMSG: an event of more than SSE_EVENT_BYTES_MAX bytes. */
int sse_feed(struct sse *sse, const char *bytes, size_t count, struct strata_error *err);

#endif
