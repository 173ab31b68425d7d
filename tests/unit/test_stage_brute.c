/*
 * `best` beside every plan there is. Times are whole numbers of the time to read a page, so between two of them nothing happens: at each, a page
 * may begin to be read into a free frame or one that is taken from a layer that does not compute. The shortest step that ends as it began, over
 * all states it may begin in, is found by trying everything.
 */
#include "test.h"

#include <strata/rng.h>
#include <strata/stage.h>

#include <string.h>

enum { LAYERS = 3, PAGES_MAX = 3, VISITS_MAX = 5, COMPUTE_MAX = 4 };
enum { HELD = 64, STATES = HELD * (VISITS_MAX + 1) * (COMPUTE_MAX + 1) };

static struct strata_memory memory;
static struct strata_error err;

struct instance {
	uint32_t pages[LAYERS], order[VISITS_MAX], visits;
	uint32_t compute[LAYERS], budget;
};

struct state {
	uint32_t held[LAYERS], visit, left; /* left: of computing; 0: it waits */
};

static uint32_t number_of(const struct state *state)
{
	uint32_t held = state->held[0] + 4 * state->held[1] + 16 * state->held[2];

	return (held * (VISITS_MAX + 1) + state->visit) * (COMPUTE_MAX + 1) + state->left;
}

struct search {
	const struct instance *instance;
	bool seen[STATES];
	struct state queue[STATES];
	uint32_t time[STATES], count;
};

static void push(struct search *search, const struct state *state, uint32_t time)
{
	uint32_t number = number_of(state);

	if (search->seen[number])
		return;
	search->seen[number] = true;
	search->time[search->count] = time;
	search->queue[search->count++] = *state;
}

/* One unit of time passes. */
static void pass(struct search *search, struct state state, int reads, uint32_t time)
{
	if (state.left && --state.left == 0)
		state.visit++;
	if (reads >= 0)
		state.held[reads]++;
	push(search, &state, time + 1);
}

static void expand(struct search *search, struct state state, uint32_t time)
{
	const struct instance *instance = search->instance;
	uint32_t used = state.held[0] + state.held[1] + state.held[2];

	if (state.visit < instance->visits && !state.left) {
		uint32_t layer = instance->order[state.visit];

		if (state.held[layer] == instance->pages[layer])
			state.left = instance->compute[layer];
	}
	pass(search, state, -1, time);
	for (int layer = 0; layer < LAYERS; layer++) {
		if (state.held[layer] == instance->pages[layer])
			continue;
		if (used < instance->budget)
			pass(search, state, layer, time);
		for (int from = 0; from < LAYERS; from++) {
			struct state other = state;

			if (from == layer || !state.held[from] ||
			    (state.left && instance->order[state.visit] == (uint32_t)from))
				continue;
			other.held[from]--;
			pass(search, other, layer, time);
		}
	}
}

/* A step is over, and all that the next begins with is there; what is too much can be given up. */
static bool is_end(const struct instance *instance, const struct state *begin,
		   const struct state *state)
{
	return state->visit == instance->visits && state->held[0] >= begin->held[0] &&
	       state->held[1] >= begin->held[1] && state->held[2] >= begin->held[2];
}

/* The shortest step that begins and ends with this; UINT32_MAX: none. */
static uint32_t shortest_from(struct search *search, const struct state *begin)
{
	memset(search->seen, 0, sizeof(search->seen));
	search->count = 0;
	push(search, begin, 0);
	for (uint32_t at = 0; at < search->count; at++) {
		if (is_end(search->instance, begin, &search->queue[at]))
			return search->time[at];
		expand(search, search->queue[at], search->time[at]);
	}
	return UINT32_MAX;
}

static uint32_t shortest(const struct instance *instance)
{
	static struct search search;
	uint32_t best = UINT32_MAX;

	search.instance = instance;
	for (uint32_t number = 0; number < HELD; number++) {
		const struct state begin = { { number % 4, number / 4 % 4, number / 16 }, 0, 0 };
		bool fits = begin.held[0] + begin.held[1] + begin.held[2] <= instance->budget;

		for (int i = 0; i < LAYERS; i++)
			fits = fits && begin.held[i] <= instance->pages[i];
		uint32_t time = fits ? shortest_from(&search, &begin) : UINT32_MAX;

		if (time < best)
			best = time;
	}
	return best;
}

static void draw(struct strata_rng *rng, struct instance *instance)
{
	uint32_t largest = 0, sum = 0;

	for (int i = 0; i < LAYERS; i++) {
		instance->pages[i] = 1 + (uint32_t)strata_rng_below(rng, PAGES_MAX);
		instance->compute[i] = 1 + (uint32_t)strata_rng_below(rng, COMPUTE_MAX);
		sum += instance->pages[i];
		if (instance->pages[i] > largest)
			largest = instance->pages[i];
	}
	instance->visits = 2 + (uint32_t)strata_rng_below(rng, VISITS_MAX - 1);
	for (uint32_t v = 0; v < instance->visits; v++)
		instance->order[v] = (uint32_t)strata_rng_below(rng, LAYERS);
	instance->budget = largest + (uint32_t)strata_rng_below(rng, sum - largest + 1);
}

static double step_of_best(const struct instance *instance)
{
	struct strata_stage_layer layers[LAYERS];
	const struct strata_stage_model model = { layers, LAYERS, instance->order,
						  instance->visits };
	const struct strata_stage_machine machine = { 1, instance->budget, 1000000 };
	struct strata_stage_plan plan;
	struct strata_arena arena;

	for (int i = 0; i < LAYERS; i++)
		layers[i] = (struct strata_stage_layer){ "l", instance->pages[i],
							 (int64_t)instance->compute[i] * 1000 };
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_stage_plan(NULL, &model, &machine, &arena, &plan, &err));
	strata_arena_fini(&arena);
	return plan.metrics.step_ns / 1000;
}

TEST(small_plans_are_as_short_as_any)
{
	struct strata_rng rng;
	struct instance instance;
	int worse = 0, waits = 0;

	strata_rng_init(&rng, 4, 0);
	for (int i = 0; i < 300; i++) {
		uint32_t least, compute = 0;
		double step;

		draw(&rng, &instance);
		least = shortest(&instance);
		step = step_of_best(&instance);
		for (uint32_t v = 0; v < instance.visits; v++)
			compute += instance.compute[instance.order[v]];
		CHECK(step > least - 1e-6); /* nobody beats all there are */
		worse += step > least + 1e-6;
		waits += least > compute;
	}
	CHECK_INT(worse, 0);
	CHECK(waits > 50);
}
