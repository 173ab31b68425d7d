/*
 * What one round of the decider changes, until it is durable: rows, and those who wait for the
 * commit to be answered. A job's row is written once, as it is at the end of the round, however
 * often it changed.
 */
#ifndef SERVER_WRITE_BATCH_H
#define SERVER_WRITE_BATCH_H

#include "core/map.h"
#include "store/store.h"

#include <jansson.h>

struct decider;
struct live;
struct request;

struct batch {
	struct strata_arena arena;
	struct store_change *changes;
	size_t count, room;
	/* Jobs whose rows are to be written, in the order in which they changed first: those of
	 * a submission by their ids, so that a database puts each behind the last. */
	struct live *dirty, *dirty_last;
	size_t dirty_count;
	struct request *waiters; /* to be answered once durable */
	char last_blob[STORE_HASH_BYTES];
	struct map_text answers; /* "user/key": const struct store_answer * of this round */
	bool held;          /* the store is away: the batch waits, and so does what was decided */
	int64_t retry_ns;   /* held: not before then; monotonic */
	char held_why[256]; /* held: what the store said */
};

/* A place in the batch to go back to, before anything of it was promised. */
struct batch_mark {
	size_t count;
	int64_t next_event;
	char last_blob[STORE_HASH_BYTES];
};

/* The block; without memory for what has happened the promise to keep it cannot be kept, and the
 * program ends. */
void *batch_need(void *block);

void batch_init(struct decider *decider);
void batch_fini(struct decider *decider);
/* The job's row is written as it is at the end of the round. */
void batch_job(struct decider *decider, struct live *live);
/* One more row, copied. Lack of memory ends the program: nothing could be promised any more. */
void batch_put(struct decider *decider, struct store_change change);
/* "job.started"; the JSON is taken over, may be NULL. */
void batch_event(struct decider *decider, int64_t job, const char *kind, json_t *about);
/* Everything that was put since the mark is taken out again; jobs by batch_leave. */
struct batch_mark batch_mark(const struct decider *decider);
void batch_undo(struct decider *decider, const struct batch_mark *mark);
/* Does one transaction hold another submission? */
bool batch_is_full(const struct decider *decider);
/* The job's row is not written: there is no such job. */
void batch_leave(struct decider *decider, struct live *live);
/* What a request with this key was answered, if that is in this round or in the store; in the
 * arena. -ENOENT. */
int batch_answered(struct decider *decider, const char *user, const char *key,
		   struct strata_arena *arena, struct store_answer *ret_answer,
		   struct strata_error *err);
/* The answer is kept with the round. */
void batch_answer(struct decider *decider, const char *user, const char *key, const char *request,
		  const char *body);
/* The request is answered when the batch is durable. */
void batch_wait(struct decider *decider, struct request *request);
/* Commits. -EAGAIN: the store is away; those who wait for the commit are told, all else stays
 * for the next try. -ESTALE: another leads. */
int batch_commit(struct decider *decider, struct strata_error *err);
/* Nothing of it will be committed here; those who wait are told why. */
void batch_drop(struct decider *decider, const char *why);

#endif
