/*
 * How many together pay, and fit: learned from what calls of the model take, for each shape, on
 * this worker's device. The quickest call of each batch size counts, because what else runs on the
 * machine only makes calls slower. It is forgotten after a while and learned anew.
 */
#ifndef WORKER_WORKER_CAPS_H
#define WORKER_WORKER_CAPS_H

#include <strata/limits.h>

#include <stddef.h>
#include <stdint.h>

enum {
	WORKER_CAPS_SHAPES = 32,      /* that are remembered; then the oldest makes room */
	WORKER_CAPS_SAMPLES_MIN = 8,  /* calls of one size before it counts */
	WORKER_CAPS_CALLS_MAX = 4096, /* of a shape, before it is learned anew */
};

struct worker_caps {
	struct worker_cap {
		uint64_t key;         /* of the shape: strata_pipeline_batch_key */
		uint32_t calls, fits; /* fits: no more do; 0: not known */
		uint32_t samples[STRATA_BATCH_MAX + 1];
		int64_t best_ns[STRATA_BATCH_MAX + 1];
	} shapes[WORKER_CAPS_SHAPES];
	size_t count, oldest;
};

/* A call for so many took so long. */
void worker_caps_note(struct worker_caps *caps, uint64_t key, size_t together, int64_t ns);
/* So many did not fit into memory. */
void worker_caps_misfit(struct worker_caps *caps, uint64_t key, size_t together);
/* More than so many at once take longer than one after the other, or do not fit; 0: nothing is
 * known against any number. */
uint32_t worker_caps_most(const struct worker_caps *caps, uint64_t key);

#endif
