/*
 * portfolio: asks the constructive strategies, keeps the best few of what they propose, and spends the budget on improving those: exactly where
 * the graph is small, over orders where the order is free, and by moves. What it returns is the best that was measured.
 */
#include "place/search.h"

#include <errno.h>
#include <string.h>

extern const struct strata_strategy_class strata_strategy_contiguous;
extern const struct strata_strategy_class strata_strategy_load_balance;
extern const struct strata_strategy_class strata_strategy_round_robin;
extern const struct strata_strategy_class strata_strategy_sequential;
extern const struct strata_strategy_class strata_strategy_single;

enum { KEPT = 3 };

struct portfolio {
	const struct strata_place_problem *problem;
	struct strata_place_budget *budget;
	struct strata_place_meter *meter;
	struct strata_arena *arena;
	struct strata_arena scratch; /* of one proposal */
	struct strata_place_draft kept[KEPT], trial;
	double values[KEPT]; /* ascending; infinite: none */
};

/* Among the best, unless one of the same value is there. */
static void keep(struct portfolio *portfolio)
{
	double value = strata_place_meter_read(portfolio->meter, &portfolio->trial, INFINITY);
	size_t at = 0;

	while (at < KEPT && portfolio->values[at] < value)
		at++;
	if (at == KEPT || !isfinite(value) || portfolio->values[at] == value)
		return;
	struct strata_place_draft room = portfolio->kept[KEPT - 1];

	for (size_t i = KEPT - 1; i > at; i--) {
		portfolio->kept[i] = portfolio->kept[i - 1];
		portfolio->values[i] = portfolio->values[i - 1];
	}
	draft_copy(portfolio->problem, &portfolio->trial, &room);
	portfolio->kept[at] = room;
	portfolio->values[at] = value;
}

static void fresh(struct portfolio *portfolio)
{
	const struct strata_place_problem *problem = portfolio->problem;

	strata_arena_reset(&portfolio->scratch);
	memset(portfolio->trial.device, 0xff, problem->op_count * sizeof(uint32_t));
	memcpy(portfolio->trial.order, problem->order, problem->op_count * sizeof(uint32_t));
}

static int ask(struct portfolio *portfolio, const struct strata_strategy_class *cls,
	       struct strata_error *err)
{
	struct strata_schema schema = { cls->base.name, NULL, cls->base.conf_size,
					cls->base.options };
	void *conf = NULL;
	int rc = 0;

	fresh(portfolio);
	if (schema.conf_size) {
		conf = strata_arena_get(&portfolio->scratch, schema.conf_size);
		rc = conf ? strata_schema_defaults(&schema, &portfolio->scratch, conf, err)
			  : strata_fail_memory(err);
	}
	if (rc == 0)
		rc = cls->propose(conf, portfolio->problem,
				  isfinite(portfolio->values[0]) ? &portfolio->kept[0] : NULL,
				  portfolio->budget, &portfolio->scratch, &portfolio->trial, err);
	if (rc == 0)
		keep(portfolio);
	return rc == -ENOSPC ? 0 : rc;
}

static int ask_heft(struct portfolio *portfolio, bool kv, bool pin_kv, struct strata_error *err)
{
	fresh(portfolio);
	int rc = heft_propose(portfolio->problem, kv, pin_kv, 0, portfolio->problem->seed,
			      portfolio->budget, &portfolio->scratch, &portfolio->trial, err);

	if (rc == 0)
		keep(portfolio);
	return rc == -ENOSPC ? 0 : rc;
}

static int ask_all(struct portfolio *portfolio, struct strata_error *err)
{
	int rc = ask(portfolio, &strata_strategy_single, err);

	if (rc == 0)
		rc = ask(portfolio, &strata_strategy_round_robin, err);
	if (rc == 0)
		rc = ask(portfolio, &strata_strategy_sequential, err);
	if (rc == 0)
		rc = ask(portfolio, &strata_strategy_load_balance, err);
	if (rc == 0)
		rc = ask_heft(portfolio, true, false, err);
	if (rc == 0 && portfolio->problem->kv_move_ns)
		rc = ask_heft(portfolio, true, true, err);
	if (rc == 0 && portfolio->problem->kv_move_ns)
		rc = ask_heft(portfolio, false, false, err);
	return rc;
}

/* From each of those kept a part of the budget, the best with what is left. */
static int improve(struct portfolio *portfolio, struct strata_error *err)
{
	const struct strata_place_problem *problem = portfolio->problem;
	struct strata_place_budget *budget = portfolio->budget;
	int rc = 0;

	for (size_t i = 0; i < KEPT + 1 && rc == 0; i++) {
		size_t from = i < KEPT ? KEPT - 1 - i : 0;
		int64_t share = budget->visits / (int64_t)(KEPT + 1 - i);

		if (!isfinite(portfolio->values[from]) || share <= 0)
			continue;
		strata_arena_reset(&portfolio->scratch);
		draft_copy(problem, &portfolio->kept[from], &portfolio->trial);
		rc = search_moves(problem, share - share / 10, problem->seed + i, budget,
				  &portfolio->scratch, &portfolio->trial, err);
		if (rc == 0)
			keep(portfolio);
	}
	return rc;
}

static int search(struct portfolio *portfolio, struct strata_error *err)
{
	const struct strata_place_problem *problem = portfolio->problem;
	struct strata_place_budget *budget = portfolio->budget;
	bool latency = problem->objective == STRATA_LATENCY, proven = false;
	int rc = 0;

	if (latency && problem->op_count <= SEARCH_ALL_OPS_MAX && isfinite(portfolio->values[0])) {
		strata_arena_reset(&portfolio->scratch);
		draft_copy(problem, &portfolio->kept[0], &portfolio->trial);
		rc = search_all(problem, budget->visits / 4, budget, &portfolio->scratch,
				&portfolio->trial, &proven, err);
		if (rc == 0)
			keep(portfolio);
	}
	if (rc == 0 && latency && !proven && !problem->fixed_order &&
	    isfinite(portfolio->values[0])) {
		strata_arena_reset(&portfolio->scratch);
		draft_copy(problem, &portfolio->kept[0], &portfolio->trial);
		rc = search_orders(problem, budget->visits / 2, problem->seed, budget,
				   &portfolio->scratch, &portfolio->trial, err);
		if (rc == 0)
			keep(portfolio);
	}
	if (rc == 0 && !proven)
		rc = improve(portfolio, err);
	return rc;
}

static int begin(struct portfolio *portfolio, struct strata_error *err)
{
	int rc = strata_place_meter_new(portfolio->problem, portfolio->arena, &portfolio->meter,
					err);

	for (size_t i = 0; i < KEPT && rc == 0; i++) {
		portfolio->values[i] = INFINITY;
		rc = draft_make(portfolio->problem, portfolio->arena, &portfolio->kept[i], err);
	}
	return rc ? rc : draft_make(portfolio->problem, portfolio->arena, &portfolio->trial, err);
}

static int propose(const void *conf, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	struct portfolio portfolio = { .problem = problem, .budget = budget, .arena = arena };
	int rc = begin(&portfolio, err);

	if (rc)
		return rc;
	strata_arena_init(&portfolio.scratch, arena->memory, 0);
	if (start) {
		draft_copy(problem, start, &portfolio.trial);
		keep(&portfolio);
	}
	rc = ask_all(&portfolio, err);
	if (rc == 0)
		rc = ask(&portfolio, &strata_strategy_contiguous, err);
	if (rc == 0)
		rc = search(&portfolio, err);
	strata_arena_fini(&portfolio.scratch);
	if (rc)
		return rc;
	if (!isfinite(portfolio.values[0]))
		return strata_fail(err, -ENOSPC, "no strategy found a plan that fits");
	draft_copy(problem, &portfolio.kept[0], draft);
	return 0;
}

const struct strata_strategy_class strata_strategy_portfolio = {
	.base = { .name = "portfolio",
		  .aliases = "auto, best",
		  .summary = "asks the others and improves the best of what they propose" },
	.propose = propose,
};
