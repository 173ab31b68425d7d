/* Curves from schedules: every job adds at one moment and takes away at another; sorted, summed. */
#include "sim/series.h"

#include <assert.h>
#include <stdlib.h>

struct change {
	int64_t at_ns;
	int64_t amount;
};

static int by_time(const void *a_any, const void *b_any)
{
	const struct change *a = a_any, *b = b_any;

	return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static void add_changes(const struct metrics_job *job, enum series_kind kind,
			struct change *changes)
{
	int64_t amount = kind == SERIES_WAITING ? 1 : job->procs;
	bool busy = kind == SERIES_BUSY;

	changes[0].at_ns = busy ? job->start_ns : job->submit_ns;
	changes[0].amount = amount;
	changes[1].at_ns = busy ? job->start_ns + job->run_ns : job->start_ns;
	changes[1].amount = -amount;
}

/* Sums changes of the same moment; what comes to the same level is left out. */
static size_t add_up(const struct change *changes, size_t count, int64_t first_ns, double *x,
		     double *y)
{
	int64_t level = 0, shown = 0;
	size_t points = 0;

	for (size_t i = 0; i < count; i++) {
		level += changes[i].amount;
		if (i + 1 < count && changes[i + 1].at_ns == changes[i].at_ns)
			continue;
		if (points > 0 && level == shown && i + 1 < count)
			continue;
		x[points] = (double)(changes[i].at_ns - first_ns) / 1e9;
		y[points++] = (double)level;
		shown = level;
	}
	return points;
}

int series_make(const struct metrics_job *jobs, size_t count, enum series_kind kind,
		struct strata_arena *arena, struct series *ret_series, struct strata_error *err)
{
	struct change *changes = strata_arena_array(arena, 2 * count, sizeof(*changes));
	double *x = strata_arena_array(arena, 2 * count, sizeof(*x));
	double *y = strata_arena_array(arena, 2 * count, sizeof(*y));
	int64_t first_ns = INT64_MAX;

	if (!changes || !x || !y)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		add_changes(&jobs[i], kind, &changes[2 * i]);
		if (jobs[i].submit_ns < first_ns)
			first_ns = jobs[i].submit_ns;
	}
	qsort(changes, 2 * count, sizeof(*changes), by_time);
	*ret_series = (struct series){ .x = x,
				       .y = y,
				       .count = add_up(changes, 2 * count, first_ns, x, y) };
	return 0;
}

/* ∫ of the series from `from` to `to`; *at is a hint, the step that holds at `from`. */
static double area(const struct series *series, double from, double to, size_t *at)
{
	double sum = 0;

	while (*at < series->count && series->x[*at] < to) {
		double next = *at + 1 < series->count ? series->x[*at + 1] : to;
		double begin = series->x[*at] > from ? series->x[*at] : from;
		double end = next < to ? next : to;

		if (end > begin)
			sum += series->y[*at] * (end - begin);
		if (next > to)
			break;
		++*at;
	}
	return sum;
}

int series_average(const struct series *series, size_t bins, struct strata_arena *arena,
		   struct series *ret_series, struct strata_error *err)
{
	double *x = strata_arena_array(arena, bins + 1, sizeof(*x));
	double *y = strata_arena_array(arena, bins + 1, sizeof(*y));
	double last = series->count ? series->x[series->count - 1] : 0, width = last / (double)bins;
	size_t at = 0;

	assert(bins >= 1);
	if (!x || !y)
		return strata_fail_memory(err);
	for (size_t i = 0; i < bins; i++) {
		double from = width * (double)i, to = i + 1 < bins ? width * (double)(i + 1) : last;

		x[i] = from;
		y[i] = to > from ? area(series, from, to, &at) / (to - from) : 0;
	}
	x[bins] = last;
	y[bins] = y[bins - 1]; /* so that the last stretch has a length in a plot */
	*ret_series = (struct series){ .x = x, .y = y, .count = bins + 1 };
	return 0;
}
