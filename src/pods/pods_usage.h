/*
 * What service accounts have used, in GPU-hours that fade: by it the next round knows whose turn it
 * is. Pure. It is written as one line of JSON and read back; it outlives the scheduler in a
 * ConfigMap.
 */
#ifndef PODS_PODS_USAGE_H
#define PODS_PODS_USAGE_H

#include "core/map.h"

#include <strata/cluster.h>

struct pods_usage {
	struct strata_memory *memory; /* borrowed until fini */
	struct map_text users;        /* of struct pods_used, by "namespace/account" */
	int64_t half_life_ns;
	int64_t at_ns; /* as of then; 0: nothing was charged yet */
};

struct pods_used {
	double gpu_hours;
};

void pods_usage_init(struct pods_usage *usage, struct strata_memory *memory, int64_t half_life_ns);
void pods_usage_fini(struct pods_usage *usage);
/* All that was used fades to this time. Earlier ones are nothing. */
void pods_usage_fade(struct pods_usage *usage, int64_t now_ns);
int pods_usage_charge(struct pods_usage *usage, const char *user, double gpu_hours,
		      struct strata_error *err);
/* In the place of what is there. -EINVAL when it is not what write writes: nothing changed. */
int pods_usage_read(struct pods_usage *usage, const char *text, struct strata_error *err);
/* malloc's, the caller's to free; those that used most, as many as fit. NULL: out of memory. */
char *pods_usage_write(const struct pods_usage *usage);

#endif
