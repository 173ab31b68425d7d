/*
 * When waiting jobs should start, for those who ask: as if everybody ran as long as predicted and
 * each job, in the order of the queue, took the earliest place that delays nobody before it. What
 * was promised is told as promised. Who is not in the queue yet comes behind (forecast_apart.c).
 */
#include "cluster/forecast.h"

#include <errno.h>

/* Of a job, or of an element of a range. What was promised is the first one's. */
static int foresee(struct pass *pass, struct plans *plans, struct job *job, uint32_t element,
		   struct strata_forecast *ret_forecast, int64_t *ret_length_ns)
{
	struct strata_cluster *cluster = pass->cluster;
	struct plan *plan;
	int rc = plan_find(plans, cluster, job, cluster->now_ns, queue_predict(cluster, job),
			   pass->arena, &plan);

	*ret_forecast = (struct strata_forecast){ .job = job->id + element };
	if (rc || !plan)
		return rc;
	ret_forecast->start_ns = plan->start_ns;
	ret_forecast->node = plan->spots[0].node->row;
	ret_forecast->node_count = plan->count;
	*ret_length_ns = plan->end_ns - plan->start_ns;
	if (element == 0 && job->promised_ns && job->promised_ns >= cluster->now_ns) {
		ret_forecast->start_ns = job->promised_ns;
		ret_forecast->promised = true;
	}
	return plan_take(plans, cluster, plan);
}

static size_t count_elements(struct job *const *jobs, size_t count)
{
	size_t elements = 0;

	for (size_t i = 0; i < count; i++)
		elements += jobs[i]->elements;
	return elements;
}

/* What limits will allow when cannot be foreseen, and the first of a job group waits for all of
 * it. */
static bool can_be_foreseen(const struct job *job)
{
	enum strata_reason reason = job->job_group->first->reason;

	return (reason < STRATA_REASON_USER_LIMIT || reason > STRATA_REASON_ARRAY_LIMIT) &&
	       reason != STRATA_REASON_IMPOSSIBLE;
}

static int foresee_queue(struct foresight *foresight, struct job *const *jobs, size_t count)
{
	for (size_t i = 0; i < count && foresight->looked < foresight->most; i++)
		for (uint32_t k = 0; k < jobs[i]->elements && foresight->looked < foresight->most;
		     k++) {
			struct strata_forecast *forecast = &foresight->forecasts[foresight->known];
			int64_t length_ns = 0;

			foresight->looked++;
			if (!can_be_foreseen(jobs[i]))
				continue;
			if (foresee(foresight->pass, &foresight->plans, jobs[i], k, forecast,
				    &length_ns))
				return -ENOMEM;
			if (forecast->start_ns == 0)
				continue;
			foresight->known++;
			if (apart_note(foresight, forecast->job, forecast->start_ns,
				       forecast->start_ns + length_ns))
				return -ENOMEM;
		}
	return 0;
}

/* Those in the queue, then those apart. */
static int foresee_all(struct foresight *foresight, struct job *const *jobs, size_t count)
{
	struct strata_cluster *cluster = foresight->pass->cluster;
	int rc;

	if (plans_init(&foresight->plans, cluster))
		return -ENOMEM;
	map_u64_init(&foresight->spans, cluster->memory);
	map_u64_init(&foresight->arrays, cluster->memory);
	rc = plans_hold_placed(&foresight->plans, cluster);
	if (rc == 0)
		rc = foresee_queue(foresight, jobs, count);
	if (rc == 0)
		rc = apart_foresee(foresight);
	map_u64_fini(&foresight->arrays);
	map_u64_fini(&foresight->spans);
	plans_fini(&foresight->plans, cluster);
	return rc;
}

int strata_cluster_forecast(struct strata_cluster *cluster, size_t most, struct strata_arena *arena,
			    const struct strata_forecast **ret_forecasts, size_t *ret_count,
			    struct strata_error *err)
{
	struct pass pass = {
		.cluster = cluster, .now_ns = cluster->now_ns, .arena = arena, .err = err
	};
	struct foresight foresight = { .pass = &pass, .most = most };
	struct job **jobs;
	size_t count;
	int rc = queue_list(&pass, most, &jobs, &count);

	if (rc)
		return rc;
	if (apart_find(&foresight))
		return strata_fail_memory(err);
	size_t waiting = count_elements(jobs, count);
	size_t apart = count_elements(foresight.apart, foresight.apart_count);

	waiting = (waiting < most ? waiting : most) + (apart < most ? apart : most);
	foresight.forecasts = strata_arena_array(arena, waiting, sizeof(*foresight.forecasts));
	if (!foresight.forecasts || foresee_all(&foresight, jobs, count))
		return strata_fail_memory(err);
	*ret_forecasts = foresight.forecasts;
	*ret_count = foresight.known;
	return 0;
}

/* ---- in another's place ---- */

struct turn {
	uint64_t in_place_of;
	const uint64_t *jobs;
	size_t count;
};

static bool is_tried(const struct turn *turn, uint64_t id)
{
	for (size_t i = 0; i < turn->count; i++)
		if (turn->jobs[i] == id)
			return true;
	return false;
}

/* Each is found a place that it does not take. */
static int foresee_each(struct pass *pass, const struct plans *plans, const struct turn *turn,
			struct strata_forecast *forecasts)
{
	struct strata_cluster *cluster = pass->cluster;

	for (size_t i = 0; i < turn->count; i++) {
		struct job *job = map_u64_get(&cluster->jobs, turn->jobs[i]);
		struct plan *plan = NULL;

		forecasts[i] = (struct strata_forecast){ .job = turn->jobs[i] };
		if (!job || !job->job_group)
			continue;
		if (plan_find(plans, cluster, job, cluster->now_ns, queue_predict(cluster, job),
			      pass->arena, &plan))
			return -ENOMEM;
		if (!plan)
			continue;
		forecasts[i].start_ns = plan->start_ns;
		forecasts[i].node = plan->spots[0].node->row;
		forecasts[i].node_count = plan->count;
	}
	return 0;
}

/* What is before the turn takes its places. -ESRCH when the turn does not come. */
static int plan_until(struct pass *pass, struct plans *plans, const struct turn *turn, size_t most,
		      struct job *const *jobs, size_t count)
{
	struct strata_forecast ignored;
	int64_t length_ns;
	size_t looked = 0;
	int rc = 0;

	for (size_t i = 0; i < count && looked < most; i++)
		for (uint32_t k = 0; k < jobs[i]->elements && looked < most; k++) {
			if (jobs[i]->id + k == turn->in_place_of)
				return can_be_foreseen(jobs[i]) ? 0 : -ESRCH;
			if (is_tried(turn, jobs[i]->id))
				continue;
			looked++;
			if (can_be_foreseen(jobs[i]))
				rc = foresee(pass, plans, jobs[i], k, &ignored, &length_ns);
			if (rc)
				return rc;
		}
	return -ESRCH;
}

int strata_cluster_foresee(struct strata_cluster *cluster, uint64_t in_place_of,
			   const uint64_t *jobs, size_t count, size_t most,
			   struct strata_arena *arena, struct strata_forecast *ret_forecasts,
			   struct strata_error *err)
{
	struct pass pass = {
		.cluster = cluster, .now_ns = cluster->now_ns, .arena = arena, .err = err
	};
	const struct turn turn = { in_place_of, jobs, count };
	struct job **waiting;
	struct plans plans;
	size_t waiting_count;
	int rc = queue_list(&pass, most < SIZE_MAX - count ? most + count : SIZE_MAX, &waiting,
			    &waiting_count);

	if (rc)
		return rc;
	if (plans_init(&plans, cluster))
		return strata_fail_memory(err);
	rc = plans_hold_placed(&plans, cluster);
	if (rc == 0)
		rc = plan_until(&pass, &plans, &turn, most, waiting, waiting_count);
	if (rc == 0)
		rc = foresee_each(&pass, &plans, &turn, ret_forecasts);
	plans_fini(&plans, cluster);
	return rc == -ENOMEM  ? strata_fail_memory(err)
	       : rc == -ESRCH ? strata_fail(err, rc, "the turn of job %llu cannot be foreseen",
					    (unsigned long long)in_place_of)
			      : rc;
}
