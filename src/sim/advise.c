/* The policies that `strata sim cluster --advise` tries, and how it chooses: advise.h says why so. */
#include "sim/advise.h"

#define LEARNED(order, patience) { order, "easy_sjbf:patience=" patience, "learned" }

const struct advise_policy advise_policies[] = {
	{ "fifo", "easy", "requested" },
	{ "fifo", "easy_sjbf", "learned" },
	LEARNED("turnaround:size=0.25:bound=2d", "0.25"),
	LEARNED("turnaround:size=0.25:bound=3d", "0.25"),
	LEARNED("turnaround:size=0.25:bound=4d", "0.25"),
	LEARNED("turnaround:size=0.25:bound=5d", "0.25"),
	LEARNED("turnaround:size=0.5:bound=1d", "0.25"),
	LEARNED("turnaround:size=0.5:bound=2d", "0.25"),
	LEARNED("turnaround:size=0.5:bound=3d", "0.25"),
	LEARNED("turnaround:size=0.5:bound=4d", "0.25"),
	LEARNED("turnaround:size=0.5:bound=5d", "0.25"),
	LEARNED("turnaround:size=0.5:bound=7d", "0.25"),
	LEARNED("turnaround:size=0.5:bound=3d", "0.5"),
	LEARNED("turnaround:size=0.5:bound=5d", "0.5"),
};
const size_t advise_policy_count = sizeof(advise_policies) / sizeof(advise_policies[0]);

size_t advise_choose(const struct metrics *metrics, size_t count, double wait_limit)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		if (metrics[i].max_wait_s <= wait_limit * metrics[0].max_wait_s &&
		    metrics[i].avg_bsld < metrics[best].avg_bsld)
			best = i;
	return best;
}

size_t advise_split(const size_t *indices, size_t count, size_t half)
{
	size_t first = 0;

	while (first < count && indices[first] < half)
		first++;
	return first;
}
