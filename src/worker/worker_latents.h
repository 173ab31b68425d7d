/*
 * Where a run stands, as bytes that another worker can go on from: what the pipeline saves (latents
 * and what its solver remembers), in an envelope that says of which task it is and whether it is
 * whole. What is torn, of another task, of another version or made of other parameters is refused,
 * and the run begins anew: the picture is the same, only later.
 */
#ifndef WORKER_WORKER_LATENTS_H
#define WORKER_WORKER_LATENTS_H

#include "worker/worker_api.h"

#include "core/buf.h"

#include <strata/pipeline.h>

/* What a task is drawn from, as a number: the model's name, the task's parameters and seed, the
 * version of this program. 0: no memory; then nothing is saved or restored. */
uint64_t worker_latents_key(const char *model, const struct worker_task *task);

/* -E2BIG: more than the service keeps. */
int worker_latents_save(const struct strata_pipeline_run *run, uint64_t key, struct buf *bytes,
			struct strata_error *err);
/* -EBADMSG, and the run is as it was. */
int worker_latents_restore(struct strata_pipeline_run *run, uint64_t key, const void *bytes,
			   size_t count, struct strata_error *err);

#endif
