/* The distributions of workload_draw.h. */
#include "sim/workload_draw.h"

#include "core/real.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <assert.h>
#include <errno.h>
#include <math.h>

#define LOG2_E 0x1.71547652b82fep0

enum {
	MINUTE = 60,
	HOUR = 3600,
	DAY = 86400,
	SLOT_SECONDS = 1800,
	DAY_SLOTS = 48,
	WEEK_SLOTS = 7 * DAY_SLOTS,
};

double draw_exp(double x)
{
	return real_exp2(x * LOG2_E);
}

static double natural_log(double x)
{
	return real_log2(x) / LOG2_E;
}

/* In (0, 1]: what a logarithm can take. */
static double positive_real(struct strata_rng *rng)
{
	return 1 - strata_rng_real(rng);
}

bool draw_chance(struct strata_rng *rng, double probability)
{
	return strata_rng_real(rng) < probability;
}

/* Marsaglia and Tsang (2000): a cube of a shifted normal, refused now and then. A shape below 1 is
 * drawn with 1 more, times u^(1/alpha). */
double draw_gamma(struct strata_rng *rng, double alpha, double beta)
{
	assert(alpha > 0);
	if (alpha < 1) {
		double power = real_exp2(real_log2(positive_real(rng)) / alpha);

		return draw_gamma(rng, alpha + 1, beta) * power;
	}
	double d = alpha - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = strata_rng_normal(rng), root = 1 + c * x, v = root * root * root;

		if (root <= 0)
			continue;
		if (natural_log(positive_real(rng)) < 0.5 * x * x + d - d * v + d * natural_log(v))
			return d * v * beta;
	}
}

/* ---- choices ---- */

int draw_table_init(struct draw_table *table, const double *weights, size_t count,
		    struct strata_arena *arena, struct strata_error *err)
{
	double *sums = strata_arena_array(arena, count, sizeof(*sums));
	double sum = 0;

	assert(count >= 1);
	if (!sums)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		sums[i] = sum += weights[i];
	assert(sum > 0);
	*table = (struct draw_table){ .sums = sums, .count = count };
	return 0;
}

int draw_table_init_zipf(struct draw_table *table, size_t count, double exponent,
			 struct strata_arena *arena, struct strata_error *err)
{
	double *weights = strata_arena_array(arena, count, sizeof(*weights));

	if (!weights)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		weights[i] = real_exp2(-exponent * real_log2((double)(i + 1)));
	return draw_table_init(table, weights, count, arena, err);
}

size_t draw_table_pick(const struct draw_table *table, struct strata_rng *rng)
{
	double at = strata_rng_real(rng) * table->sums[table->count - 1];
	size_t low = 0, high = table->count - 1;

	while (low < high) { /* the first whose sum is above */
		size_t middle = (low + high) / 2;

		if (table->sums[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* ---- time limits ---- */

int64_t draw_requested_s(struct strata_rng *rng, int64_t run_s)
{
	static const int64_t limits_s[] = {
		5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR,      2 * HOUR,
		4 * HOUR,   6 * HOUR,    8 * HOUR,    12 * HOUR,   18 * HOUR, DAY,
		36 * HOUR,  2 * DAY,     3 * DAY,     7 * DAY,     14 * DAY,  30 * DAY,
	};
	const size_t count = sizeof(limits_s) / sizeof(limits_s[0]);
	double used = 0.05 + 0.95 * positive_real(rng);
	double wish_s = (double)run_s / used;

	for (size_t i = 0; i < count; i++)
		if (limits_s[i] >= run_s && ((double)limits_s[i] >= wish_s || i + 1 == count))
			return limits_s[i];
	return (run_s + HOUR - 1) / HOUR * HOUR;
}

/* ---- arrivals ---- */

static double slot_weight(const struct draw_rhythm *rhythm, size_t slot)
{
	return rhythm->slots[slot % DAY_SLOTS] * rhythm->days[slot / DAY_SLOTS % 7];
}

/* The sum of the weights up to a time, in slots; whole weeks at once. */
static double weight_until(const struct draw_rhythm *rhythm, double seconds)
{
	double slots = seconds / SLOT_SECONDS, whole = floor(slots),
	       weeks = floor(whole / WEEK_SLOTS);
	size_t rest = (size_t)(whole - weeks * WEEK_SLOTS);
	double week = 0, part = 0;

	for (size_t i = 0; i < WEEK_SLOTS; i++) {
		week += slot_weight(rhythm, i);
		if (i < rest)
			part += slot_weight(rhythm, i);
	}
	return weeks * week + part + (slots - whole) * slot_weight(rhythm, rest);
}

void draw_arrivals(const struct draw_rhythm *rhythm, const double *moments, int64_t span_s,
		   struct strata_swf_job *jobs, size_t count)
{
	double total = weight_until(rhythm, (double)span_s), paid = 0;
	double last = moments[count - 1];
	size_t slot = 0;

	for (size_t i = 0; i < count; i++) {
		double at = last > 0 ? moments[i] / last * total : 0;

		/* weights are paid slot by slot until the job's is reached */
		while (paid + slot_weight(rhythm, slot) < at)
			paid += slot_weight(rhythm, slot++);
		double within = (at - paid) / slot_weight(rhythm, slot);
		int64_t submit_s = (int64_t)(((double)slot + within) * SLOT_SECONDS);

		jobs[i].submit_s = submit_s < span_s && i + 1 < count ? submit_s : span_s;
	}
	if (count == 1 || last <= 0)
		jobs[0].submit_s = 0;
}

int draw_span_s(double work, double procs, double load, int64_t *ret_span_s,
		struct strata_error *err)
{
	double span_s = work / (procs * load);

	if (!(span_s < (double)STRATA_TIME_NS_MAX / 1e9 / 2))
		return strata_fail_at(
			err, -ERANGE, "load",
			"at this load the jobs would take %.0f years to come; expected a "
			"higher load, more processors or fewer jobs",
			span_s / (365.25 * DAY));
	*ret_span_s = (int64_t)span_s;
	return 0;
}
