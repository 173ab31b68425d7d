/*
 * The newest events as the text that streams send, read from the store and put into words once for
 * all who follow: two hundred open pages cost one. A stream that is further behind reads the store
 * itself. Thread-safe.
 */
#ifndef SERVER_EVENT_RING_H
#define SERVER_EVENT_RING_H

#include "core/buf.h"
#include "server/request.h"
#include "store/store.h"

struct event_ring;

int event_ring_new(struct event_ring **ret_ring, struct strata_error *err);
void event_ring_free(struct event_ring *ring); /* NULL is nothing */

/* Events may be had from the one behind `after` on, up to `newest`, as far as they are known.
 * `read` reads the store behind a number: each row is to be given to event_ring_put. */
typedef int event_ring_read(void *context, int64_t after, struct strata_error *err);

/* Adds to the buf what the reader may see of the next events behind *after, which moves on; at most
 * so many. -ERANGE: *after is further behind than the ring goes. */
int event_ring_take(struct event_ring *ring, const char *user, enum role role, int64_t newest,
		    size_t limit, event_ring_read *read, void *context, int64_t *after,
		    struct buf *buf, struct strata_error *err);
/* Only from within `read`. */
int event_ring_put(struct event_ring *ring, const struct store_event *row,
		   struct strata_error *err);

/* One as a stream sends it. */
int event_text_add(struct buf *buf, const struct store_event *row, struct strata_error *err);
/* What becomes of a picture is for its owner and for operators: his name, malloc's; NULL: it is
 * for all. 0 or -ENOMEM. */
int event_owner(const struct store_event *row, char **ret_owner);
bool event_is_for(const char *owner, const char *user, enum role role);

#endif
