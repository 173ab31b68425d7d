/* What the parts of a run share: which plan is followed, where in it, and what is in memory. */
#ifndef STAGE_RUN_H
#define STAGE_RUN_H

#include <strata/stage.h>

enum { RUN_PLANS_MAX = 8 };
#define RUN_NONE UINT32_MAX

/* A plan and the order it is for. */
struct known {
	struct strata_arena arena; /* has what is below */
	struct strata_stage_plan plan;
	const uint32_t *order;
	size_t visit_count;
	size_t *compute_at; /* of each visit, its entry */
	bool fits;          /* the step so far is as the order says */
	uint64_t last_step; /* that it was followed in */
};

struct strata_stage_run {
	struct strata_memory *memory;
	struct strata_arena arena;       /* has the arrays by layer */
	struct strata_stage_model model; /* its layers */
	struct strata_stage_machine machine;
	struct strata_spec planner;
	bool backward; /* hooks do something */
	uint32_t budget, *layer_pages;

	struct known *plans[RUN_PLANS_MAX];
	size_t plan_count;
	struct known *now; /* NULL: none yet */
	size_t at, visit;  /* entry and visit of it that are due next */

	uint32_t *held, used, peak; /* pages with a frame, of each layer and of all */
	bool in_step, detour;       /* this visit is not of the plan */
	uint32_t computing;         /* layer; RUN_NONE */
	uint32_t *seen;             /* visits of this step */
	size_t seen_count, seen_room;
	uint32_t *odd; /* the last order that no plan is for and for which there was no room */
	size_t odd_count;

	struct strata_stage_entry *made; /* what is due and in no plan; up to 2 per layer and 2 */
	size_t made_count;
	uint32_t *want, *line; /* scratch by layer */
	uint64_t steps, visits, surprises;
};

/* ---- known.c ---- */

/* Plans for an order, or takes a plan that is there. */
int known_add(struct strata_stage_run *run, const uint32_t *order, size_t visit_count,
	      const struct strata_stage_plan *plan, struct strata_error *err);
void known_drop(struct strata_stage_run *run, size_t index);
/* At the end of a step: which plan is followed from now on, if need be a new one. */
int known_choose(struct strata_stage_run *run, struct strata_error *err);

/* ---- detour.c: ways off the plan and back, as entries in `made` ---- */

void run_apply(struct strata_stage_run *run, const struct strata_stage_entry *entry);
/* To what the plan has in memory before an entry; if that is a compute, with all of the layer fetched first, and it computes. */
void run_move(struct strata_stage_run *run, struct known *known, size_t entry);
/* Fetches a layer that the plan does not have here. */
void run_detour(struct strata_stage_run *run, uint32_t layer);

#endif
