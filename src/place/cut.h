/* Cutting a graph into one piece for each device: what cut_lines.c and cut_ideals.c share. */
#ifndef PLACE_CUT_H
#define PLACE_CUT_H

#include "place/place_int.h"

/* Blocks are groups in their order, several in one where there are very many. */
struct cut {
	const struct strata_place_problem *problem;
	size_t block_count, class_count;
	uint32_t *block_of; /* of each group */
	/* kinds of devices: alike in times and memory */
	uint32_t class_of[STRATA_PLACE_DEVICES_MAX];
	uint32_t class_first[STRATA_PLACE_DEVICES_MAX]; /* a device of that class */
	uint32_t class_size[STRATA_PLACE_DEVICES_MAX];
	double *times;         /* block × class */
	int64_t *weights, *kv; /* of each block */
	/* values between blocks: made in one, read in others */
	size_t value_count;
	uint32_t *maker;                  /* block */
	uint32_t *reader_count;           /* other blocks that read it */
	uint32_t *reader_first, *readers; /* value_count + 1, into readers: blocks */
	double *way_ns;                   /* what moving it takes of either end's time */
	/* block_count + 1: values that a block makes or reads */
	uint32_t *touch_first, *touch_values;
	/* a piece that grows and shrinks */
	uint32_t *readers_in; /* of each value */
	bool *maker_in;
	double moved_ns; /* its transfers */
};

/* Everything but the piece, which is empty. whole: groups that need each other in a circle are one block, and there are as many blocks as
 * that leaves. */
int cut_init(struct cut *cut, const struct strata_place_problem *problem, size_t blocks_max,
	     bool whole, struct strata_arena *arena, struct strata_error *err);
/* Adds a block to the piece, or takes it away. Returns how many values were touched. */
size_t cut_add(struct cut *cut, uint32_t block);
size_t cut_take(struct cut *cut, uint32_t block);
bool cut_fits(const struct cut *cut, size_t class, int64_t weights, int64_t kv);

/* Which blocks come before which: lists of those that each leads to, once for each edge between ops. A model's way back is tied to its way there
 * by groups, so where there is one only the way there counts. block_of is of each group. */
int cut_leads(const struct strata_place_problem *problem, const uint32_t *block_of,
	      size_t block_count, struct strata_arena *arena, uint32_t **ret_first,
	      uint32_t **ret_leads);

/* cycles.c: a number for each component, a node before all that lead to it. 0, or negative for lack of memory. */
int cycles_find(size_t node_count, const uint32_t *first, const uint32_t *leads,
		struct strata_arena *arena, uint32_t *ret_component, size_t *ret_count);

/* Pieces that are stretches of the order, best of all such: a device for each block, and the largest load, infinite when
 * none fits. -ENOMEM. */
int cut_lines(struct cut *cut, struct strata_place_budget *budget, struct strata_arena *arena,
	      uint32_t *ret_device, double *ret_load);

/* Pieces that are closed under what lies between, on any devices: best of all such that are better than `limit`. And the largest load, infinite when
 * there is none or the visits ran out. The cut is a whole one. -ENOMEM. */
int cut_ideals(struct cut *cut, double limit, int64_t visits, struct strata_place_budget *budget,
	       struct strata_arena *arena, uint32_t *ret_device, double *ret_load);

#endif
