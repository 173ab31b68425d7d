/*
 * The service as a worker sees it: pick a batch, get what it starts from, say what came of it,
 * hand over pictures (docs/api.md). Over whatever a struct worker_link asks through, so that tests answer in the
 * service's place. Nothing is repeated here: whether the service is away, and what follows from
 * that, is worker_loop.c's to say.
 */
#ifndef WORKER_WORKER_API_H
#define WORKER_WORKER_API_H

#include "client/client.h"

#include "core/buf.h"

#include <strata/limits.h>

/* The outside world of a worker. */
struct worker_link {
	void *context; /* first argument of every function */
	/* One request; as client_json. */
	int (*ask)(void *context, const struct client_request *request, json_t **ret_json,
		   struct strata_error *err);
	/* The bytes of a GET, at the end of `bytes`. */
	int (*fetch)(void *context, const char *path, struct buf *bytes, struct strata_error *err);
	int64_t (*now_ns)(void *context); /* of a clock that never goes back */
	void (*pause)(void *context, int64_t ns);
	bool (*ending)(void *context); /* it was told to end (SIGTERM) */
	void (*say)(void *context, const char *sentence);
};

enum {
	WORKER_HASH_BYTES = 129, /* of a picture, as text */
	WORKER_PREVIEW_BYTES_MAX = 256 << 10,
};

/* A task of a batch. */
struct worker_task {
	int64_t id;
	int64_t steps_done;       /* that the service knows of */
	int64_t seed;             /* -1: the parameters have it */
	const json_t *parameters; /* an object, borrowed from the answer */
	bool latents;             /* a worker has saved where it stands */
};

struct worker_pick {
	int64_t steps;    /* to bring each task forward by */
	bool stop;        /* the worker is to end */
	int64_t lease_ns; /* so long it may be silent; 0: not said */
	int64_t save_ns;  /* latents are saved so often; -1: not said */
	size_t count;
	struct worker_task tasks[STRATA_BATCH_MAX];
	json_t *answer; /* owned; json_decref */
};

/* -EBADMSG for what is no such answer. Holds a reference to it on success. */
int worker_pick_read(json_t *answer, struct worker_pick *ret_pick, struct strata_error *err);

/* What a worker has when it asks. */
struct worker_held {
	int64_t ids[STRATA_BATCH_MAX];
	int64_t steps[STRATA_BATCH_MAX]; /* done of each, in the service's count */
	size_t count;
};
/* The tasks until the next step boundary; waits up to wait_ms for some. ask_ns: what asking cost
 * lately. */
int worker_api_pick(const struct worker_link *link, const struct worker_held *held, int64_t wait_ms,
		    int64_t ask_ns, struct worker_pick *ret_pick, struct strata_error *err);

/* It lives, and still has these. */
int worker_api_beat(const struct worker_link *link, const struct worker_held *held,
		    struct strata_error *err);

/* It cannot go on and ends; why, as a sentence. */
int worker_api_trouble(const struct worker_link *link, const char *sentence,
		       struct strata_error *err);

enum worker_kind { WORKER_STEPS, WORKER_FINISHED, WORKER_FAILED, WORKER_BACK };

/* What came of a task. Everything is borrowed during the call. */
struct worker_row {
	int64_t id;
	enum worker_kind kind;
	int64_t steps; /* since the pick */
	int64_t cost_ns;
	const char *status;                      /* of one that goes on: "denoising" */
	const char *error;                       /* of one that failed */
	const char (*hashes)[WORKER_HASH_BYTES]; /* of one that is finished: its pictures */
	size_t hash_count;
	uint32_t width, height;
	uint32_t cap; /* more tasks like it at once do not pay, or do not fit; 0: not known */
};
int worker_api_done(const struct worker_link *link, const struct worker_row *rows, size_t count,
		    struct strata_error *err);

/* Keeps a PNG file; its hash names it from then on. */
int worker_api_image(const struct worker_link *link, const void *bytes, size_t count,
		     char ret_hash[WORKER_HASH_BYTES], struct strata_error *err);
/* The picture that a task starts from, as a PNG file; into the buffer. */
int worker_api_init(const struct worker_link *link, int64_t task, struct buf *file,
		    struct strata_error *err);
int worker_api_preview(const struct worker_link *link, int64_t task, const void *bytes,
		       size_t count, struct strata_error *err);

/* Where a task stands, for who goes on with it: up to STRATA_LATENTS_BYTES_MAX. */
int worker_api_save(const struct worker_link *link, int64_t task, int64_t steps, const void *bytes,
		    size_t count, struct strata_error *err);
int worker_api_saved(const struct worker_link *link, int64_t task, struct buf *bytes,
		     struct strata_error *err);

/* The timeline of a task, as a file of up to STRATA_TASK_TRACE_BYTES_MAX. */
int worker_api_trace(const struct worker_link *link, int64_t task, const void *bytes, size_t count,
		     struct strata_error *err);

/* The service cannot be reached just now: it may come back. */
bool worker_is_away(int rc);
/* It no longer knows of this worker's batch. */
bool worker_is_lost(int rc);

#endif
