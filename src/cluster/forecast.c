/*
 * When waiting jobs should start, for those who ask: as if everybody ran as long as predicted and
 * each job, in the order of the queue, took the earliest place that delays nobody before it. What
 * was promised is told as promised.
 */
#include "cluster/plan.h"

#include <errno.h>

/* What placed jobs hold until their expected end. */
static int hold_placed(struct plans *plans, struct strata_cluster *cluster)
{
	for (struct tree_node *at = tree_first(&cluster->running); at; at = tree_next(at)) {
		const struct job *job = container_of(at, struct job, by_end);
		int64_t end_ns = job->expected_end_ns > cluster->now_ns ? job->expected_end_ns
									: cluster->now_ns + 1;

		for (uint32_t i = 0; i < job->claim_count; i++) {
			struct timeline *line = &plans->lines[job->claims[i].node->row];

			if (timeline_reserve(line, cluster->memory))
				return -ENOMEM;
			timeline_take(line, cluster->now_ns, end_ns, &job->claims[i].piece);
		}
	}
	return 0;
}

/* Of a job, or of an element of a range. What was promised is the first one's. */
static int foresee(struct pass *pass, struct plans *plans, struct job *job, uint32_t element,
		   struct strata_forecast *ret_forecast)
{
	struct strata_cluster *cluster = pass->cluster;
	struct plan *plan;
	int rc = plan_find(plans, cluster, job, queue_predict(cluster, job), pass->arena, &plan);

	*ret_forecast = (struct strata_forecast){ .job = job->id + element };
	if (rc || !plan)
		return rc;
	ret_forecast->start_ns = plan->start_ns;
	ret_forecast->node = plan->spots[0].node->row;
	ret_forecast->node_count = plan->count;
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

int strata_cluster_forecast(struct strata_cluster *cluster, size_t most, struct strata_arena *arena,
			    const struct strata_forecast **ret_forecasts, size_t *ret_count,
			    struct strata_error *err)
{
	struct pass pass = {
		.cluster = cluster, .now_ns = cluster->now_ns, .arena = arena, .err = err
	};
	struct strata_forecast *forecasts = NULL;
	struct job **jobs;
	struct plans plans;
	size_t count, known = 0, looked = 0;
	int rc = queue_list(&pass, &jobs, &count);

	if (rc)
		return rc;
	size_t waiting = count_elements(jobs, count);

	most = waiting < most ? waiting : most;
	forecasts = strata_arena_array(arena, most, sizeof(*forecasts));
	if (!forecasts || plans_init(&plans, cluster))
		return strata_fail_memory(err);
	rc = hold_placed(&plans, cluster);
	for (size_t i = 0; rc == 0 && i < count && looked < most; i++)
		for (uint32_t k = 0; rc == 0 && k < jobs[i]->elements && looked < most; k++) {
			looked++;
			if (!can_be_foreseen(jobs[i]))
				continue;
			rc = foresee(&pass, &plans, jobs[i], k, &forecasts[known]);
			known += rc == 0 && forecasts[known].start_ns != 0;
		}
	plans_fini(&plans, cluster);
	if (rc)
		return strata_fail_memory(err);
	*ret_forecasts = forecasts;
	*ret_count = known;
	return 0;
}
