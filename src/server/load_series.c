/* How busy the cluster was: see load_series.h. */
#include "server/load_series.h"

#include <string.h>

void load_series_init(struct load_series *series, int64_t until_ns)
{
	memset(series, 0, sizeof(*series));
	series->until_ns = until_ns;
	series->from_ns = until_ns - LOAD_SERIES_POINTS * LOAD_SERIES_STEP_NS;
}

/* How much of [from, to) lies in a point. */
static double overlap_ns(const struct load_series *series, size_t point, int64_t from_ns,
			 int64_t to_ns)
{
	int64_t begin_ns = series->from_ns + (int64_t)point * LOAD_SERIES_STEP_NS;
	int64_t end_ns = begin_ns + LOAD_SERIES_STEP_NS;

	begin_ns = from_ns > begin_ns ? from_ns : begin_ns;
	end_ns = to_ns < end_ns ? to_ns : end_ns;
	return end_ns > begin_ns ? (double)(end_ns - begin_ns) : 0;
}

static void add_span(const struct load_series *series, double *points, int64_t from_ns,
		     int64_t to_ns, double weight)
{
	if (to_ns > series->until_ns)
		to_ns = series->until_ns;
	if (from_ns < series->from_ns)
		from_ns = series->from_ns;
	if (to_ns <= from_ns)
		return;
	for (int64_t at = (from_ns - series->from_ns) / LOAD_SERIES_STEP_NS;
	     at < LOAD_SERIES_POINTS &&
	     series->from_ns + at * LOAD_SERIES_STEP_NS < to_ns;
	     at++)
		points[at] += weight * overlap_ns(series, (size_t)at, from_ns, to_ns);
}

void load_series_add(struct load_series *series, const struct load_job *job)
{
	int64_t waited_until_ns = job->started_ns ? job->started_ns
				  : job->ended_ns ? job->ended_ns
						  : series->until_ns;

	add_span(series, series->waiting_ns, job->created_ns, waited_until_ns, 1);
	if (!job->started_ns)
		return;
	add_span(series, series->gpu_ns, job->started_ns,
		 job->ended_ns ? job->ended_ns : series->until_ns, job->gpus);
	if (job->started_ns < series->from_ns || job->started_ns >= series->until_ns)
		return;
	size_t point = (size_t)((job->started_ns - series->from_ns) / LOAD_SERIES_STEP_NS);

	series->started[point]++;
	series->wait_ns[point] += (double)(job->started_ns - job->created_ns);
}

double load_series_gpus(const struct load_series *series, size_t point)
{
	return series->gpu_ns[point] / (double)LOAD_SERIES_STEP_NS;
}

double load_series_waiting(const struct load_series *series, size_t point)
{
	return series->waiting_ns[point] / (double)LOAD_SERIES_STEP_NS;
}

double load_series_wait_s(const struct load_series *series, size_t point)
{
	size_t started = series->started[point];

	return started ? series->wait_ns[point] / (double)started / 1e9 : -1;
}
