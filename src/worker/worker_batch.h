/*
 * The runs that a worker holds, up to a batch of them, each where it stands. They are brought
 * forward together and end alone: a run that cannot go on fails, and the others do not notice.
 * Nothing here decides which tasks these are: the service does.
 */
#ifndef WORKER_WORKER_BATCH_H
#define WORKER_WORKER_BATCH_H

#include "worker/worker_beat.h"
#include "worker/worker_caps.h"
#include "worker/worker_request.h"

enum worker_state {
	WORKER_NEW,     /* not encoded yet */
	WORKER_RUNNING, /* calls are left */
	WORKER_DRAWN,   /* none is left; its pictures are not handed over yet */
	WORKER_ENDED,   /* its pictures are the service's */
	WORKER_BROKEN,  /* it failed, with `why` */
};

struct worker_run {
	int64_t id;
	enum worker_state state;
	struct strata_arena arena; /* of the request and what it points to */
	struct worker_request request;
	struct strata_pipeline_run *run; /* NULL: not encoded, or broken */
	int64_t told;                    /* steps that the service knows of */
	int64_t cost_ns;                 /* since it was last told */
	uint64_t key;                    /* of its latents: worker_latents.h */
	bool latents;                    /* the service has some, to begin with */
	int64_t saved_steps;             /* the service has its latents of after so many */
	int64_t saved_ns;                /* when they were saved, or it was encoded */
	int64_t preview_ns;              /* when the last preview was sent, or it was encoded */
	int64_t taken_ns;                /* when it came */
	struct strata_error why;
	char (*hashes)[WORKER_HASH_BYTES]; /* of its pictures, in the arena */
	size_t hash_count;                 /* handed over so far */
	uint32_t width, height;
};

struct worker_batch {
	struct strata_memory *memory;     /* borrowed until _fini */
	struct strata_pipeline *pipeline; /* borrowed until _fini */
	const struct worker_link *link;   /* borrowed until _fini */
	const char *model;                /* its name, for the pictures' settings */
	struct worker_beat *beat;         /* told of each call; NULL: there is none. Borrowed */
	struct worker_run runs[STRATA_BATCH_MAX];
	struct worker_caps caps; /* what was learned about how many together pay */
	size_t count;
	int64_t save_ns; /* a run is saved so often; -1: never */
};

void worker_batch_init(struct worker_batch *batch, struct strata_pipeline *pipeline,
		       const char *model, const struct worker_link *link,
		       struct strata_memory *memory);
void worker_batch_fini(struct worker_batch *batch); /* drops all runs */
void worker_batch_drop(struct worker_batch *batch, size_t index);

/* The batch that was picked: runs that are not of it are saved and dropped, new tasks are added,
 * and read; one that cannot be is broken. */
void worker_batch_take(struct worker_batch *batch, const struct worker_pick *pick);

/* Hands the run's latents to the service, if it has gone further than those the service has; where
 * that fails, whoever goes on with it has more to do. */
void worker_batch_save(struct worker_batch *batch, struct worker_run *run);

/* Encodes the new ones, then calls the model until each has gone `steps` steps further, or ended,
 * or until_ns has come, or the worker is told to end. */
void worker_batch_advance(struct worker_batch *batch, int64_t steps, int64_t until_ns);

/* Decodes a drawn run's picture number `hash_count` as a PNG file with its settings in it. */
int worker_batch_picture(struct worker_batch *batch, struct worker_run *run, struct buf *file,
			 struct strata_error *err);

/* Steps that a run has done in the service's count: of an adaptive solver an estimate, of one that
 * calls the model more than once in a step the part. */
int64_t worker_run_steps(const struct worker_run *run);

#endif
