/* What the parts of the place level share. All of it works on struct strata_place_problem: numbers per op, group and device. */
#ifndef PLACE_PLACE_INT_H
#define PLACE_PLACE_INT_H

#include <strata/place.h>

#include <math.h>

/* ---- problem.c: the question in numbers ---- */

/* In the arena. -ENOSPC when an op has no device that it may run on. */
int problem_make(const struct strata_place_request *ask, struct strata_arena *arena,
		 struct strata_place_problem *ret_problem, struct strata_error *err);

/* ---- groups.c: what must be on one device, and what it keeps there ---- */

/* Fills group, group_first, group_ops, group_count, weight_bytes and kv_bytes. */
int groups_make(struct strata_place_problem *problem, struct strata_arena *arena,
		struct strata_error *err);

/* ---- stock.c: memory ---- */

struct stock { /* of one device */
	int64_t weights, kv;
};

/* Would the group fit beside what is there? Activations are not looked at. */
bool stock_fits(const struct strata_place_problem *problem, const struct stock *stocks,
		size_t group, size_t device);
static inline void stock_put(const struct strata_place_problem *problem, struct stock *stocks,
			     size_t group, size_t device)
{
	stocks[device].weights += problem->weight_bytes[group];
	stocks[device].kv += problem->kv_bytes[group];
}
static inline void stock_take(const struct strata_place_problem *problem, struct stock *stocks,
			      size_t group, size_t device)
{
	stocks[device].weights -= problem->weight_bytes[group];
	stocks[device].kv -= problem->kv_bytes[group];
}
/* Does what is there fit by itself? */
bool stock_holds(const struct strata_place_problem *problem, const struct stock *room,
		 size_t device);

/* Counts activations again and again without allocating: room for a problem, in the arena (NULL: no memory), and the
 * most bytes of a draft's activations at a time, device × phase. */
struct counter;
struct counter *stock_counter_new(const struct strata_place_problem *problem,
				  struct strata_arena *arena);
void stock_count(struct counter *counter, const struct strata_place_draft *draft,
		 int64_t *ret_peaks);
/* The same once: most bytes of activations at a time, device × phase, into ret_peaks; scratch from the arena. 0 or -ENOMEM. */
int stock_activations(const struct strata_place_problem *problem,
		      const struct strata_place_draft *draft, struct strata_arena *arena,
		      int64_t *ret_peaks);
/* Are activations limited at all? */
bool stock_limits_activations(const struct strata_place_problem *problem);
/* Do these peaks fit beside the rest? ret_device and ret_phase (may be NULL) become where not. */
bool stock_holds_activations(const struct strata_place_problem *problem, const struct stock *stocks,
			     const int64_t *peaks, size_t *ret_device, size_t *ret_phase);

static inline int64_t stock_limit(int64_t bytes)
{
	return bytes > 0 ? bytes : INT64_MAX;
}

/* ---- simulate.c ---- */

/* Time to move data from one device to another. */
static inline double place_move_ns(const struct strata_place_problem *problem, size_t from,
				   size_t to, int64_t bytes, double cost_ns)
{
	if (from == to)
		return 0;
	if (cost_ns >= 0) {
		const struct strata_device *devices = problem->machine->devices;

		return problem->machine->through_host ? cost_ns * (!devices[from].transfers_free +
								   !devices[to].transfers_free)
						      : cost_ns;
	}
	size_t link = from * problem->device_count + to;

	return problem->latency_ns[link] + (double)bytes * problem->ns_per_byte[link];
}

/* The part of one end in moving a value. */
static inline double place_way_ns(const struct strata_place_problem *problem, size_t value,
				  size_t from, size_t to)
{
	if (problem->value_cost_ns[value] >= 0)
		return problem->value_cost_ns[value];
	return place_move_ns(problem, from, to, problem->value_bytes[value], -1);
}

/* When the last op ends; ops up to the first that ends behind the cutoff. ret_start may be NULL; free_ns is scratch, one for each
 * device. */
double simulate_latency(const struct strata_place_problem *problem,
			const struct strata_place_draft *draft, double cutoff, double *ret_start,
			double *ret_finish, double *free_ns);

/* What each device has to do for a request of a pipeline; returns the most. */
double simulate_loads(const struct strata_place_problem *problem,
		      const struct strata_place_draft *draft, double *ret_loads);

/* ---- loads.c: the same, kept up to date move by move ---- */

struct loads {
	const struct strata_place_problem *problem;
	uint32_t *device;    /* of each op */
	uint32_t *readers;   /* value × device: ops there that read it */
	double *load;        /* of each device */
	uint32_t *out_first; /* op_count + 1: values out_first[i] … are made by op i */
};
int loads_init(struct loads *loads, const struct strata_place_problem *problem,
	       struct strata_arena *arena, struct strata_error *err);
/* Every op on a device, from a draft. */
void loads_set(struct loads *loads, const uint32_t *device);
/* Moves an op. Returns how many numbers were touched. */
size_t loads_move(struct loads *loads, size_t op, size_t device);
double loads_most(const struct loads *loads);

/* ---- drafts.c ---- */

/* The draft's arrays, as strata_strategy_class says. */
int draft_make(const struct strata_place_problem *problem, struct strata_arena *arena,
	       struct strata_place_draft *ret_draft, struct strata_error *err);
void draft_copy(const struct strata_place_problem *problem, const struct strata_place_draft *from,
		struct strata_place_draft *to);
void draft_put(const struct strata_place_problem *problem, struct strata_place_draft *draft,
	       size_t group, size_t device);
/* Fills stocks from a whole draft. */
void draft_stocks(const struct strata_place_problem *problem,
		  const struct strata_place_draft *draft, struct stock *ret_stocks);
/* Is the budget used up? Takes visits off it. */
bool budget_spend(struct strata_place_budget *budget, int64_t visits);
/* The device for a group that fits and has the lowest time for it; STRATA_NONE when none fits. */
uint32_t draft_fastest(const struct strata_place_problem *problem, const struct stock *stocks,
		       size_t group);
double group_time(const struct strata_place_problem *problem, size_t group, size_t device);
/* Nothing is better: the longest way through the graph, all work spread evenly over all devices; 0 for other objectives than latency. */
double draft_floor(const struct strata_place_problem *problem, double *scratch);
/* Accelerators, or all when there are none: a bit for each. Lost ones are left out. */
uint64_t draft_accelerators(const struct strata_place_problem *problem);

/* ---- check.c ---- */

/* Does a draft keep all rules? Knows nothing of how drafts are made. */
int check_draft(const struct strata_place_problem *problem, const struct strata_place_draft *draft,
		struct strata_arena *arena, struct strata_error *err);

/* ---- reasons.c ---- */

/* Sentences about a measured plan. */
int reasons_make(const struct strata_place_problem *problem, struct strata_place_plan *plan,
		 struct strata_arena *arena, struct strata_error *err);
/* -ENOSPC with what is missing. */
int reasons_misfit(const struct strata_place_problem *problem, struct strata_arena *arena,
		   struct strata_error *err);

/* ---- strategies that others begin from ---- */
int heft_propose(const struct strata_place_problem *problem, bool kv, bool pin_kv, double jitter,
		 uint64_t seed, struct strata_place_budget *budget, struct strata_arena *arena,
		 struct strata_place_draft *draft, struct strata_error *err);

#endif
