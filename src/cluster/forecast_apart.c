/*
 * When jobs should start that are not in the queue yet: they wait for a time, or for others. Those
 * are looked at behind the queue, in the order of their ids, so that whom one waits for has been
 * looked at before. One is planned from the time on at which, as things stand, nothing keeps it
 * apart any more; where no place can be planned, that time itself is the estimate. When a job will
 * fail nobody knows, so who waits for that is not foreseen, nor is who waits for somebody that is
 * not.
 */
#include "cluster/forecast.h"

#include <errno.h>
#include <string.h>

/* From when to when a job runs; both STRATA_TIME_NONE: not known. */
struct span {
	int64_t start_ns, end_ns;
};

static const struct span unknown = { STRATA_TIME_NONE, STRATA_TIME_NONE };

static bool is_known(const struct span *span)
{
	return span->start_ns != STRATA_TIME_NONE;
}

/* How many jobs of a series are looked at before one that has to be alone. */
enum { SERIES_MAX = 64 };

/* ---- who ---- */

/* It waits for nothing but a time or others, and could run somewhere. */
static bool is_apart(const struct job *job)
{
	bool waits = job->reason == STRATA_REASON_BEGIN_TIME ||
		     job->reason == STRATA_REASON_DEPENDENCY;

	return waits && job_waits(job) && !job->job_group && job->resources->possible &&
	       (!job_gang(job) || job->gang->count == job->gang->size);
}

/* By id; jobs were mostly put in so. */
static void add_apart(struct foresight *foresight, struct job *job)
{
	struct job **list = foresight->apart;
	size_t at = foresight->apart_count;

	while (at > 0 && list[at - 1]->id > job->id)
		at--;
	if (at == foresight->most)
		return;
	foresight->apart_count += foresight->apart_count < foresight->most;
	memmove(&list[at + 1], &list[at], (foresight->apart_count - at - 1) * sizeof(struct job *));
	list[at] = job;
}

int apart_find(struct foresight *foresight)
{
	struct strata_cluster *cluster = foresight->pass->cluster;
	const struct map_u64_entry *entry = NULL;
	size_t left = cluster->apart_count;

	while (left > 0 && (entry = map_u64_next(&cluster->jobs, entry))) {
		struct job *job = entry->value;

		left -= job->stood_apart;
		if (!is_apart(job))
			continue;
		if (!foresight->apart) {
			foresight->apart = strata_arena_array(
				foresight->pass->arena, foresight->most, sizeof(struct job *));
			if (!foresight->apart)
				return -ENOMEM;
		}
		add_apart(foresight, job);
	}
	return 0;
}

static int put_span(struct foresight *foresight, struct map_u64 *map, uint64_t id, struct span span)
{
	struct span *copy = strata_arena_get(foresight->pass->arena, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = span;
	return map_u64_put(map, id, copy, NULL);
}

int apart_note(struct foresight *foresight, uint64_t id, int64_t start_ns, int64_t end_ns)
{
	return foresight->apart_count ? put_span(foresight, &foresight->spans, id,
						 (struct span){ start_ns, end_ns })
				      : 0;
}

/* ---- whom it waits for ---- */

static void include(struct span *all, const struct span *one)
{
	if (!is_known(one))
		*all = unknown;
	if (!is_known(all))
		return;
	all->start_ns = one->start_ns > all->start_ns ? one->start_ns : all->start_ns;
	all->end_ns = one->end_ns > all->end_ns ? one->end_ns : all->end_ns;
}

/* Of a range: when the last of it starts, and when the last ends. */
static struct span span_of(const struct foresight *foresight, const struct job *job)
{
	int64_t now_ns = foresight->pass->now_ns;
	struct span all = { now_ns, now_ns };

	if (strata_job_ended(job->state))
		return all;
	if (!job_waits(job)) {
		all.end_ns = job->expected_end_ns > now_ns ? job->expected_end_ns : now_ns;
		return all;
	}
	for (uint32_t k = 0; k < job->elements && is_known(&all); k++) {
		const struct span *planned = map_u64_get(&foresight->spans, job->id + k);

		include(&all, planned ? planned : &unknown);
	}
	return all;
}

/* Worked out once for all who wait for it. */
static int span_of_array(struct foresight *foresight, const struct array *array,
			 struct span *ret_span)
{
	const struct span *known = map_u64_get(&foresight->arrays, array->id);
	struct span all = { foresight->pass->now_ns, foresight->pass->now_ns };
	const struct map_u64_entry *entry = NULL;

	if (known) {
		*ret_span = *known;
		return 0;
	}
	while (is_known(&all) && (entry = map_u64_next(&array->by_index, entry))) {
		struct span one = span_of(foresight, entry->value);

		include(&all, &one);
	}
	*ret_span = all;
	return put_span(foresight, &foresight->arrays, array->id, all);
}

/* When a link will be met; STRATA_TIME_NONE: not known. */
static int link_time(struct foresight *foresight, const struct link *link, int64_t *ret_ns)
{
	struct span span = unknown;
	int rc = 0;

	if (link->state == LINK_MET)
		span = (struct span){ foresight->pass->now_ns, foresight->pass->now_ns };
	else if (link->state == LINK_NEVER || link->kind == STRATA_AFTER_NOT_OK)
		span = unknown;
	else if (link->target)
		span = span_of(foresight, link->target);
	else
		rc = span_of_array(foresight, link->array, &span);
	*ret_ns = STRATA_TIME_NONE;
	if (rc == 0 && is_known(&span)) /* what was met has its delay in the begin time */
		*ret_ns = (link->kind == STRATA_AFTER ? span.start_ns : span.end_ns) +
			  (link->state == LINK_MET ? 0 : link->delay_ns);
	return rc;
}

static int links_time(struct foresight *foresight, const struct job *job, int64_t *ret_ns)
{
	const int64_t none = STRATA_TIME_NONE;
	int64_t all_ns = foresight->pass->now_ns, any_ns = none;

	for (uint32_t i = 0; i < job->link_count; i++) {
		int64_t met_ns;

		if (link_time(foresight, &job->links[i], &met_ns))
			return -ENOMEM;
		if (met_ns != none && (any_ns == none || met_ns < any_ns))
			any_ns = met_ns;
		if (all_ns != none)
			all_ns = met_ns == none ? none : met_ns > all_ns ? met_ns : all_ns;
		if (all_ns == none && !job->any_dependency)
			break;
	}
	*ret_ns = job->any_dependency && job->link_count ? any_ns : all_ns;
	return 0;
}

/* When all before it in its series have ended: another one of it that has to be alone tells of all
 * before that. STRATA_TIME_NONE: not known. */
static int64_t series_time(const struct foresight *foresight, const struct job *job)
{
	struct span all = { foresight->pass->now_ns, foresight->pass->now_ns };
	const struct job *other = job->singleton ? job->series_before : NULL;

	for (int looked = 0; other && is_known(&all); other = other->series_before) {
		struct span one = span_of(foresight, other);

		if (++looked > SERIES_MAX)
			return STRATA_TIME_NONE;
		include(&all, &one);
		if (other->singleton)
			break;
	}
	return all.end_ns;
}

/* ---- when ---- */

/* The time from which on nothing keeps it apart; STRATA_TIME_NONE: not known. */
static int free_time(struct foresight *foresight, const struct job *job, int64_t *ret_ns)
{
	int64_t links_ns, series_ns = series_time(foresight, job);
	int rc = links_time(foresight, job, &links_ns);

	*ret_ns = STRATA_TIME_NONE;
	if (rc || links_ns == STRATA_TIME_NONE || series_ns == STRATA_TIME_NONE)
		return rc;
	*ret_ns = links_ns > series_ns ? links_ns : series_ns;
	if (job->begin_ns > *ret_ns)
		*ret_ns = job->begin_ns;
	return 0;
}

static int foresee_element(struct foresight *foresight, struct job *job, uint32_t element,
			   int64_t from_ns)
{
	struct strata_cluster *cluster = foresight->pass->cluster;
	struct strata_forecast *forecast = &foresight->forecasts[foresight->known];
	int64_t length_ns = queue_predict(cluster, job);
	struct plan *plan = NULL;

	*forecast = (struct strata_forecast){ .job = job->id + element, .start_ns = from_ns,
					      .apart = true };
	if (foresight->looked < foresight->most && !fit_is_whole(job)) {
		foresight->looked++;
		if (plan_find(&foresight->plans, cluster, job, from_ns, length_ns,
			      foresight->pass->arena, &plan))
			return -ENOMEM;
	}
	if (plan) {
		forecast->start_ns = plan->start_ns;
		forecast->node = plan->spots[0].node->row;
		forecast->node_count = plan->count;
		if (plan_take(&foresight->plans, cluster, plan))
			return -ENOMEM;
	}
	foresight->known++;
	return apart_note(foresight, forecast->job, forecast->start_ns,
			  forecast->start_ns + length_ns);
}

/* As many as are asked for, by element: a range is what its elements would be one by one. */
int apart_foresee(struct foresight *foresight)
{
	size_t left = foresight->most;
	int rc = 0;

	for (size_t i = 0; rc == 0 && left > 0 && i < foresight->apart_count; i++) {
		struct job *job = foresight->apart[i];
		size_t count = job->elements < left ? job->elements : left;
		int64_t from_ns;

		left -= count;
		rc = free_time(foresight, job, &from_ns);
		if (rc || from_ns == STRATA_TIME_NONE)
			continue;
		for (uint32_t k = 0; rc == 0 && k < count; k++)
			rc = foresee_element(foresight, job, k, from_ns);
	}
	return rc;
}
