/* Values on a logarithmic scale: see day_sketch.h. */
#include "server/day_sketch.h"

#include <math.h>
#include <string.h>

#define LOWEST 1e-9
#define STEP 1.05 /* from bucket to bucket */

static size_t bucket_of(double value)
{
	if (value <= LOWEST)
		return 0;
	double at = log(value / LOWEST) / log(STEP);

	return at >= DAY_SKETCH_BUCKETS - 1 ? DAY_SKETCH_BUCKETS - 1 : (size_t)at;
}

/* The middle of a bucket, by ratio; of the first, which has everything down to nothing, 0. */
static double value_of(size_t bucket)
{
	return bucket == 0 ? 0 : LOWEST * pow(STEP, (double)bucket + 0.5);
}

void day_sketch_add(struct day_sketch *sketch, double value)
{
	if (isnan(value))
		return;
	uint32_t *bucket = &sketch->buckets[bucket_of(value)];

	if (*bucket == UINT32_MAX)
		return;
	++*bucket;
	sketch->count++;
}

double day_sketch_quantile(const struct day_sketch *sketch, double part)
{
	double wanted = part * (double)sketch->count;
	uint64_t so_far = 0;

	for (size_t i = 0; i < DAY_SKETCH_BUCKETS; i++) {
		so_far += sketch->buckets[i];
		if (so_far && (double)so_far >= wanted)
			return value_of(i);
	}
	return 0;
}

json_t *day_sketch_keep(const struct day_sketch *sketch)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < DAY_SKETCH_BUCKETS; i++)
		if (sketch->buckets[i])
			json_array_append_new(list, json_pack("[I,I]", (json_int_t)i,
							      (json_int_t)sketch->buckets[i]));
	return list;
}

void day_sketch_restore(struct day_sketch *sketch, const json_t *kept)
{
	memset(sketch, 0, sizeof(*sketch));
	for (size_t i = 0; i < json_array_size(kept); i++) {
		json_int_t bucket, count;

		if (json_unpack(json_array_get(kept, i), "[I,I!]", &bucket, &count) || bucket < 0 ||
		    bucket >= DAY_SKETCH_BUCKETS || count < 1 || count > UINT32_MAX ||
		    sketch->buckets[bucket])
			continue;
		sketch->buckets[bucket] = (uint32_t)count;
		sketch->count += (uint64_t)count;
	}
}
