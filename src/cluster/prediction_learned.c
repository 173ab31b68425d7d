/*
 * learned: as long as runs like it took. A run belongs to kinds, each narrower than the one before:
 * all that asked for about as long, the user's, the user's of that name, those of that limit, those
 * of that size. Each kind has a mean in which a run counts less with every run that follows it. A
 * narrow kind's mean begins as the wider one's and leaves it as its own runs come in, so a new user
 * is taken to be like others, and what is run every day like itself.
 *
 * Times are in proportion to limits in the widest kind, which holds users who have little else in
 * common; in the others they are times.
 *
 * Only waiting jobs are predicted: there a wrong guess costs little, since it is one of many. Of a
 * placed job the limit stays what is counted on, so what is promised to the head of the queue is
 * not built on guesses, and nothing has to be corrected.
 *
 * Kinds are kept in a table of a fixed size. They are known by 64 bits of hash, which is taken to
 * be enough; where the table has no room for a new one, the one of its neighbours goes that has not
 * been run for longest.
 */
#include <strata/cluster.h>

#include <string.h>

/* What a run of the widest kind still counts after the next: there are many, and what they have in
 * common changes slowly. */
#define WIDEST_KEEP 0.998

enum { KIND_LEVELS = 5, SET_KINDS = 8 };

struct learned_conf {
	double keep, doubt;
	int64_t kinds;
};

static const struct strata_option learned_options[] = {
	{ "keep", STRATA_REAL, offsetof(struct learned_conf, keep), .real = { 0.9, 0, 0.9999 },
	  .help = "how much a run still counts after the next of its kind" },
	{ "doubt", STRATA_REAL, offsetof(struct learned_conf, doubt), .real = { 2, 0, 1000 },
	  .help = "how much the wider kind counts", .unit = "runs" },
	{ "kinds", STRATA_INT, offsetof(struct learned_conf, kinds),
	  .integer = { 1 << 16, 1, 1 << 24 },
	  .help = "how many kinds of runs are remembered, at 32 bytes each" },
	{ 0 }
};

struct mean {
	double weight; /* of all runs, the last counting 1 */
	/* of what they took, so weighted: ns, or parts of the limit in the widest kind */
	double sum;
};

/* Where kinds with the same low bits live. */
struct set {
	uint64_t keys[SET_KINDS]; /* 0: none */
	uint64_t used[SET_KINDS]; /* the state's clock when it was last run; 0: never */
	struct mean means[SET_KINDS];
};

struct learned_state {
	struct strata_memory *memory; /* borrowed */
	struct set *sets;
	size_t set_count; /* a power of two */
	uint64_t clock;   /* runs learned */
};

/* The keys of a run's kinds, the widest first; 0: it has none of that level. */
struct kinds {
	uint64_t keys[KIND_LEVELS];
};

static int learned_open(const void *conf_any, struct strata_memory *memory, void **ret_state,
			struct strata_error *err)
{
	const struct learned_conf *conf = conf_any;
	struct learned_state *state = strata_memory_get(memory, sizeof(*state));

	if (!state)
		return strata_fail_memory(err);
	state->memory = memory;
	state->set_count = 1;
	while (state->set_count * SET_KINDS < (size_t)conf->kinds)
		state->set_count *= 2;
	state->sets = strata_memory_get(memory, state->set_count * sizeof(*state->sets));
	if (!state->sets) {
		strata_memory_put(memory, state, sizeof(*state));
		return strata_fail_memory(err);
	}
	*ret_state = state;
	return 0;
}

static void learned_close(void *state_any)
{
	struct learned_state *state = state_any;

	if (!state)
		return;
	strata_memory_put(state->memory, state->sets, state->set_count * sizeof(*state->sets));
	strata_memory_put(state->memory, state, sizeof(*state));
}

/* The key of what is of the kind `wider` and has this value; never 0. */
static uint64_t narrow(uint64_t wider, uint64_t value)
{
	uint64_t bits = (wider ^ value) * UINT64_C(0x9e3779b97f4a7c15);

	bits = (bits ^ bits >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (bits ^ bits >> 32) | 1;
}

/* Limits that are within about half of each other: where the highest bit is, and what the next one
 * is. */
static uint64_t about(int64_t limit_ns)
{
	uint64_t bits = (uint64_t)limit_ns | 1, highest = 63 - (uint64_t)__builtin_clzll(bits);

	return 2 * highest + (highest ? bits >> (highest - 1) & 1 : 0);
}

static struct kinds kinds_of(const struct strata_run *run)
{
	uint64_t size, user = narrow(narrow(0, 1), run->user), name = narrow(user, run->name),
		       limit = narrow(name, (uint64_t)run->requested_ns);

	_Static_assert(sizeof(size) == sizeof(run->size), "a size has as many bits as a key");
	memcpy(&size, &run->size, sizeof(size));
	return (struct kinds){ { narrow(narrow(0, 2), about(run->requested_ns)), user,
				 run->name ? name : 0, limit, narrow(limit, size) } };
}

static struct set *set_of(const struct learned_state *state, uint64_t key)
{
	return &state->sets[key >> 1 & (state->set_count - 1)]; /* the lowest bit is always 1 */
}

static const struct mean *find(const struct learned_state *state, uint64_t key)
{
	const struct set *set = set_of(state, key);

	for (int i = 0; key && i < SET_KINDS; i++)
		if (set->keys[i] == key)
			return &set->means[i];
	return NULL;
}

static int64_t learned_predict(const void *conf_any, const void *state_any,
			       const struct strata_run *run)
{
	const struct learned_conf *conf = conf_any;
	const struct learned_state *state = state_any;
	struct kinds kinds = kinds_of(run);
	double limit_ns = (double)run->requested_ns, expected_ns = limit_ns;

	for (int level = 0; level < KIND_LEVELS; level++) {
		const struct mean *mean = find(state, kinds.keys[level]);

		if (!mean)
			continue;
		double sum_ns = level ? mean->sum : mean->sum * limit_ns;

		if (sum_ns > mean->weight * limit_ns)
			sum_ns = mean->weight * limit_ns; /* it has less time than those had */
		expected_ns = (sum_ns + conf->doubt * expected_ns) / (mean->weight + conf->doubt);
	}
	return expected_ns < 1          ? 1
	       : expected_ns < limit_ns ? (int64_t)expected_ns
					: run->requested_ns;
}

/* The mean of a kind, made if it has none. */
static struct mean *get(struct learned_state *state, uint64_t key)
{
	struct set *set = set_of(state, key);
	int oldest = 0;

	for (int i = 0; i < SET_KINDS; i++) {
		if (set->keys[i] == key) {
			set->used[i] = state->clock;
			return &set->means[i];
		}
		if (set->used[i] < set->used[oldest])
			oldest = i;
	}
	set->keys[oldest] = key;
	set->used[oldest] = state->clock;
	set->means[oldest] = (struct mean){ 0 };
	return &set->means[oldest];
}

static void learned_learn(const void *conf_any, void *state_any, const struct strata_run *run,
			  int64_t ran_ns)
{
	const struct learned_conf *conf = conf_any;
	struct learned_state *state = state_any;
	struct kinds kinds = kinds_of(run);

	state->clock++;
	for (int level = 0; level < KIND_LEVELS; level++) {
		if (!kinds.keys[level])
			continue;
		struct mean *mean = get(state, kinds.keys[level]);
		double keep = level ? conf->keep : WIDEST_KEEP,
		       took = level ? (double)ran_ns : (double)ran_ns / (double)run->requested_ns;

		mean->weight = mean->weight * keep + 1;
		mean->sum = mean->sum * keep + took;
	}
}

const struct strata_prediction_class strata_prediction_learned = {
	.base = {
		.name = "learned",
		.summary = "as long as runs like it took",
		.conf_size = sizeof(struct learned_conf),
		.options = learned_options,
	},
	.open = learned_open,
	.close = learned_close,
	.predict = learned_predict,
	.learn = learned_learn,
};
