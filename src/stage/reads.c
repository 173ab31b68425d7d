/* From how much is kept to what is read when, and how long that takes. */
#include "stage/stage_int.h"

#include <string.h>

enum { WARM_STEPS = 3, MEASURED_STEPS = 3 };

int reads_init(struct reads *reads, const struct strata_stage_problem *problem,
	       struct strata_arena *arena, struct strata_error *err)
{
	size_t n = problem->visit_count;

	*reads = (struct reads){ .problem = problem,
				 .base = strata_arena_array(arena, n, sizeof(*reads->base)),
				 .needed = strata_arena_array(arena, n, sizeof(*reads->needed)),
				 .issued = strata_arena_array(arena, n, sizeof(*reads->issued)),
				 .ends = strata_arena_array(arena, n, sizeof(*reads->ends)) };
	return reads->base && reads->needed && reads->issued && reads->ends
		       ? 0
		       : strata_fail_memory(err);
}

/* Pages kept from v on are there at all visits until the next use of their layer. */
static bool add_up_base(struct reads *reads, const uint32_t *kept)
{
	const struct strata_stage_problem *problem = reads->problem;
	size_t n = problem->visit_count;
	int64_t now = 0;

	for (size_t v = 0; v < n; v++)
		if (v + problem->next[v] >= n)
			now += kept[v];
	memset(reads->needed, 0, n * sizeof(*reads->needed));
	/* what ends at each visit, in the place of `needed`, which is not known yet */
	for (size_t v = 0; v < n; v++)
		reads->needed[(v + problem->next[v]) % n] = kept[v];
	for (size_t v = 0; v < n; v++) {
		now -= reads->needed[v];
		int64_t frames = now + problem->pages[v];

		if (frames > problem->budget || kept[v] > problem->pages[v])
			return false;
		reads->base[v] = (uint32_t)frames;
		now += kept[v];
	}
	return true;
}

/* D at any visit from the step's first on. */
static int64_t needed_by(const struct reads *reads, size_t visit)
{
	size_t n = reads->problem->visit_count;

	return (int64_t)(visit / n) * reads->total + reads->needed[visit % n];
}

bool reads_set(struct reads *reads, const uint32_t *kept, uint32_t ahead)
{
	const struct strata_stage_problem *problem = reads->problem;
	size_t n = problem->visit_count;
	int64_t smallest = INT64_MAX;

	if (!add_up_base(reads, kept))
		return false;
	reads->total = 0;
	for (size_t v = 0; v < n; v++) {
		reads->total += problem->pages[v] - reads->needed[v];
		reads->needed[v] = reads->total;
	}
	for (size_t h = 2 * n; h-- > 0;) {
		size_t v = h % n, next = h + problem->next[v];
		int64_t cap = needed_by(reads, h) + problem->budget - reads->base[v];

		if (kept[v] < problem->pages[v] && needed_by(reads, next - 1) < cap)
			cap = needed_by(reads, next - 1);
		if (ahead < n && needed_by(reads, h + ahead) < cap)
			cap = needed_by(reads, h + ahead);
		if (cap < smallest)
			smallest = cap;
		if (h < n)
			reads->issued[h] = reads->total ? smallest : 0;
	}
	return true;
}

static int64_t batch_end(const struct reads *reads, size_t batch)
{
	size_t n = reads->problem->visit_count;

	return (int64_t)(batch / n) * reads->total + reads->issued[batch % n];
}

/* Visits one after the other; the channel reads what was issued, in order, and a visit waits for the last page it needs. */
struct score reads_score(const struct reads *reads)
{
	const struct strata_stage_problem *problem = reads->problem;
	size_t n = problem->visit_count, total = (WARM_STEPS + MEASURED_STEPS) * n;
	int64_t before = reads->issued[n - 1] - reads->total; /* was issued in the step before */
	double now = 0, channel = 0, measured = 0, there = 0;
	size_t batch = 0;   /* that has the last page which the visit needs; less than a step ago */
	int64_t waited = 0; /* for pages up to this one */

	for (size_t g = 0; g < total; g++) {
		size_t v = g % n;
		int64_t turn = (int64_t)(g / n) * reads->total;
		int64_t issued = turn + reads->issued[v], needed = turn + reads->needed[v];

		if (issued > before) {
			channel = (channel > now ? channel : now) + (double)(issued - before);
			before = issued;
		}
		reads->ends[v] = channel;
		if (needed > waited) {
			while (batch_end(reads, batch) < needed)
				batch++;
			there = reads->ends[batch % n] - (double)(batch_end(reads, batch) - needed);
			waited = needed;
		}
		now = (there > now ? there : now) + problem->compute[v];
		if (g + 1 == WARM_STEPS * n)
			measured = now;
	}
	return (struct score){ (now - measured) / MEASURED_STEPS, reads->total };
}
