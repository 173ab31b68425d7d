/*
 * From a log to what a simulator runs: which jobs count, how large they are, what the scheduler is
 * told, in which order they come. The two rules are those of published experiments (see
 * <strata/swf.h>); a figure computed by another rule is not comparable with theirs.
 */
#include <strata/limits.h>
#include <strata/swf.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { NEGATIVE_RUN_S = 10 }; /* what STRATA_SWF_WINDOWS makes of a run time below 0 */

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Whole seconds of a column as ns, 0 to max_ns. */
static int to_ns(const struct strata_swf_job *job, const char *what, int64_t seconds,
		 int64_t max_ns, int64_t *ret_ns, struct strata_error *err)
{
	if (seconds < 0 || seconds > max_ns / STRATA_SECOND_NS)
		return strata_fail(err, -EBADMSG,
				   "line %" PRId64 ": job %" PRId64 " has a %s of %" PRId64
				   " s; expected 0 to %" PRId64,
				   job->line, job->number, what, seconds,
				   max_ns / STRATA_SECOND_NS);
	*ret_ns = seconds * STRATA_SECOND_NS;
	return 0;
}

/* The columns as a rule sees them. */
struct view {
	bool counts; /* false: the rule leaves the job out */
	int64_t run_s;
	int64_t requested_s;
	int64_t procs;
};

static struct view plain_view(const struct strata_swf_job *job, int64_t procs_min)
{
	struct view view = {
		.run_s = job->run_s,
		.requested_s = larger(job->requested_s, job->run_s),
		.procs = job->procs_requested > 0 ? job->procs_requested : job->procs_used,
	};

	view.procs = larger(view.procs, 0);
	view.counts = job->submit_s >= 0 && view.run_s >= 0 && view.procs >= procs_min;
	return view;
}

static struct view windows_view(const struct strata_swf_job *job)
{
	struct view view = {
		.counts = job->run_s != 0,
		.run_s = job->run_s < 0 ? NEGATIVE_RUN_S : job->run_s,
		.requested_s = job->requested_s,
		.procs = larger(job->procs_used, job->procs_requested),
	};

	if (view.requested_s < 0)
		view.requested_s = view.run_s;
	return view;
}

static int load_job(const struct strata_swf_job *job, const struct view *view,
		    enum strata_swf_rule rule, struct strata_swf_arrival *arrival,
		    struct strata_error *err)
{
	const int64_t requested_max_s = STRATA_DURATION_NS_MAX / STRATA_SECOND_NS;
	int rc = 0;

	if (view->procs < 1 && rule != STRATA_SWF_DEMANDS)
		return strata_fail(err, -EBADMSG,
				   "line %" PRId64 ": job %" PRId64 " has no processors", job->line,
				   job->number);
	*arrival = (struct strata_swf_arrival){
		.number = job->number,
		.requested_ns = STRATA_DURATION_NS_MAX,
		.procs = view->procs,
		.user = job->user,
	};
	rc = to_ns(job, "submit time", job->submit_s, STRATA_TIME_NS_MAX, &arrival->submit_ns, err);
	if (rc == 0)
		rc = to_ns(job, "run time", view->run_s, STRATA_DURATION_NS_MAX, &arrival->run_ns,
			   err);
	if (view->requested_s <= requested_max_s)
		arrival->requested_ns = view->requested_s * STRATA_SECOND_NS;
	return rc;
}

static int by_submission(const void *a_any, const void *b_any)
{
	const struct strata_swf_arrival *a = a_any, *b = b_any;

	if (a->submit_ns != b->submit_ns)
		return a->submit_ns < b->submit_ns ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->job < b->job ? -1 : a->job > b->job;
}

static int by_number(const void *a_any, const void *b_any)
{
	const struct strata_swf_arrival *a = a_any, *b = b_any;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->job < b->job ? -1 : a->job > b->job;
}

/* Logs are in order but for a few lines, if at all: ask before sorting. */
static void sort(struct strata_swf_arrival *arrivals, size_t count, enum strata_swf_rule rule)
{
	int (*compare)(const void *, const void *) = rule == STRATA_SWF_WINDOWS ? by_number
										: by_submission;

	for (size_t i = 1; i < count; i++)
		if (compare(&arrivals[i - 1], &arrivals[i]) > 0) {
			qsort(arrivals, count, sizeof(*arrivals), compare);
			return;
		}
}

int strata_swf_load(const struct strata_swf *swf, enum strata_swf_rule rule,
		    struct strata_arena *arena, struct strata_swf_arrival **ret_arrivals,
		    size_t *ret_count, size_t *ret_left_out, struct strata_error *err)
{
	struct strata_swf_arrival *arrivals =
		strata_arena_array(arena, swf->job_count, sizeof(*arrivals));
	size_t count = 0;

	if (!arrivals)
		return strata_fail_memory(err);
	for (size_t i = 0; i < swf->job_count; i++) {
		const struct strata_swf_job *job = &swf->jobs[i];
		struct view view = rule == STRATA_SWF_WINDOWS
					   ? windows_view(job)
					   : plain_view(job, rule == STRATA_SWF_PLAIN);

		if (!view.counts)
			continue;
		int rc = load_job(job, &view, rule, &arrivals[count], err);

		if (rc)
			return rc;
		arrivals[count++].job = i;
	}
	sort(arrivals, count, rule);
	*ret_arrivals = arrivals;
	*ret_count = count;
	if (ret_left_out)
		*ret_left_out = swf->job_count - count;
	return 0;
}
