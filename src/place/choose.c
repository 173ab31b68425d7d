/*
 * A plan: the problem is made, every strategy asked proposes, each proposal is checked and measured by the same simulator, the best wins. The
 * best single device always takes part, so no plan is worse than it. What each came to, and why the winner won, is part of the plan.
 */
#include "place/place_int.h"

#include "core/class.h"
#include "core/option.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

/* Ops looked at when nobody says how many: small graphs get more for each op. */
#define VISITS_PER_OP 200
#define VISITS_MIN INT64_C(250000)

const char *strata_objective_name(enum strata_objective objective)
{
	static const char *const names[STRATA_OBJECTIVE_COUNT] = {
		[STRATA_LATENCY] = "latency",
		[STRATA_THROUGHPUT] = "throughput",
		[STRATA_MEMORY] = "memory",
	};

	return (unsigned)objective < STRATA_OBJECTIVE_COUNT ? names[objective] : "unknown";
}

/* ---- figures of a draft ---- */

static void add_metrics(const struct strata_place_problem *problem,
			const struct strata_place_draft *draft, const int64_t *peaks,
			struct strata_place_metrics *metrics)
{
	size_t d = problem->device_count;

	for (size_t i = 0; i < problem->op_count; i++) {
		metrics[draft->device[i]].op_count++;
		metrics[draft->device[i]].busy_ns += problem->times[i * d + draft->device[i]];
	}
	for (size_t g = 0; g < problem->group_count; g++) {
		struct strata_place_metrics *on =
			&metrics[draft->device[problem->group_ops[problem->group_first[g]]]];

		on->weight_bytes += problem->weight_bytes[g];
		on->kv_bytes += problem->kv_bytes[g];
	}
	for (size_t j = 0; j < d; j++)
		for (size_t p = 0; p < STRATA_PHASE_COUNT; p++)
			if (peaks[j * STRATA_PHASE_COUNT + p] > metrics[j].activation_bytes)
				metrics[j].activation_bytes = peaks[j * STRATA_PHASE_COUNT + p];
}

static void sum_metrics(const struct strata_place_problem *problem, const double *loads,
			struct strata_place_metrics *metrics, struct strata_place_plan *plan)
{
	for (size_t j = 0; j < problem->device_count; j++) {
		int64_t has = problem->machine->devices[j].capacity_bytes;
		double used = (double)(metrics[j].weight_bytes + metrics[j].kv_bytes +
				       metrics[j].activation_bytes);

		metrics[j].load_ns = loads[j];
		metrics[j].utilisation =
			plan->latency_ns > 0 ? metrics[j].busy_ns / plan->latency_ns : 0;
		if (has > 0)
			plan->memory_share = fmax(plan->memory_share, used / (double)has);
	}
	plan->devices = metrics;
}

static int measure(const struct strata_place_problem *problem,
		   const struct strata_place_draft *draft, struct strata_arena *arena,
		   struct strata_place_plan *plan, struct strata_error *err)
{
	size_t n = problem->op_count, d = problem->device_count;
	double *start = strata_arena_array(arena, n, sizeof(*start));
	double *finish = strata_arena_array(arena, n, sizeof(*finish));
	double *loads = strata_arena_array(arena, 2 * d, sizeof(*loads));
	int64_t *peaks = strata_arena_array(arena, d * STRATA_PHASE_COUNT, sizeof(*peaks));
	struct strata_place_metrics *metrics = strata_arena_array(arena, d, sizeof(*metrics));
	struct strata_place_meter *meter;
	int rc;

	if (!start || !finish || !loads || !peaks || !metrics ||
	    stock_activations(problem, draft, arena, peaks))
		return strata_fail_memory(err);
	rc = strata_place_meter_new(problem, arena, &meter, err);
	if (rc)
		return rc;
	plan->device = draft->device;
	plan->order = draft->order;
	plan->start_ns = start;
	plan->finish_ns = finish;
	plan->latency_ns = simulate_latency(problem, draft, INFINITY, start, finish, loads + d);
	plan->load_ns = simulate_loads(problem, draft, loads);
	plan->value = strata_place_meter_read(meter, draft, INFINITY);
	add_metrics(problem, draft, peaks, metrics);
	sum_metrics(problem, loads, metrics, plan);
	return 0;
}

int strata_place_simulate(const struct strata_place_request *ask, const uint32_t *device,
			  const uint32_t *order, struct strata_arena *arena,
			  struct strata_place_plan *ret_plan, struct strata_error *err)
{
	struct strata_place_problem problem;
	struct strata_place_draft draft;
	struct strata_place_plan plan = { .strategy = "given" };
	int rc = problem_make(ask, arena, &problem, err);

	if (rc == 0)
		rc = draft_make(&problem, arena, &draft, err);
	if (rc)
		return rc;
	memcpy(draft.device, device, problem.op_count * sizeof(*device));
	if (order)
		memcpy(draft.order, order, problem.op_count * sizeof(*order));
	rc = check_draft(&problem, &draft, arena, err);
	if (rc == 0)
		rc = measure(&problem, &draft, arena, &plan, err);
	if (rc == 0)
		*ret_plan = plan;
	return rc;
}

/* ---- strategies in turn ---- */

struct contest {
	const struct strata_place_problem *problem;
	struct strata_arena *arena;
	struct strata_place_budget budget;
	struct strata_place_meter *meter;
	struct strata_place_draft best;
	double best_value; /* infinite: none yet */
	const char *winner;
	struct strata_place_result *results;
	size_t result_count;
	double *scratch; /* finish of each op, then two of each device */
};

static void note(struct contest *contest, const char *name, const struct strata_place_draft *draft,
		 double value)
{
	struct strata_place_result *result = &contest->results[contest->result_count++];
	size_t n = contest->problem->op_count, d = contest->problem->device_count;

	*result = (struct strata_place_result){ name, isfinite(value), value, INFINITY, INFINITY };
	if (!result->fits)
		return;
	result->latency_ns = simulate_latency(contest->problem, draft, INFINITY, NULL,
					      contest->scratch, contest->scratch + n);
	result->load_ns = simulate_loads(contest->problem, draft, contest->scratch + n + d);
}

/* The class's name, and those of its options that are not as usual: two of one class are told apart. NULL for lack of memory. */
static const char *label(struct contest *contest, const struct strata_spec *spec)
{
	struct strata_schema schema = class_schema(spec->cls);
	void *usual = strata_arena_get(contest->arena, schema.conf_size);
	const char *text = NULL;
	struct buf buf;

	buf_init(&buf, contest->arena->memory, 0);
	buf_add(&buf, spec->cls->name);
	if (usual && strata_schema_defaults(&schema, contest->arena, usual, NULL) == 0) {
		for (const struct strata_option *row = schema.options; row && row->name; row++) {
			const char *slot = (const char *)spec->conf + row->offset;

			if (memcmp(slot, (const char *)usual + row->offset, option_size(row)) == 0)
				continue;
			buf_printf(&buf, ":%s=", row->name);
			option_print(row, slot, &buf);
		}
		if (!buf.failed)
			text = strata_arena_text(contest->arena, buf.text, buf.length);
	}
	buf_fini(&buf);
	return text;
}

/* One strategy, with memory of its own that goes when it is done. */
static int propose(struct contest *contest, const struct strata_spec *spec,
		   struct strata_error *err)
{
	const struct strata_strategy_class *cls = (const struct strata_strategy_class *)spec->cls;
	const struct strata_place_draft *start = isfinite(contest->best_value) ? &contest->best
									       : NULL;
	const char *name = label(contest, spec);
	struct strata_arena scratch;
	struct strata_place_draft draft;
	int rc;

	if (!name)
		return strata_fail_memory(err);
	strata_arena_init(&scratch, contest->arena->memory, 0);
	rc = draft_make(contest->problem, &scratch, &draft, err);
	if (rc == 0)
		rc = cls->propose(spec->conf, contest->problem, start, &contest->budget, &scratch,
				  &draft, err);
	double value = INFINITY;

	if (rc == 0) {
		rc = check_draft(contest->problem, &draft, &scratch, err);
		if (rc == 0)
			value = strata_place_meter_read(contest->meter, &draft, INFINITY);
	}
	if (rc == 0 || rc == -ENOSPC)
		note(contest, name, &draft, value);
	if (rc == 0 && value < contest->best_value) {
		draft_copy(contest->problem, &draft, &contest->best);
		contest->best_value = value;
		contest->winner = name;
	}
	strata_arena_fini(&scratch);
	return rc == -ENOSPC || rc == -ENOTSUP ? 0 : rc;
}

static int run_named(struct contest *contest, const char *name, struct strata_error *err)
{
	struct strata_spec spec;
	int rc = strata_spec_build(&strata_strategy_kind, name, contest->arena, &spec, err);

	return rc ? rc : propose(contest, &spec, err);
}

static int run_all(struct contest *contest, const struct strata_place_request *ask,
		   struct strata_error *err)
{
	int rc = run_named(contest, "single", err);

	if (ask->strategy_count == 0 && rc == 0)
		rc = run_named(contest, "portfolio", err);
	for (size_t i = 0; i < ask->strategy_count && rc == 0; i++)
		if (strcmp(ask->strategies[i].cls->name, "single") != 0)
			rc = propose(contest, &ask->strategies[i], err);
	return rc;
}

static int contest_init(struct contest *contest, const struct strata_place_request *ask,
			const struct strata_place_problem *problem, struct strata_arena *arena,
			struct strata_error *err)
{
	size_t n = problem->op_count, d = problem->device_count;
	int64_t visits = ask->budget.visits;

	*contest = (struct contest){
		.problem = problem, .arena = arena, .budget = ask->budget, .best_value = INFINITY
	};
	if (visits <= 0)
		visits = (int64_t)n * VISITS_PER_OP > VISITS_MIN ? (int64_t)n * VISITS_PER_OP
								 : VISITS_MIN;
	contest->budget.visits = visits;
	contest->results =
		strata_arena_array(arena, ask->strategy_count + 2, sizeof(*contest->results));
	contest->scratch = strata_arena_array(arena, n + 2 * d, sizeof(double));
	if (!contest->results || !contest->scratch)
		return strata_fail_memory(err);
	int rc = draft_make(problem, arena, &contest->best, err);

	return rc ? rc : strata_place_meter_new(problem, arena, &contest->meter, err);
}

int strata_place_plan(const struct strata_place_request *ask, struct strata_arena *arena,
		      struct strata_place_plan *ret_plan, struct strata_error *err)
{
	struct strata_place_problem problem;
	struct strata_place_plan plan = { 0 };
	struct contest contest;
	int rc = problem_make(ask, arena, &problem, err);

	if (rc == 0)
		rc = contest_init(&contest, ask, &problem, arena, err);
	if (rc)
		return rc;
	int64_t visits = contest.budget.visits;

	rc = run_all(&contest, ask, err);
	if (rc == 0 && !contest.winner)
		return reasons_misfit(&problem, arena, err);
	if (rc == 0)
		rc = measure(&problem, &contest.best, arena, &plan, err);
	if (rc)
		return rc;
	plan.strategy = contest.winner;
	plan.results = contest.results;
	plan.result_count = contest.result_count;
	plan.visits = visits - contest.budget.visits;
	rc = reasons_make(&problem, &plan, arena, err);
	if (rc == 0)
		*ret_plan = plan;
	return rc;
}

int strata_place_build(const char *strategies, const struct strata_place_request *ask,
		       struct strata_arena *arena, struct strata_place_plan *ret_plan,
		       struct strata_error *err)
{
	struct strata_place_request by_text = *ask;
	struct strata_spec *specs;
	int rc = strata_spec_build_list(&strata_strategy_kind, strategies, arena, &specs,
					&by_text.strategy_count, err);

	if (rc)
		return rc;
	by_text.strategies = specs;
	return strata_place_plan(&by_text, arena, ret_plan, err);
}
