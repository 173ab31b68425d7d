/* Which pods are told why they wait: those that were not told yet, and those for which it is
 * time and for which the sentence is another by now. */
#include "pods/pods_round.h"

#include <strata/limits.h>

/* Of so many it is said when they should start. */
enum { FORECASTS_MAX = 64 };

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
	return hash | 1;
}

static const struct strata_forecast *find_forecast(const struct strata_forecast *forecasts,
						   size_t count, uint64_t job)
{
	for (size_t i = 0; i < count; i++)
		if (forecasts[i].job == job)
			return &forecasts[i];
	return NULL;
}

static const char *sentence_of(struct pods_round *round, size_t index,
			       const struct strata_forecast *forecasts, size_t forecast_count)
{
	const struct pod *pod = round->pods[index];
	struct strata_job_view view;

	if (pod->refusal)
		return pod->refusal;
	if (round->sentences[index])
		return round->sentences[index];
	if (!round->submitted[index] ||
	    strata_cluster_job(round->cluster, index + 1, &view, NULL) ||
	    (view.state != STRATA_JOB_QUEUED && view.state != STRATA_JOB_PREEMPTED))
		return NULL;
	return pods_explain(round, index, find_forecast(forecasts, forecast_count, index + 1));
}

static bool is_due(const struct pods_round *round, const struct pod *pod)
{
	return pod->ours && !pod->node && !pod->ended && !pod->deleting && !pod->gated &&
	       (!pod->told || pod->told_ns + round->conf->tell_ns <= round->now_ns);
}

static bool any_due(const struct pods_round *round)
{
	for (size_t i = 0; i < round->pod_count; i++)
		if (is_due(round, round->pods[i]))
			return true;
	return false;
}

int pods_tell(struct pods_round *round)
{
	const struct strata_forecast *forecasts = NULL;
	size_t forecast_count = 0, told = 0;

	if (!any_due(round))
		return 0;
	int rc = strata_cluster_forecast(round->cluster, FORECASTS_MAX, round->arena, &forecasts,
					 &forecast_count, round->err);

	for (size_t i = 0; rc == 0 && i < round->pod_count && told < round->conf->tell_max; i++) {
		struct pod *pod = round->pods[i];
		const char *sentence = is_due(round, pod)
					       ? sentence_of(round, i, forecasts, forecast_count)
					       : NULL;

		if (!sentence || hash_of(sentence) == pod->told)
			continue;
		told++;
		rc = pods_round_add(round, &(struct pods_decision){ .kind = PODS_TELL,
								    .pod = pod,
								    .sentence = sentence,
								    .reason = "Unschedulable",
								    .first = !pod->told });
		pod->told = hash_of(sentence);
		pod->told_ns = round->now_ns;
	}
	return rc;
}
