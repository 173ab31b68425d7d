#include "test.h"

#include "core/share.h"
#include "random.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A share with `count` leaves below the root, of the given weights. */
static struct share *flat(struct strata_memory *memory, const double *weights, int count,
			  uint64_t *ret_leaves)
{
	struct strata_error err;
	struct share *share;
	char name[16];

	CHECK_OK(share_new(memory, 0, &share, &err));
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "u%d", i);
		CHECK_OK(share_add(share, share_root(share), name, weights[i], &ret_leaves[i],
				   &err));
	}
	return share;
}

static void activate(struct share *share, uint64_t leaf)
{
	struct strata_error err;

	CHECK_OK(share_activate(share, leaf, &err));
}

static void deactivate(struct share *share, uint64_t leaf)
{
	struct strata_error err;

	CHECK_OK(share_deactivate(share, leaf, &err));
}

static void charge(struct share *share, uint64_t leaf, double amount)
{
	struct strata_error err;

	CHECK_OK(share_charge(share, leaf, amount, 0, &err));
}

TEST(turns_are_taken_in_proportion_to_weight)
{
	static const double weights[] = { 1, 2, 5 };
	struct strata_memory memory = { 0 };
	int turns[3] = { 0 };
	uint64_t leaves[3];
	struct share *share = flat(&memory, weights, 3, leaves);

	CHECK_INT(share_pick(share), 0);
	for (int i = 0; i < 3; i++)
		activate(share, leaves[i]);
	CHECK(share_pick(share) == leaves[0]); /* all equal: the oldest */
	for (int step = 0; step < 8000; step++) {
		uint64_t leaf = share_pick(share);

		charge(share, leaf, 1);
		for (int i = 0; i < 3; i++)
			turns[i] += leaf == leaves[i];
	}
	CHECK_INT(turns[0], 1000);
	CHECK_INT(turns[1], 2000);
	CHECK_INT(turns[2], 5000);
	for (int i = 0; i < 3; i++)
		deactivate(share, leaves[i]);
	CHECK_INT(share_pick(share), 0);
	share_free(share);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(accounts_share_first_and_then_their_members)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	uint64_t crowd, alone, members[9], single;
	int to_crowd = 0;
	struct share *share;
	char name[16];

	CHECK_OK(share_new(&memory, 0, &share, &err));
	CHECK_OK(share_add(share, share_root(share), "crowd", 1, &crowd, &err));
	CHECK_OK(share_add(share, share_root(share), "alone", 1, &alone, &err));
	CHECK_OK(share_add(share, alone, "single", 1, &single, &err));
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		CHECK_OK(share_add(share, crowd, name, 1, &members[i], &err));
		activate(share, members[i]);
	}
	activate(share, single);
	CHECK(share_active(share, crowd) && share_active(share, share_root(share)));
	for (int step = 0; step < 900; step++) {
		uint64_t leaf = share_pick(share);

		to_crowd += leaf != single;
		charge(share, leaf, 1);
	}
	CHECK_INT(to_crowd, 450);
	for (int i = 0; i < 9; i++)
		CHECK_NEAR(share_usage(share, members[i], 0), 50, 0);
	CHECK_ERROR(share_activate(share, crowd, &err), -EINVAL, "crowd is an account");
	CHECK_ERROR(share_deactivate(share, share_root(share), &err), -EINVAL, "root");
	deactivate(share, single);
	CHECK(!share_active(share, alone));
	share_free(share);
}

TEST(an_idle_user_saves_up_nothing)
{
	static const double weights[] = { 1, 1, 1 };
	struct strata_memory memory = { 0 };
	uint64_t leaves[3];
	struct share *share = flat(&memory, weights, 3, leaves);

	activate(share, leaves[0]);
	for (int step = 0; step < 1000; step++)
		charge(share, share_pick(share), 1);
	activate(share, leaves[1]); /* slept all the while: from now on they alternate */
	int turns = 0;

	for (int step = 0; step < 100; step++) {
		turns += share_pick(share) == leaves[1];
		charge(share, share_pick(share), 1);
	}
	CHECK(turns >= 50 && turns <= 51);
	/* Nor does it help to leave and return, with others at work or without. */
	deactivate(share, leaves[1]);
	for (int step = 0; step < 1000; step++)
		charge(share, share_pick(share), 1);
	deactivate(share, leaves[0]);
	activate(share, leaves[2]);
	activate(share, leaves[1]);
	activate(share, leaves[0]);
	for (int i = 0; i < 3; i++)
		CHECK_NEAR(share_virtual_time(share, leaves[i]), 2050, 1);
	share_free(share);
}

TEST(a_debt_outlives_a_moment_of_quiet)
{
	static const double weights[] = { 1, 1 };
	struct strata_memory memory = { 0 };
	uint64_t leaves[2];
	struct share *share = flat(&memory, weights, 2, leaves);

	activate(share, leaves[0]);
	charge(share, leaves[0], 1000); /* a giant, and the queue is empty while it runs */
	deactivate(share, leaves[0]);
	activate(share, leaves[1]);
	activate(share, leaves[0]);
	for (int step = 0; step < 100; step++) {
		CHECK(share_pick(share) == leaves[1]);
		charge(share, leaves[1], 10);
	}
	CHECK(share_pick(share) == leaves[0]);
	share_free(share);
}

TEST(a_parked_leaf_is_passed_over_and_loses_nothing)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	uint64_t account, a, b, other;
	struct share *share;

	CHECK_OK(share_new(&memory, 0, &share, &err));
	CHECK_OK(share_add(share, share_root(share), "account", 1, &account, &err));
	CHECK_OK(share_add(share, share_root(share), "other", 1, &other, &err));
	CHECK_OK(share_add(share, account, "a", 1, &a, &err));
	CHECK_OK(share_add(share, account, "b", 1, &b, &err));
	CHECK_OK(share_park(share, a, &err)); /* has no work: nothing to pass over */
	CHECK(!share_active(share, a));
	activate(share, a);
	activate(share, other);
	CHECK_OK(share_park(share, a, &err));
	CHECK(share_active(share, a) && share_active(share, account));
	for (int step = 0; step < 10; step++) {
		CHECK(share_pick(share) == other);
		charge(share, other, 1);
	}
	activate(share, b); /* brings the account back, with all its credit */
	CHECK(share_pick(share) == b);
	charge(share, b, 1);
	activate(share, a);
	for (int step = 0; step < 9; step++) {
		CHECK(share_pick(share) != other);
		charge(share, share_pick(share), 1);
	}
	charge(share, share_pick(share), 1);
	CHECK(share_pick(share) == other);
	/* Going idle while parked ends the credit, on every level. */
	deactivate(share, b);
	CHECK_OK(share_park(share, a, &err));
	CHECK(share_active(share, account));
	deactivate(share, a);
	CHECK(!share_active(share, account));
	for (int step = 0; step < 100; step++)
		charge(share, other, 1);
	activate(share, a);
	CHECK_NEAR(share_virtual_time(share, account), share_virtual_time(share, other), 1);
	share_free(share);
}

TEST(small_charges_count_after_a_huge_one)
{
	static const double weights[] = { 1, 1 };
	struct strata_memory memory = { 0 };
	int turns[2] = { 0 };
	uint64_t leaves[2];
	struct share *share = flat(&memory, weights, 2, leaves);

	for (int i = 0; i < 2; i++) {
		activate(share, leaves[i]);
		charge(share, leaves[i], 1e25);
	}
	for (int step = 0; step < 1000; step++) {
		int i = share_pick(share) == leaves[1];

		turns[i]++;
		charge(share, leaves[i], 0.001);
	}
	CHECK_INT(turns[0], 500);
	CHECK_INT(turns[1], 500);
	share_free(share);
}

/* ---- random trees against a naive model, and the bound ---- */

enum {
	NODES = 40,
	LEAVES_FROM = 12
}; /* nodes 1 … 11 are accounts, the rest leaves; 0 is the root */

static struct {
	struct share *share;
	uint64_t handles[NODES];
	int parents[NODES];
	double weights[NODES];
	double turn[NODES];  /* virtual time */
	double began[NODES]; /* where the last service of a ready child began */
	bool ready[NODES];   /* a leaf has work */
	double served[NODES], largest[NODES];
	double since[NODES][NODES]; /* served[i] / w − served[j] / w when both had become active */
} model;

static bool model_ready(int node)
{
	if (node >= LEAVES_FROM)
		return model.ready[node];
	for (int i = node + 1; i < NODES; i++)
		if (model.parents[i] == node && model_ready(i))
			return true;
	return false;
}

/* The ready child with the smallest virtual time, or −1. */
static int model_first(int node)
{
	int best = -1;

	for (int i = node + 1; i < NODES; i++)
		if (model.parents[i] == node && model_ready(i) &&
		    (best < 0 || model.turn[i] < model.turn[best]))
			best = i;
	return best;
}

static int model_pick(void)
{
	int node = 0;

	while (node >= 0 && node < LEAVES_FROM)
		node = model_first(node);
	return node;
}

static void model_set(int leaf, bool ready)
{
	for (int node = leaf; ready && node > 0 && !model_ready(node); node = model.parents[node])
		model.turn[node] = fmax(model.turn[node], model.began[model.parents[node]]);
	model.ready[leaf] = ready;
}

static void model_charge(int leaf, double amount)
{
	for (int node = leaf; node > 0; node = model.parents[node]) {
		int parent = model.parents[node];

		if (model_ready(node))
			model.began[parent] = model.turn[model_first(parent)];
		model.turn[node] += amount / model.weights[node];
		model.served[node] += amount / model.weights[node];
		model.largest[node] = fmax(model.largest[node], amount / model.weights[node]);
	}
}

static void model_build(struct strata_memory *memory, uint64_t *seed)
{
	struct strata_error err;
	char name[16];

	memset(&model, 0, sizeof(model));
	CHECK_OK(share_new(memory, 1000, &model.share, &err));
	model.handles[0] = share_root(model.share);
	model.parents[0] = -1;
	for (int i = 1; i < NODES; i++) {
		int accounts = i < LEAVES_FROM ? i : LEAVES_FROM;

		model.parents[i] = (int)random_below(seed, (uint64_t)accounts);
		model.weights[i] =
			(double)(1ull << random_below(seed, 6)); /* quotients stay exact */
		snprintf(name, sizeof(name), "n%d", i);
		CHECK_OK(share_add(model.share, model.handles[model.parents[i]], name,
				   model.weights[i], &model.handles[i], &err));
	}
}

/* An account that happens to have no children is a leaf to the share: it is never activated
 * here. */
static void random_state(uint64_t *seed)
{
	int leaf = LEAVES_FROM + (int)random_below(seed, NODES - LEAVES_FROM);
	bool ready = random_below(seed, 2);

	model_set(leaf, ready);
	if (ready)
		activate(model.share, model.handles[leaf]);
	else
		deactivate(model.share, model.handles[leaf]);
}

TEST(random_use_agrees_with_a_search_for_the_smallest)
{
	struct strata_memory memory = { 0 };
	uint64_t seed = 14;

	for (int round = 0; round < 10; round++) {
		model_build(&memory, &seed);
		for (int step = 0; step < 2000; step++) {
			if (random_below(&seed, 4) == 0)
				random_state(&seed);
			int leaf = model_pick();
			double amount = (double)random_below(&seed, 1000);

			CHECK(share_pick(model.share) == (leaf < 0 ? 0 : model.handles[leaf]));
			if (random_below(&seed, 10) == 0) /* someone else, even one without work */
				leaf = LEAVES_FROM + (int)random_below(&seed, NODES - LEAVES_FROM);
			if (leaf < 0)
				continue;
			model_charge(leaf, amount);
			charge(model.share, model.handles[leaf], amount);
			for (int i = 1; i < NODES; i++) {
				CHECK_NEAR(share_virtual_time(model.share, model.handles[i]),
					   model.turn[i], 0);
				CHECK_INT(share_active(model.share, model.handles[i]),
					  model_ready(i));
			}
		}
		share_free(model.share);
	}
	CHECK_INT(memory.used_bytes, 0);
}

/* The promise of share.h for every two siblings that have been active since `since` was noted. */
static void check_bound(bool (*both)[NODES])
{
	for (int i = 1; i < NODES; i++)
		for (int j = 1; j < i; j++) {
			bool now = model.parents[i] == model.parents[j] && model_ready(i) &&
				   model_ready(j);
			double apart = model.served[i] - model.served[j];

			if (now && !both[i][j])
				model.since[i][j] = apart;
			both[i][j] = now;
			if (now)
				CHECK(fabs(apart - model.since[i][j]) <=
				      (model.largest[i] + model.largest[j]) * (1 + 1e-12));
		}
}

TEST(siblings_with_work_are_never_further_apart_than_two_charges)
{
	struct strata_memory memory = { 0 };
	uint64_t seed = 15;

	for (int round = 0; round < 20; round++) {
		bool both[NODES][NODES] = { { false } };

		model_build(&memory, &seed);
		for (int i = LEAVES_FROM; i < NODES; i++)
			if (random_below(&seed, 3)) {
				model_set(i, true);
				activate(model.share, model.handles[i]);
			}
		for (int step = 0; step < 1500; step++) {
			if (random_below(&seed, 20) == 0)
				random_state(&seed);
			check_bound(both);
			int leaf = model_pick();
			double amount = random_below(&seed, 50)
						? (double)random_below(&seed, 100)
						: (double)random_below(&seed, 100000);

			if (leaf < 0)
				continue;
			CHECK(share_pick(model.share) == model.handles[leaf]);
			model_charge(leaf, amount);
			charge(model.share, model.handles[leaf], amount);
			check_bound(both);
		}
		share_free(model.share);
	}
}

TEST(charging_picking_and_changing_state_allocate_nothing)
{
	enum { LEAVES = 2000 };
	static double weights[LEAVES];
	static uint64_t leaves[LEAVES];
	struct strata_memory memory = { 0 };
	uint64_t seed = 16;

	for (int i = 0; i < LEAVES; i++)
		weights[i] = 1 + i % 7;
	struct share *share = flat(&memory, weights, LEAVES, leaves);

	memory.calls = 0;
	for (int i = 0; i < LEAVES; i++)
		activate(share, leaves[i]);
	for (int step = 0; step < 20000; step++) {
		uint64_t leaf = leaves[random_below(&seed, LEAVES)];

		CHECK_INT(share_park(share, leaf, NULL), 0);
		charge(share, share_pick(share), 3);
		activate(share, leaf);
		deactivate(share, leaves[random_below(&seed, LEAVES)]);
	}
	CHECK_INT(memory.calls, 0);
	share_free(share);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(among_equals_the_smaller_rank_goes_first)
{
	static const double weights[] = { 1, 1, 1 };
	struct strata_memory memory = { 0 };
	struct strata_error err;
	uint64_t leaves[3];
	struct share *share = flat(&memory, weights, 3, leaves);

	for (int i = 0; i < 3; i++)
		activate(share, leaves[i]);
	CHECK_OK(share_set_rank(share, leaves[0], 3, &err));
	CHECK_OK(share_set_rank(share, leaves[1], 2, &err));
	CHECK(share_pick(share) == leaves[2]);
	charge(share, leaves[2], 1);
	CHECK(share_pick(share) == leaves[1]);
	CHECK_OK(share_set_rank(share, leaves[1], 9, &err));
	CHECK(share_pick(share) == leaves[0]);
	CHECK_ERROR(share_set_rank(share, 12345, 1, &err), -ESTALE, "there is no share");
	share_free(share);
}

TEST(the_least_lift_starts_with_the_last_of_those_who_wait)
{
	static const double weights[] = { 1, 1, 1 };
	struct strata_memory memory = { 0 };
	uint64_t leaves[3];
	struct share *share = flat(&memory, weights, 3, leaves);

	share_set_lift(share, SHARE_LIFT_LEAST);
	activate(share, leaves[0]);
	charge(share, leaves[0], 10);
	activate(share, leaves[1]); /* the only one who waits has had 10 */
	CHECK_NEAR(share_virtual_time(share, leaves[1]), 10, 0);
	charge(share, leaves[1], 5);
	deactivate(share, leaves[0]);
	deactivate(share, leaves[1]);
	activate(share, leaves[2]); /* nobody waits: where the last service ended */
	CHECK_NEAR(share_virtual_time(share, leaves[2]), 15, 0);
	activate(share, leaves[0]);
	CHECK_NEAR(share_virtual_time(share, leaves[0]), 15, 0);
	share_free(share);
}
