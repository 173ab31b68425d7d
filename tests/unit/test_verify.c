/* The verifier against plans that were spoilt in every way, beside one that knows nothing but pages and sets of them. */
#include "test.h"

#include <strata/rng.h>
#include <strata/stage.h>

#include <errno.h>
#include <string.h>

enum { LAYERS = 5, PAGES = 8, VISITS = 9, ENTRIES_MAX = 256 };

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
		const struct strata_stage_model *model, const struct strata_stage_entry *entry,
		uint32_t *visit)
{
	if (entry->layer >= LAYERS || (unsigned)entry->kind > STRATA_STAGE_RELEASE)
		return false;
	uint32_t pages = plan->layer_pages[entry->layer];

	if (entry->kind == STRATA_STAGE_COMPUTE) {
		if (*visit >= VISITS || entry->visit != *visit ||
		    model->order[*visit] != entry->layer)
			return false;
		++*visit;
		for (uint32_t k = 0; k < pages; k++)
			if (!state->held[entry->layer][k])
				return false;
		return true;
	}
	bool reads = entry->kind == STRATA_STAGE_FETCH || entry->kind == STRATA_STAGE_PREFETCH;

	if (entry->kind == STRATA_STAGE_FETCH && !entry->count) /* only waits */
		return (!entry->first || state->held[entry->layer][entry->first - 1]) &&
		       (entry->first >= PAGES || !state->held[entry->layer][entry->first]);
	if (!entry->count || entry->first >= pages || entry->count > pages - entry->first)
		return false;
	for (uint32_t k = entry->first; k < entry->first + entry->count; k++) {
		if (state->held[entry->layer][k] == reads)
			return false;
		state->held[entry->layer][k] = reads;
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
	for (size_t i = 0; i < plan->entry_count; i++)
		if (!act(&state, plan, model, &plan->entries[i], &visit))
			return false;
	return visit == VISITS && memcmp(&state, &begin, sizeof(state)) == 0;
}

static uint32_t nudge(struct strata_rng *rng, uint32_t number)
{
	return number + (strata_rng_below(rng, 2) ? 1 : UINT32_MAX);
}

/* One small change; some of them do no harm. */
static void spoil(struct strata_rng *rng, struct strata_stage_plan *plan, uint32_t *held,
		  struct strata_stage_entry *entries)
{
	size_t at = strata_rng_below(rng, plan->entry_count);
	struct strata_stage_entry *one = &entries[at], other = *one;
	size_t behind = plan->entry_count - at - 1;

	switch (strata_rng_below(rng, 10)) {
	case 0:
		memmove(one, one + 1, behind * sizeof(*one));
		plan->entry_count--;
		break;
	case 1:
		memmove(one + 1, one, (behind + 1) * sizeof(*one));
		plan->entry_count++;
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
	case 8:
		one->kind =
			(enum strata_stage_kind)strata_rng_below(rng, STRATA_STAGE_KIND_COUNT + 1);
		break;
	default:
		plan->budget_pages--;
	}
}

TEST(every_plan_that_breaks_a_rule_is_refused_and_no_other)
{
	struct strata_stage_layer layers[LAYERS];
	uint32_t order[VISITS], held[LAYERS];
	struct strata_stage_entry entries[ENTRIES_MAX];
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
		/* `best` takes its time */
		CHECK_OK(strata_stage_build(i % 8 ? "aggressive" : "best", &model, &machine, &arena,
					    &plan, &err));
		CHECK(is_valid(&plan, &model));
		CHECK(plan.entry_count + 1 < ENTRIES_MAX);
		for (int k = 0; k < 50; k++) {
			struct strata_stage_plan mutant = plan;

			memcpy(entries, plan.entries, plan.entry_count * sizeof(*entries));
			memcpy(held, plan.held, sizeof(held));
			mutant.entries = entries;
			mutant.held = held;
			spoil(&rng, &mutant, held, entries);
			int rc = strata_stage_verify(&mutant, &model, &arena, &err);

			CHECK_INT(rc, is_valid(&mutant, &model) ? 0 : -EINVAL);
			*(rc ? &refused : &harmless) += 1;
		}
	}
	CHECK(refused > 10000 && harmless > 100);
	strata_arena_fini(&arena);
}
