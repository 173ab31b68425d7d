/*
 * What many values were like, in bounded memory: a count for each bucket of a logarithmic scale, so
 * that every quantile is known within 2.5 %. Adding costs the same however many there are. Pure
 * arithmetic; one owner.
 */
#ifndef SERVER_DAY_SKETCH_H
#define SERVER_DAY_SKETCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* From 1e-9 to above 1e9; what is below or above counts as the first or the last. */
enum { DAY_SKETCH_BUCKETS = 860 };

struct day_sketch {
	uint32_t buckets[DAY_SKETCH_BUCKETS];
	uint64_t count;
};

/* A value that is no number is left out. */
void day_sketch_add(struct day_sketch *sketch, double value);
/* The value below which this part (0 to 1) of all lies; 0: there are none. */
double day_sketch_quantile(const struct day_sketch *sketch, double part);

/* As it is kept, [[bucket, count], …], and back: what is not of that form is left out. NULL: no
 * memory. */
json_t *day_sketch_keep(const struct day_sketch *sketch);
void day_sketch_restore(struct day_sketch *sketch, const json_t *kept);

#endif
