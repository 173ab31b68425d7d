/* The verifier against plans that were spoilt in every way, beside one that knows nothing but pages and sets of them. */
#include "test.h"

#include <strata/rng.h>
#include <strata/stage.h>

#include <errno.h>
#include <string.h>

enum { LAYERS = 5, PAGES = 8, VISITS = 9, ACTIONS_MAX = 64 };

static struct strata_memory memory;
static struct strata_error err;

struct state {
	bool held[LAYERS][PAGES];
};

static int count_held(const struct state *state)
{
	int count = 0;

	for (int i = 0; i < LAYERS; i++)
		for (int k = 0; k < PAGES; k++)
			count += state->held[i][k];
	return count;
}

/* What is there of a layer are its first pages. */
static bool is_sound(const struct state *state)
{
	for (int i = 0; i < LAYERS; i++)
		for (int k = 1; k < PAGES; k++)
			if (state->held[i][k] && !state->held[i][k - 1])
				return false;
	return true;
}

static bool act(struct state *state, const struct strata_stage_plan *plan,
		const struct strata_stage_model *model, const struct strata_stage_action *action,
		uint32_t *visit)
{
	if (action->layer >= LAYERS || (unsigned)action->kind > STRATA_STAGE_FREE)
		return false;
	uint32_t pages = plan->layer_pages[action->layer];

	if (action->kind == STRATA_STAGE_COMPUTE) {
		if (*visit >= VISITS || action->visit != *visit ||
		    model->order[*visit] != action->layer)
			return false;
		++*visit;
		for (uint32_t k = 0; k < pages; k++)
			if (!state->held[action->layer][k])
				return false;
		return true;
	}
	if (!action->count || action->first >= pages || action->count > pages - action->first)
		return false;
	for (uint32_t k = action->first; k < action->first + action->count; k++) {
		if (state->held[action->layer][k] == (action->kind == STRATA_STAGE_READ))
			return false;
		state->held[action->layer][k] = action->kind == STRATA_STAGE_READ;
	}
	return is_sound(state) && count_held(state) <= (int)plan->budget_pages;
}

static bool is_valid(const struct strata_stage_plan *plan, const struct strata_stage_model *model)
{
	struct state begin = { 0 }, state;
	uint32_t visit = 0;

	for (int i = 0; i < LAYERS; i++) {
		if (plan->held[i] > plan->layer_pages[i])
			return false;
		for (uint32_t k = 0; k < plan->held[i]; k++)
			begin.held[i][k] = true;
	}
	state = begin;
	if (count_held(&state) > (int)plan->budget_pages)
		return false;
	for (size_t i = 0; i < plan->action_count; i++)
		if (!act(&state, plan, model, &plan->actions[i], &visit))
			return false;
	return visit == VISITS && memcmp(&state, &begin, sizeof(state)) == 0;
}

static uint32_t nudge(struct strata_rng *rng, uint32_t number)
{
	return number + (strata_rng_below(rng, 2) ? 1 : UINT32_MAX);
}

/* One small change; some of them do no harm. */
static void spoil(struct strata_rng *rng, struct strata_stage_plan *plan, uint32_t *held,
		  struct strata_stage_action *actions)
{
	size_t at = strata_rng_below(rng, plan->action_count);
	struct strata_stage_action *one = &actions[at], other = *one;
	size_t behind = plan->action_count - at - 1;

	switch (strata_rng_below(rng, 9)) {
	case 0:
		memmove(one, one + 1, behind * sizeof(*one));
		plan->action_count--;
		break;
	case 1:
		memmove(one + 1, one, (behind + 1) * sizeof(*one));
		plan->action_count++;
		break;
	case 2:
		if (behind) {
			*one = one[1];
			one[1] = other;
		}
		break;
	case 3:
		one->count = nudge(rng, one->count);
		break;
	case 4:
		one->first = nudge(rng, one->first);
		break;
	case 5:
		one->layer = (uint32_t)strata_rng_below(rng, LAYERS + 1);
		break;
	case 6:
		one->visit = nudge(rng, one->visit);
		break;
	case 7:
		held[strata_rng_below(rng, LAYERS)] ^= 1;
		break;
	default:
		plan->budget_pages--;
	}
}

TEST(every_plan_that_breaks_a_rule_is_refused_and_no_other)
{
	struct strata_stage_layer layers[LAYERS];
	uint32_t order[VISITS], held[LAYERS];
	struct strata_stage_action actions[ACTIONS_MAX];
	const struct strata_stage_model model = { layers, LAYERS, order, VISITS };
	struct strata_rng rng;
	struct strata_arena arena;
	int refused = 0, harmless = 0;

	strata_rng_init(&rng, 9, 0);
	strata_arena_init(&arena, &memory, 0);
	for (int i = 0; i < 400; i++) {
		struct strata_stage_plan plan;

		for (uint32_t k = 0; k < LAYERS; k++)
			layers[k] = (struct strata_stage_layer){
				"l", 1 + (int64_t)strata_rng_below(&rng, PAGES), 1000
			};
		for (uint32_t v = 0; v < VISITS; v++)
			order[v] = v < LAYERS ? v : (uint32_t)strata_rng_below(&rng, LAYERS);
		const struct strata_stage_machine machine = {
			1, PAGES + (int64_t)strata_rng_below(&rng, 16), 1000000
		};

		strata_arena_reset(&arena);
		CHECK_OK(strata_stage_plan(NULL, &model, &machine, &arena, &plan, &err));
		CHECK(is_valid(&plan, &model));
		CHECK(plan.action_count + 1 < ACTIONS_MAX);
		for (int k = 0; k < 50; k++) {
			struct strata_stage_plan mutant = plan;

			memcpy(actions, plan.actions, plan.action_count * sizeof(*actions));
			memcpy(held, plan.held, sizeof(held));
			mutant.actions = actions;
			mutant.held = held;
			spoil(&rng, &mutant, held, actions);
			int rc = strata_stage_verify(&mutant, &model, &arena, &err);

			CHECK_INT(rc, is_valid(&mutant, &model) ? 0 : -EINVAL);
			*(rc ? &refused : &harmless) += 1;
		}
	}
	CHECK(refused > 10000 && harmless > 100);
	strata_arena_fini(&arena);
}
