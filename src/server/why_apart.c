/*
 * The sentence of why_apart.h. src/cluster/forecast_apart.c decides who is not foreseen; this
 * finds the first one it waits for that is the cause, and names it.
 */
#include "server/why_apart.h"

#include "server/decider.h"

#include <strata/slurm.h>

#include <inttypes.h>
#include <stdio.h>

struct unforeseen {
	struct decider *decider;
	const struct strata_forecast *forecasts;
	size_t count;
};

static bool is_foreseen(const struct unforeseen *unforeseen, const struct live *live)
{
	if (live->job.place || live->job.completed_ns)
		return true;
	for (size_t i = 0; i < unforeseen->count; i++)
		if (unforeseen->forecasts[i].job == (uint64_t)live->job.id)
			return true;
	return false;
}

/* Because of this one? */
static bool name_cause(const struct unforeseen *unforeseen,
		       const struct strata_slurm_dependency *dependency, char *text, size_t size)
{
	const struct live *other = live_get(unforeseen->decider, dependency->job);

	if (!other || other->job.completed_ns)
		return false;
	if (dependency->kind == STRATA_SLURM_AFTERNOTOK)
		snprintf(text, size,
			 "When it starts is not known: nobody can say whether job %" PRId64
			 " will fail.",
			 dependency->job);
	else if (!is_foreseen(unforeseen, other))
		snprintf(text, size,
			 "When it starts is not known, because when job %" PRId64
			 " starts is not; `strata why %" PRId64 "` says why.",
			 dependency->job, dependency->job);
	else
		return false;
	return true;
}

static bool find_cause(const struct unforeseen *unforeseen, const struct live *waiting, char *text,
		       size_t size)
{
	const char *words = waiting->spec->spec.dependencies;
	struct strata_slurm_dependencies list;

	if (!words ||
	    strata_slurm_dependencies_parse(words, STRATA_TEXT_NUL, &unforeseen->decider->scratch,
					    &list, NULL))
		return false;
	for (size_t i = 0; i < list.count; i++)
		if (name_cause(unforeseen, &list.items[i], text, size))
			return true;
	return false;
}

void why_apart_unknown(struct decider *decider, const struct live *waiting,
			 enum strata_reason reason, const struct strata_forecast *forecasts,
			 size_t forecast_count, json_t *sentences)
{
	const struct unforeseen unforeseen = { decider, forecasts, forecast_count };
	char text[256];

	if (reason == STRATA_REASON_BEGIN_TIME)
		snprintf(text, sizeof(text),
			 "When it starts is not known: it is among the last of many that wait, or "
			 "its gang is not complete, or no node could take it.");
	else if (reason != STRATA_REASON_DEPENDENCY)
		return;
	else if (!find_cause(&unforeseen, waiting, text, sizeof(text)))
		snprintf(text, sizeof(text),
			 "When it starts is not known, because when all that it waits for have "
			 "ended is not.");
	json_array_append_new(sentences, json_string(text));
}
