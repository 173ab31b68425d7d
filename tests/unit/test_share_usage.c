#include "test.h"

#include "core/share.h"
#include "random.h"

#include <strata/limits.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 60, CHARGES = 400 };
static const int64_t DAY_NS = 86400ll * 1000000000;

/* The naive model: every charge is kept, every number is computed from all of them. */
static struct {
	struct share *share;
	uint64_t handles[NODES];
	int parents[NODES]; /* −1: the root, which is node 0 */
	double weights[NODES];
	struct {
		int node;
		double amount;
		int64_t at_ns;
	} charges[CHARGES];
	int node_count, charge_count;
	double half_life_ns;
} model;

static bool model_under(int node, int above)
{
	while (node >= 0 && node != above)
		node = model.parents[node];
	return node >= 0;
}

static double model_usage(int node, int64_t now_ns)
{
	double sum = 0;

	for (int i = 0; i < model.charge_count; i++) {
		double age = (double)(now_ns - model.charges[i].at_ns);

		if (model_under(model.charges[i].node, node))
			sum += model.charges[i].amount * exp2(-age / model.half_life_ns);
	}
	return sum;
}

static double model_weight(int node)
{
	double siblings = 0;

	for (int i = 1; i < model.node_count; i++)
		if (model.parents[i] == model.parents[node])
			siblings += model.weights[i];
	return model.weights[node] / siblings;
}

static double model_effective(int node, int64_t now_ns)
{
	double total = model_usage(0, now_ns), used = model_usage(node, now_ns) / total;

	if (node == 0 || model.parents[node] == 0)
		return used;
	double above = model_effective(model.parents[node], now_ns);

	return used + (above - used) * model_weight(node);
}

static double model_factor(int node, int64_t now_ns)
{
	double share = 1;

	if (model_usage(0, now_ns) == 0)
		return 1;
	for (int at = node; at > 0; at = model.parents[at])
		share *= model_weight(at);
	return exp2(-model_effective(node, now_ns) / share);
}

/* A random tree; every third node or so hangs under the last one, so that some are deep. */
static void model_build(struct strata_memory *memory, int64_t half_life_ns, uint64_t *seed)
{
	struct strata_error err;
	char name[16];

	model.node_count = 1;
	model.charge_count = 0;
	model.half_life_ns = half_life_ns ? (double)half_life_ns : INFINITY;
	model.parents[0] = -1;
	CHECK_OK(share_new(memory, half_life_ns, &model.share, &err));
	model.handles[0] = share_root(model.share);
	for (int i = 1; i < NODES; i++) {
		model.parents[i] = random_below(seed, 3) ? (int)random_below(seed, (uint64_t)i)
							 : i - 1;
		model.weights[i] = 0.1 + (double)random_below(seed, 100);
		snprintf(name, sizeof(name), "n%d", i);
		CHECK_OK(share_add(model.share, model.handles[model.parents[i]], name,
				   model.weights[i], &model.handles[i], &err));
		model.node_count++;
	}
}

static void model_charge(int node, double amount, int64_t now_ns)
{
	int i = model.charge_count++;
	struct strata_error err;

	CHECK_OK(share_charge(model.share, model.handles[node], amount, now_ns, &err));
	model.charges[i].node = node;
	model.charges[i].amount = amount;
	model.charges[i].at_ns = now_ns;
}

TEST(usage_halves_every_half_life)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct share *share;
	uint64_t user;

	CHECK_OK(share_new(&memory, DAY_NS, &share, &err));
	CHECK_OK(share_add(share, share_root(share), "u", 4, &user, &err));
	CHECK_NEAR(share_usage(share, user, 0), 0, 0);
	CHECK_NEAR(share_priority(share, user, 0), 4, 0);
	CHECK_OK(share_charge(share, user, 1000, 12345, &err));
	CHECK_NEAR(share_usage(share, user, 12345), 1000, 1e-9);
	for (int halves = 0; halves <= 1000; halves++) { /* across eras */
		int64_t now = 12345 + halves * (DAY_NS / 2);
		double want = 1000 * pow(2, -halves / 2.0);

		CHECK_NEAR(share_usage(share, user, now) / want, 1, 1e-12);
		CHECK_NEAR(share_priority(share, user, now), 4 / (want + 1), 1e-12);
	}
	CHECK_OK(share_charge(share, user, 8, 12345 + 3 * DAY_NS, &err));
	CHECK_NEAR(share_usage(share, user, 12345 + 4 * DAY_NS), (125 + 8) / 2.0, 1e-10);
	share_free(share);
}

TEST(without_a_half_life_nothing_is_forgotten)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct share *share;
	uint64_t user;

	CHECK_OK(share_new(&memory, 0, &share, &err));
	CHECK_OK(share_add(share, share_root(share), "u", 1, &user, &err));
	CHECK_OK(share_charge(share, user, 5, INT64_MIN, &err));
	CHECK_OK(share_charge(share, user, 6, INT64_MAX, &err));
	CHECK_NEAR(share_usage(share, user, INT64_MAX), 11, 0);
	share_free(share);
}

TEST(a_clock_that_goes_back_forgets_nothing)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct share *share;
	uint64_t a, b;

	CHECK_OK(share_new(&memory, DAY_NS, &share, &err));
	CHECK_OK(share_add(share, share_root(share), "a", 1, &a, &err));
	CHECK_OK(share_add(share, share_root(share), "b", 1, &b, &err));
	CHECK_OK(share_charge(share, a, 10, 5 * DAY_NS, &err));
	CHECK_OK(share_charge(share, b, 4, 2 * DAY_NS, &err)); /* counts as day 5 */
	CHECK_NEAR(share_usage(share, a, 0), 10, 1e-12);
	CHECK_NEAR(share_usage(share, a, INT64_MIN), 10, 1e-12);
	CHECK_NEAR(share_usage(share, b, 6 * DAY_NS), 2, 1e-12);
	CHECK_NEAR(share_usage(share, share_root(share), 6 * DAY_NS), 7, 1e-12);
	share_free(share);
}

TEST(a_charge_counts_for_ten_levels)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct share *share;
	uint64_t path[11], side[11];

	CHECK_OK(share_new(&memory, DAY_NS, &share, &err));
	path[0] = share_root(share);
	for (int i = 1; i <= 10; i++) {
		CHECK_OK(share_add(share, path[i - 1], "down", 1, &path[i], &err));
		CHECK_OK(share_add(share, path[i - 1], "side", 1, &side[i], &err));
		CHECK_OK(share_charge(share, side[i], i, 0, &err));
	}
	CHECK_OK(share_charge(share, path[10], 100, DAY_NS, &err));
	for (int i = 0; i <= 10; i++) {
		double want = 100; /* and the sides below, i + 1 … 10, which are a day old */

		for (int k = i + 1; k <= 10; k++)
			want += k / 2.0;
		CHECK_NEAR(share_usage(share, path[i], DAY_NS), want, 1e-10);
	}
	CHECK_NEAR(share_usage(share, side[3], DAY_NS), 1.5, 1e-12);
	share_free(share);
}

static void check_order(void)
{
	for (int a = 1; a < NODES; a++)
		for (int b = 1; b < NODES; b++) {
			int order = share_compare(model.share, model.handles[a], model.handles[b]);
			int x = a, y = b;

			CHECK_INT(order<0, share_compare(model.share, model.handles[b],
							 model.handles[a])> 0);
			if (model_under(a, b) || model_under(b, a)) {
				CHECK_INT((order > 0) - (order < 0),
					  model_under(a, b) - model_under(b, a));
				continue;
			}
			while (!model_under(y, model.parents[x]))
				x = model.parents[x];
			while (model.parents[y] != model.parents[x])
				y = model.parents[y];
			int64_t now = model.charges[model.charge_count - 1].at_ns;
			double left = model.weights[x] * model_usage(y, now);
			double right = model.weights[y] * model_usage(x, now);

			if (fabs(left - right) > 1e-9 * (left + right))
				CHECK_INT(order<0, left> right);
			else if (left + right == 0)
				CHECK_INT(order < 0, x < y);
		}
}

TEST(random_trees_agree_with_adding_up_every_charge)
{
	static const int64_t half_lives[] = { 0, 1000, 7 * 86400ll * 1000000000 };
	struct strata_memory memory = { 0 };
	uint64_t seed = 13;

	for (int round = 0; round < 6; round++) {
		int64_t half_life = half_lives[round % 3];
		int64_t now = round < 3 ? -1000000 : 1700000000ll * 1000000000;

		model_build(&memory, half_life, &seed);
		for (int i = 0; i < CHARGES; i++) {
			uint64_t jump = half_life ? (uint64_t)half_life : 1000;

			now += (int64_t)random_below(&seed, i % 100 ? jump / 10 : jump * 400);
			model_charge((int)random_below(&seed, NODES),
				     (double)random_below(&seed, 1000000) / 100, now);
			if (i % 40 != 0)
				continue;
			for (int node = 0; node < NODES; node++) {
				int64_t later = now + (int64_t)random_below(&seed, 5 * jump);
				double want = model_usage(node, later);

				CHECK_NEAR(share_usage(model.share, model.handles[node], later),
					   want, want * 1e-11);
				CHECK_NEAR(share_factor(model.share, model.handles[node], later),
					   model_factor(node, later), 1e-9);
			}
		}
		check_order();
		share_free(model.share);
	}
	CHECK_INT(memory.used_bytes, 0);
}

TEST(weights_come_and_go_and_the_factor_follows)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	uint64_t a, b, big;
	struct share *share;

	CHECK_OK(share_new(&memory, 0, &share, &err));
	uint64_t root = share_root(share);

	CHECK_OK(share_add(share, root, "a", 1e-6, &a, &err));
	CHECK_OK(share_add(share, root, "b", 3e-6, &b, &err));
	CHECK_OK(share_charge(share, a, 1, 0, &err));
	for (int i = 0; i < 1000; i++) { /* what is 15 digits larger leaves no trace */
		CHECK_OK(share_add(share, root, "big", 1e9, &big, &err));
		CHECK_OK(share_set_weight(share, big, 1e8 / 3, &err));
		CHECK_OK(share_remove(share, big, &err));
	}
	CHECK_NEAR(share_factor(share, a, 0), exp2(-4), 1e-12);
	CHECK_NEAR(share_factor(share, b, 0), 1, 0);
	CHECK_OK(share_charge(share, b, 3, 0, &err));
	CHECK_NEAR(share_factor(share, a, 0), 0.5, 1e-12);
	CHECK_NEAR(share_factor(share, b, 0), 0.5, 1e-12);
	CHECK_OK(share_set_weight(share, a, 3e-6, &err));
	CHECK_NEAR(share_factor(share, a, 0), exp2(-0.5), 1e-12);
	share_free(share);
}

TEST(the_order_changes_with_charges_and_not_with_time)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	uint64_t a, b, c;
	struct share *share;

	CHECK_OK(share_new(&memory, DAY_NS, &share, &err));
	CHECK_OK(share_add(share, share_root(share), "a", 1, &a, &err));
	CHECK_OK(share_add(share, share_root(share), "b", 2, &b, &err));
	CHECK_OK(share_add(share, share_root(share), "c", 1, &c, &err));
	CHECK(share_compare(share, a, b) < 0); /* nobody has used anything: the older */
	CHECK_INT(share_compare(share, a, a), 0);
	CHECK_OK(share_charge(share, a, 10, 0, &err));
	CHECK_OK(share_charge(share, b, 19, 0, &err));
	CHECK(share_compare(share, b, a) < 0);
	CHECK_OK(share_charge(share, c, 1e-30, 700 * DAY_NS, &err)); /* the others fade to less */
	CHECK(share_compare(share, b, a) < 0);
	CHECK(share_compare(share, a, c) < 0);
	CHECK_OK(share_charge(share, b, 1e-30, 700 * DAY_NS, &err));
	CHECK(share_compare(share, a, b) < 0);
	share_free(share);
}

TEST(ancient_and_extreme_numbers_stay_numbers)
{
	static const int64_t half_lives[] = { 1, 3, DAY_NS, INT64_MAX };
	static const int64_t times[] = { INT64_MIN, -1, 0, 1, DAY_NS, INT64_MAX };
	struct strata_memory memory = { 0 };
	struct strata_error err;

	for (int i = 0; i < 4; i++) {
		struct share *share;
		uint64_t a, b;

		CHECK_OK(share_new(&memory, half_lives[i], &share, &err));
		CHECK_OK(share_add(share, share_root(share), "a", 1e-6, &a, &err));
		CHECK_OK(share_add(share, share_root(share), "b", 1e9, &b, &err));
		for (int k = 0; k < 6; k++) {
			CHECK_OK(share_charge(share, k % 2 ? a : b, 1e30, times[k], &err));
			CHECK_OK(share_charge(share, a, 0, times[k], &err));
			for (int n = 0; n < 6; n++) {
				CHECK(isfinite(share_usage(share, a, times[n])));
				CHECK(share_usage(share, b, times[n]) >= 0);
				CHECK(share_factor(share, a, times[n]) >= 0);
				CHECK(share_factor(share, b, times[n]) <= 1);
				CHECK(share_priority(share, a, times[n]) > 0);
			}
		}
		share_free(share);
	}
	struct share *share;
	uint64_t user;

	CHECK_OK(share_new(&memory, 1000, &share, &err));
	CHECK_OK(share_add(share, share_root(share), "u", 1, &user, &err));
	CHECK_OK(share_charge(share, user, 1e30, 0, &err));
	CHECK(share_usage(share, user, 1000 * 1000) > 0);
	CHECK(share_usage(share, user, 3000 * 1000) == 0); /* three thousand half-lives later */
	CHECK_NEAR(share_factor(share, user, 3000 * 1000), 1, 0);
	CHECK_NEAR(share_factor(share, user, 1000), 0.5, 0);
	share_free(share);
}

TEST(amounts_are_checked)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct share *share;
	uint64_t user;

	CHECK_OK(share_new(&memory, 0, &share, &err));
	CHECK_OK(share_add(share, share_root(share), "u", 1, &user, &err));
	static const double bad[] = { -1, -0x1p-1074, NAN, INFINITY };

	for (int i = 0; i < 4; i++) {
		CHECK_ERROR(share_charge(share, user, bad[i], 0, &err), -EINVAL, "amount");
		if (!(bad[i] < 0)) /* a correction may be */
			CHECK_ERROR(share_add_usage(share, user, bad[i], 0, &err), -EINVAL,
				    "amount");
	}
	CHECK_ERROR(share_add_usage(share, user, -2 * STRATA_SHARE_AMOUNT_MAX, 0, &err), -EINVAL,
		    "amount");
	CHECK_OK(share_add_usage(share, user, 3, 0, &err));
	CHECK_OK(share_add_usage(share, user, -2, 0, &err));
	CHECK_NEAR(share_usage(share, user, 0), 1, 1e-12);
	CHECK_OK(share_add_usage(share, user, -2, 0, &err)); /* no more than there is */
	CHECK_NEAR(share_usage(share, user, 0), 0, 0);
	CHECK_NEAR(share_usage(share, share_root(share), 0), 0, 0);
	double over = nextafter(STRATA_SHARE_AMOUNT_MAX, INFINITY);

	CHECK_ERROR(share_charge(share, user, over, 0, &err), -EINVAL, "amount");
	CHECK_NEAR(share_usage(share, user, 0), 0, 0);
	CHECK_OK(share_charge(share, user, STRATA_SHARE_AMOUNT_MAX, 0, &err));
	CHECK_NEAR(share_virtual_time(share, user), 1e30, 0);
	CHECK_OK(share_add_usage(share, user, 1e29, 0, &err)); /* usage alone */
	CHECK_NEAR(share_usage(share, user, 0), 1.1e30, 1e20);
	CHECK_NEAR(share_virtual_time(share, user), 1e30, 0);
	share_free(share);
}
