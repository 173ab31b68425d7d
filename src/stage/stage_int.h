/* What the parts of the stage level share. All of it works on struct strata_stage_problem: numbers per visit of one cyclic step. */
#ifndef STAGE_STAGE_INT_H
#define STAGE_STAGE_INT_H

#include <strata/stage.h>

/* ---- stage.c ---- */

/* Pages of each layer and of the budget, with the size of a page filled in. -E2BIG when the largest layer does not fit. */
int stage_measure(const struct strata_stage_model *model, struct strata_stage_machine *machine,
		  uint32_t *ret_pages, uint32_t *ret_budget, struct strata_error *err);

/* ---- reads.c: what follows from how much is kept ---- */

/*
 * When everything is read. Needs are in the order of visits, reads in the order of needs. With D(h) the pages needed up to visit h and
 * I(h) those given a frame before visit h computes, what is read ahead is I(h) − D(h), and each visit caps it: there are so many frames
 * beside what is kept and what computes; a page that was given up at h cannot be read again before; nobody reads further ahead than it
 * may. Since I never falls, the earliest reading is I(h) = the smallest cap from h on, and as caps repeat every step one step's look
 * is enough.
 */
struct reads {
	const struct strata_stage_problem *problem;
	uint32_t *base;  /* frames of what computes and of what is kept across it */
	int64_t *needed; /* D, from the step's first visit on */
	int64_t *issued; /* I, likewise: more than needed by what is for later */
	int64_t total;   /* pages per step */
	double *ends;    /* scratch of the clock */
};

struct score {
	double step;   /* in times to read a page */
	int64_t pages; /* read per step */
};

/* Room for a problem, in the arena. */
int reads_init(struct reads *reads, const struct strata_stage_problem *problem,
	       struct strata_arena *arena, struct strata_error *err);
/* false: so much cannot be kept. */
bool reads_set(struct reads *reads, const uint32_t *kept, uint32_t ahead);
/* How long a step takes once they follow on each other. */
struct score reads_score(const struct reads *reads);
static inline bool score_better(const struct score *a, const struct score *b)
{
	if (a->step < b->step * (1 - 1e-9))
		return true;
	return a->step <= b->step * (1 + 1e-9) && a->pages < b->pages;
}

/* ---- belady.c ---- */

/* What Belady's rule keeps with so many frames: the page that is used last goes first. ret_kept may be NULL. ret_pages, which may
 * be NULL too: pages read per step in the long run. -ENOSPC when the frames do not hold the largest layer, -ENOMEM. */
int belady(const struct strata_stage_problem *problem, uint32_t budget, struct strata_arena *arena,
	   uint32_t *ret_kept, double *ret_pages);

/* ---- trim.c ---- */

/* Cuts down what does not fit, what is used last first. */
int trim(const struct strata_stage_problem *problem, uint32_t budget, struct strata_arena *arena,
	 uint32_t *kept);

/* ---- planners that others try ---- */

int spread_keep(const struct strata_stage_problem *problem, double level, double room,
		struct strata_arena *arena, uint32_t *ret_kept);
int aggressive_keep(const struct strata_stage_problem *problem, struct strata_arena *arena,
		    uint32_t *ret_kept);
uint32_t stage_largest(const struct strata_stage_problem *problem); /* layer, in pages */

#endif
