/*
 * What a job used over time: its supervisor looks at it now and then and keeps the figures here, a
 * bounded number of points however long it runs. When they are too many, two neighbours become one
 * and the next looks are twice as far apart, so a job of a minute and one of a month cost the same.
 * Pure, but for samples_write, which puts them where others read them while the job runs.
 */
#ifndef EXEC_SAMPLES_H
#define EXEC_SAMPLES_H

#include "core/env.h"

#include <strata/error.h>
#include <strata/limits.h>
#include <strata/memory.h>
#include <strata/option.h>

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLES_BYTES_MAX = 1 << 16 }; /* of all points, as text */

/* From the point before (or the start) until at_ms. */
struct samples_point {
	int64_t at_ms;            /* since the start */
	int64_t cpu_ms;           /* CPU time used in between */
	int64_t memory_bytes;     /* the most that was seen */
	int64_t gpu_ms;           /* that its GPUs were busy in between, all together */
	int64_t gpu_memory_bytes; /* of its GPUs, the most that was seen */
};

struct samples {
	struct samples_point points[STRATA_SAMPLES_MAX];
	size_t count;
	int64_t interval_ms; /* between two looks */
	int64_t gpus;        /* that are looked at; 0: none can be */
};

/* What a look finds. */
struct samples_look {
	int64_t at_ms;
	int64_t cpu_ms; /* since the start */
	int64_t memory_bytes;
	int64_t gpu_milli; /* busy GPUs at this moment, in thousandths of one */
	int64_t gpu_memory_bytes;
};

void samples_init(struct samples *samples, int64_t gpus);
/* A look that is not later than the one before is left out. */
void samples_add(struct samples *samples, const struct samples_look *look);

/* The same as columns, which is how they are written down. */
struct record_samples {
	int64_t gpus;
	/* of int64_t, equally many */
	struct strata_list at_ms, cpu_ms, memory_bytes, gpu_ms, gpu_memory_bytes;
};
extern const struct strata_schema record_samples_schema;

/* One line of JSON, on the arena. */
int samples_print(const struct samples *samples, struct strata_arena *arena, const char **ret_json,
		  struct strata_error *err);
/* -EBADMSG when columns differ in length or times do not grow. */
int samples_read(const char *json, size_t length, struct strata_arena *arena,
		 struct record_samples *ret_record, struct strata_error *err);
/* In the place of the file of this name, all at once; not made durable: the end of the attempt
 * carries them, too. */
int samples_write(const struct env *env, int dir, const char *name, const char *json,
		  struct strata_error *err);

#endif
