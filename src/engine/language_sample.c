/* Sampling in the order that transformers has it: temperature, then top-k, then top-p, then one draw. */
#include "engine/language_sample.h"

#include <math.h>
#include <stdlib.h>

struct candidate {
	double value;
	uint32_t id;
};

int64_t language_likeliest(const float *logits, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		if (logits[i] > logits[best] || (isnan(logits[best]) && !isnan(logits[i])))
			best = i;
	return (int64_t)best;
}

/* The likeliest first; of equals the smaller number. */
static int by_value(const void *a, const void *b)
{
	const struct candidate *one = a, *other = b;

	if (one->value != other->value)
		return one->value > other->value ? -1 : 1;
	return one->id < other->id ? -1 : one->id > other->id;
}

/* Shares of the whole, in place of logits; how many candidates are left. */
static size_t keep(const struct strata_sampling *how, struct candidate *all, size_t count)
{
	double total = 0, sum = 0;
	size_t kept = 0;

	if (how->top_k > 0 && (uint64_t)how->top_k < count)
		count = (size_t)how->top_k;
	for (size_t i = count; i-- > 0;) {
		all[i].value = exp(all[i].value - all[0].value);
		total += all[i].value;
	}
	if (!(how->top_p > 0 && how->top_p < 1))
		return count;
	while (kept < count && sum < how->top_p * total)
		sum += all[kept++].value;
	return kept ? kept : 1;
}

int language_sample(const struct strata_sampling *how, const float *logits, size_t count,
		    double chance, struct strata_arena *arena, int64_t *ret_id,
		    struct strata_error *err)
{
	struct candidate *all;
	double total = 0, sum = 0;

	if (!(how->temperature > 0)) {
		*ret_id = language_likeliest(logits, count);
		return 0;
	}
	all = strata_arena_array(arena, count, sizeof(*all));
	if (!all)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		all[i] = (struct candidate){ isnan(logits[i]) ? -INFINITY
							      : logits[i] / how->temperature,
					     (uint32_t)i };
	qsort(all, count, sizeof(*all), by_value);
	count = keep(how, all, count);
	for (size_t i = 0; i < count; i++)
		total += all[i].value;
	for (size_t i = 0; i < count; i++) {
		sum += all[i].value;
		if (chance * total < sum) {
			*ret_id = all[i].id;
			return 0;
		}
	}
	*ret_id = all[0].id;
	return 0;
}
