/*
 * The stage level: which layer's parameters are in memory when. A model's layers are visited in a known order, step after step; the memory
 * given does not hold them all; one channel brings what is missing. A plan says what is read when and what is given up, for one step that
 * repeats for ever. It is made once, verified once, and then only followed.
 *
 * Layers are cut into pages of one size, and pages of a layer are as good as each other: what is in memory of a layer is always its first
 * so many pages. So a plan comes down to one number per visit: how many pages of the layer stay until it is visited again. All else
 * follows: what must be read, and how early each read can be given a frame. Who chooses these numbers is a class, a planner
 * (`strata classes planner`).
 *
 * Everything is computed from the arguments; nothing here reads a file or a clock. Plans are constant and live in the caller's arena.
 */
#ifndef STRATA_STAGE_H
#define STRATA_STAGE_H

#include <strata/class.h>
#include <strata/error.h>
#include <strata/memory.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- what is to be run ---- */

struct strata_stage_layer {
	const char *name;
	int64_t bytes;      /* of its parameters, at least 1 */
	int64_t compute_ns; /* of one visit */
};

struct strata_stage_model {
	const struct strata_stage_layer *layers; /* up to STRATA_STAGE_VISITS_MAX */
	size_t layer_count;
	const uint32_t *order; /* of visits in one step, by index; NULL: each layer once, in turn */
	size_t visit_count;    /* up to STRATA_STAGE_VISITS_MAX */
	size_t backward_count; /* of them, the last so many go backward */
};

struct strata_stage_machine {
	int64_t page_bytes;   /* 0: 2 MiB */
	int64_t budget_bytes; /* for parameters, those on their way included; a hard limit */
	int64_t bytes_per_s;  /* of the channel */
};

/* ---- a plan: a schedule of entries that repeats for ever ---- */

enum strata_stage_kind {
	STRATA_STAGE_FETCH,    /* like prefetch, and wait until all of the layer is there */
	STRATA_STAGE_PREFETCH, /* begin to read these pages; they have frames from now on */
	STRATA_STAGE_COMPUTE,  /* the visit: waits for its pages, then computes */
	STRATA_STAGE_RELEASE,  /* give up these pages */
};
enum { STRATA_STAGE_KIND_COUNT = STRATA_STAGE_RELEASE + 1 };
const char *strata_stage_kind_name(enum strata_stage_kind kind); /* "fetch" */

struct strata_stage_entry {
	enum strata_stage_kind kind;
	uint32_t layer;
	uint32_t first, count; /* pages that are read or given up; a fetch may have none to read */
	/* COMPUTE: which; when reading: the one it is for, which may be in the next step */
	uint32_t visit;
};

/* What a plan is expected to do, once it repeats. */
struct strata_stage_metrics {
	double step_ns;         /* time of a step */
	double compute_ns;      /* of it, computing */
	int64_t bytes_per_step; /* read */
	int64_t min_bytes_per_step;
	double lower_bound_ns; /* no plan is faster: all computing, or the fewest bytes through the channel */
	double ratio;       /* of step_ns to that */
	int64_t peak_bytes; /* frames in use at a time */
};

struct strata_stage_plan {
	const char *planner; /* name of the class that made it, or that it chose */
	int64_t page_bytes;
	uint32_t budget_pages;
	size_t layer_count, visit_count; /* of the model */
	const uint32_t *layer_pages;
	/* of each layer, pages that have a frame when a step begins: to be read before the first */
	const uint32_t *held;
	const struct strata_stage_entry *entries; /* of one step, in order */
	size_t entry_count;
	struct strata_stage_metrics metrics;
};

/* Makes a plan. -E2BIG when the budget does not hold the largest layer: the sentence has the bytes needed. The planner's spec may be zeroed:
 * `best`. */
int strata_stage_plan(const struct strata_spec *planner, const struct strata_stage_model *model,
		      const struct strata_stage_machine *machine, struct strata_arena *arena,
		      struct strata_stage_plan *ret_plan, struct strata_error *err);

/* The same by a planner written as text ("best", "aggressive"). */
int strata_stage_build(const char *planner, const struct strata_stage_model *model,
		       const struct strata_stage_machine *machine, struct strata_arena *arena,
		       struct strata_stage_plan *ret_plan, struct strata_error *err);

/*
 * Does the plan keep every rule, whoever made it? Pages are in memory when their layer computes; none is read that has a frame, none given
 * up that has not or that computes; no more frames are in use than the budget has; every visit of the order happens once, in order; and the
 * step ends as it began. One pass, knowing nothing of how plans are made. -EINVAL with the first entry that breaks a rule, and which.
 */
int strata_stage_verify(const struct strata_stage_plan *plan,
			const struct strata_stage_model *model, struct strata_arena *arena,
			struct strata_error *err);

/* ---- schedules written by hand ---- */

#define STRATA_STAGE_REST \
	UINT32_MAX /* as a count: all that is missing of the layer, or all that is there */

/*
 * A plan from a schedule that somebody wrote: entries of whole layers (STRATA_STAGE_REST; `first` is nothing then) or of pages. A fetch or a prefetch
 * of what is there reads nothing. held is how many pages of each layer are there when a step begins; NULL: what a step from nothing leaves, so what
 * is never released is there from the second on. The model's visits are those of the compute entries. bytes_per_s may be 0: then the plan has no
 * times. The plan still has to be verified.
 */
int strata_stage_schedule(const struct strata_stage_model *model,
			  const struct strata_stage_machine *machine, const uint32_t *held,
			  const struct strata_stage_entry *entries, size_t entry_count,
			  struct strata_arena *arena, struct strata_stage_plan *ret_plan,
			  struct strata_error *err);

/* ---- a clock for plans ---- */

/* What entries take when they are done one after the other: one channel reads in the order it is asked, one visit computes at a time. */
struct strata_stage_clock {
	const struct strata_stage_model *model;
	double page_ns; /* to read one */
	/* when the loop, and all that was asked of the channel, is done */
	double now_ns, channel_ns;
	double *ready_ns; /* of each layer, when what was read of it last is there */
};
struct strata_stage_span {
	double begin_ns, end_ns; /* of reading, or of computing */
};
/* Starts at 0. The model is borrowed. */
int strata_stage_clock_init(struct strata_stage_clock *clock,
			    const struct strata_stage_model *model, int64_t page_bytes,
			    int64_t bytes_per_s, struct strata_arena *arena,
			    struct strata_error *err);
struct strata_stage_span strata_stage_clock_do(struct strata_stage_clock *clock,
					       const struct strata_stage_entry *entry);

/* ---- following plans ---- */

/*
 * A run follows a plan through the hooks that a training or sampling loop calls, and returns what is due as data: entries that the caller
 * performs in order before it goes on. It keeps account of what is in memory and touches nothing itself.
 *
 *	on_step_start; for each layer: on_pre_forward, compute, on_post_forward; the same backward; on_step_end
 *
 * A pre hook returns the entries up to the layer's compute (last: wait for its pages, then compute), a post hook those after it that need not
 * wait. With a plan that has no backward visits the backward hooks return nothing.
 *
 * When the loop departs from the plan, the layer it wants is fetched at once and the plan is taken up again at the next visit that matches:
 * frames are taken from what is used last, what the plan wants there is prefetched afterwards. Every order that was seen has a plan of its own
 * from then on (up to a few), and a run told no order at all records it in its first step.
 */
enum strata_stage_hook {
	STRATA_STAGE_STEP_START,
	STRATA_STAGE_PRE_FORWARD,
	STRATA_STAGE_POST_FORWARD,
	STRATA_STAGE_PRE_BACKWARD,
	STRATA_STAGE_POST_BACKWARD,
	STRATA_STAGE_STEP_END,
};
enum { STRATA_STAGE_HOOK_COUNT = STRATA_STAGE_STEP_END + 1 };
const char *strata_stage_hook_name(enum strata_stage_hook hook); /* "on_step_start" */

struct strata_stage_run;
struct strata_stage_run_conf {
	const struct strata_stage_model *model; /* copied; visit_count 0: the order is recorded */
	/* page and budget come from the plan if there is one */
	struct strata_stage_machine machine;
	const struct strata_stage_plan
		*plan;              /* followed as it is, after verification; NULL: made */
	struct strata_spec planner; /* for what is made, lives as long as the run; zeroed: `best` */
};
int strata_stage_run_new(const struct strata_stage_run_conf *conf, struct strata_memory *memory,
			 struct strata_stage_run **ret_run, struct strata_error *err);
void strata_stage_run_free(struct strata_stage_run *run); /* NULL is nothing */

/* What a hook makes due. Entries live until the next call. A release may name pages that are still on their way. */
struct strata_stage_due {
	const struct strata_stage_entry *entries;
	size_t count;
	bool surprise; /* the plan had something else here */
};

/* The layer is nothing to the hooks of a step. -EINVAL when hooks come in an impossible order or of a layer that is not there: nothing changed. */
int strata_stage_run_hook(struct strata_stage_run *run, enum strata_stage_hook hook, uint32_t layer,
			  struct strata_stage_due *ret_due, struct strata_error *err);

struct strata_stage_progress {
	const struct strata_stage_plan *plan; /* followed now; NULL: none yet */
	size_t plans;                         /* known orders */
	uint64_t steps, visits, surprises;
	uint32_t used_pages, peak_pages;
};
void strata_stage_run_progress(const struct strata_stage_run *run,
			       struct strata_stage_progress *ret_progress);

/* ---- planners ---- */

/* What a planner sees: numbers per visit of the cyclic step. */
struct strata_stage_problem {
	size_t visit_count, layer_count;
	const uint32_t *layer; /* of each visit */
	const uint32_t *pages; /* of that layer */
	const uint32_t *next;  /* visits until it is used again, 1 to visit_count */
	const double *compute; /* time of the visit, in times to read a page */
	uint32_t budget;       /* frames */
};

struct strata_planner_class {
	struct strata_class base;
	uint32_t ahead; /* visits that reads may run ahead; UINT32_MAX: as far as frames go */
	/* How many pages stay after each visit, 0 to pages: into ret_kept, which comes zeroed. More than the frames can hold is cut
	 * down afterwards. */
	int (*keep)(const void *conf, const struct strata_stage_problem *problem,
		    struct strata_arena *arena, uint32_t *ret_kept, struct strata_error *err);
};
extern const struct strata_kind strata_planner_kind;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
