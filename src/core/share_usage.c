/*
 * Usage that fades, without a sweep. All usage fades alike, so instead of shrinking what is old a
 * charge is written down larger the later it comes: amount · 2^(now / half-life). A usage is then
 * one addition a node, comparisons need no time at all, and reading divides by today's scale once.
 *
 * The scale would leave the range of a double after a thousand half-lives. So time is cut into eras
 * of ERA_HALF_LIVES and the scale starts again at 1 in each; a usage of an earlier era is brought
 * forward, by an exact power of two, when it is touched. After a few eras nothing is left of it,
 * which is 0.
 */
#include "core/share_int.h"

#include <strata/limits.h>

#include <assert.h>
#include <errno.h>
#include <math.h>

enum {
	ERA_HALF_LIVES = 256,
	ERAS_REMEMBERED = 8, /* 2^(−8 · 256) is below every double times the largest usage */
};

/* Quotient towards minus infinity, and the rest, which is not negative. */
static int64_t floor_divide(int64_t a, int64_t b, int64_t *ret_rest)
{
	int64_t quotient = a / b, rest = a % b;

	if (rest < 0) {
		rest += b;
		quotient--;
	}
	*ret_rest = rest;
	return quotient;
}

static struct share_clock clock_at(const struct share *share, int64_t now_ns)
{
	struct share_clock clock = { .now_ns = now_ns, .scale = 1 };
	int64_t rest_ns, halves;

	if (share->half_life_ns == 0)
		return clock;
	int64_t all = floor_divide(now_ns, share->half_life_ns, &rest_ns);

	clock.era = floor_divide(all, ERA_HALF_LIVES, &halves);
	clock.scale = ldexp(real_exp2((double)rest_ns / (double)share->half_life_ns), (int)halves);
	return clock;
}

/* The clock for reading at a time: never before the latest charge. */
static struct share_clock reading_clock(const struct share *share, int64_t now_ns)
{
	return now_ns > share->clock.now_ns ? clock_at(share, now_ns) : share->clock;
}

/* A node's usage in the scale of an era, which is not before its own. */
static double usage_in(const struct share_node *node, int64_t era)
{
	if (node->era == era || node->usage == 0)
		return node->usage;
	int64_t eras = era - node->era;

	return eras > ERAS_REMEMBERED ? 0 : ldexp(node->usage, (int)-eras * ERA_HALF_LIVES);
}

static void add_usage(struct share *share, struct share_node *node, double amount, int64_t now_ns)
{
	if (now_ns > share->clock.now_ns)
		share->clock = clock_at(share, now_ns);
	int64_t era = share->clock.era;
	double scaled = amount * share->clock.scale;

	for (; node; node = node->parent) {
		double usage = usage_in(node, era) + scaled;

		node->usage = usage > 0 ? usage : 0;
		node->era = era;
	}
}

static int charge(struct share *share, uint64_t node, double amount, int64_t now_ns, bool turns,
		  struct strata_error *err)
{
	struct share_node *at = share_look(share, node, err);

	if (!at)
		return -ESTALE;
	double least = turns ? 0 : -STRATA_SHARE_AMOUNT_MAX;

	if (!(amount >= least && amount <= STRATA_SHARE_AMOUNT_MAX))
		return strata_fail(err, -EINVAL, "the amount is %g; expected %g to %g", amount,
				   least, STRATA_SHARE_AMOUNT_MAX);
	add_usage(share, at, amount, now_ns);
	for (; turns && at->parent; at = at->parent)
		share_turn_advance(at, amount);
	return 0;
}

int share_charge(struct share *share, uint64_t node, double amount, int64_t now_ns,
		 struct strata_error *err)
{
	return charge(share, node, amount, now_ns, true, err);
}

int share_add_usage(struct share *share, uint64_t node, double amount, int64_t now_ns,
		    struct strata_error *err)
{
	return charge(share, node, amount, now_ns, false, err);
}

double share_usage(const struct share *share, uint64_t node, int64_t now_ns)
{
	struct share_clock clock = reading_clock(share, now_ns);

	return usage_in(share_must(share, node), clock.era) / clock.scale;
}

double share_priority(const struct share *share, uint64_t node, int64_t now_ns)
{
	return share_weight(share, node) / (share_usage(share, node, now_ns) + 1);
}

double share_factor(const struct share *share, uint64_t node, int64_t now_ns)
{
	const struct share_node *path[STRATA_SHARE_DEPTH_MAX + 1] = { NULL },
							       *at = share_must(share, node);
	int64_t era = reading_clock(share, now_ns).era;
	double total = usage_in(share->root, era), share_of_all = 1, effective = 1;

	if (total == 0)
		return 1;
	for (; at; at = at->parent)
		path[at->depth] = at;
	for (unsigned i = 1; i <= share_must(share, node)->depth; i++) {
		assert(path[i]); /* a path has a node at every depth */
		double weight = path[i]->weight / path[i]->parent->group->weights.high;
		double used = usage_in(path[i], era) / total;

		share_of_all *= weight;
		effective = i == 1 ? used : used + (effective - used) * weight;
	}
	return effective > 0 ? real_exp2(-effective / share_of_all) : 1;
}

int share_compare(const struct share *share, uint64_t a, uint64_t b)
{
	const struct share_node *x = share_must(share, a), *y = share_must(share, b);
	int deeper = x->depth - y->depth;

	while (x->depth > y->depth)
		x = x->parent;
	while (y->depth > x->depth)
		y = y->parent;
	if (x == y)
		return deeper; /* one is above the other, or both are the same */
	while (x->parent != y->parent) {
		x = x->parent;
		y = y->parent;
	}
	/* Usage / weight, the other way round: a weight is never 0, and since each node has one such
	 * number, rounding cannot make a circle of three. */
	double left = usage_in(x, share->clock.era) / x->weight;
	double right = usage_in(y, share->clock.era) / y->weight;

	if (left != right)
		return left < right ? -1 : 1;
	return x->serial < y->serial ? -1 : 1;
}
