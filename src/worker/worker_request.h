/*
 * From the parameters of a task, as the service keeps them, to a request for a pipeline. Whatever
 * they are, the result is bounded, and what is wrong with them is said in a sentence that the user
 * reads: the task fails with it.
 */
#ifndef WORKER_WORKER_REQUEST_H
#define WORKER_WORKER_REQUEST_H

#include "worker/worker_api.h"

#include <strata/pipeline.h>

struct worker_request {
	const char *prompt, *negative;                    /* "": none */
	const char *solver, *schedule, *model, *deadline; /* NULL: not said */
	const char *quality;                              /* likewise */
	int64_t steps, seed, n, width, height,
		priority; /* steps, width, height: 0 is the model's */
	double guidance;  /* -1: the model's */
	double strength;
	bool trace;             /* a timeline of it is wanted */
	const char *init_image; /* the hash of the picture to start from; NULL: none */
	struct strata_pipeline_request pipeline; /* its arrays are in the arena */
};

extern const struct strata_schema worker_request_schema;

/* Fills it; texts and arrays live in the arena. Picture number i is drawn with the seed plus i, as
 * A1111 does. */
int worker_request_read(const struct worker_task *task, struct strata_arena *arena,
			struct worker_request *ret_request, struct strata_error *err);
/* The picture that it starts from, as a PNG file: in the arena, in the size that is drawn. */
int worker_request_begin(struct worker_request *request, const void *bytes, size_t length,
			 struct strata_arena *arena, struct strata_error *err);

#endif
