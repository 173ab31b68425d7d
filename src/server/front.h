/*
 * The front: what HTTP threads and the reaper have. They read, authorise and parse; they see the
 * store through readers of their own, and never the cluster. What is to be decided goes into the
 * inbox (common.h).
 */
#ifndef SERVER_FRONT_H
#define SERVER_FRONT_H

#include "server/common.h"
#include "store/readers.h"

#include <pthread.h>

/* What GET /api/v1/series said last. */
struct series_cache {
	pthread_mutex_t lock; /* of the others */
	char *text;           /* malloc's; NULL: nothing yet */
	int64_t made_ns;      /* monotonic */
};

struct front {
	struct common *common;
	const struct server_conf *conf; /* common's; what may change is read from the next two */
	_Atomic int64_t request_timeout_ns;
	atomic_bool token_from_token;
	const struct env *env;   /* common's */
	struct standby *standby; /* for the leader's name: standby.h */
	struct strata_memory memory;
	struct store_readers *readers;
	struct token_table *tokens;      /* token.h */
	struct streams *streams;         /* event_stream.h */
	struct connections *connections; /* connection.h */
	struct MHD_Daemon *http_socket, *http_tcp;
	struct MHD_Daemon *http_page; /* on the loopback, for links, where http_tcp is not that */
	int tcp_port, page_port;
	struct series_cache series;
	struct studies *studies; /* studies.h */
	struct event_ring *events; /* event_ring.h */
	_Atomic size_t body_bytes; /* of large bodies that are in memory */
	pthread_t reaper;          /* reaper.h */
	bool reaper_runs;
	atomic_bool reaper_stops;
};

#endif
