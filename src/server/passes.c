/* The ring of passes.h, and GET /api/v1/passes. */
#include "server/decider.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/text.h>

#include <microhttpd.h>

void passes_note(struct decider *decider, int64_t start_ns, const struct strata_effect *effects,
		 size_t count)
{
	const int64_t worth_ns = STRATA_MS_NS; /* that long, and it is of interest by itself */
	struct passes *passes = &decider->passes;
	int64_t took_ns = env_now_ns(decider->env, ENV_MONOTONIC) - start_ns;
	size_t row = passes->count % PASSES_KEPT;
	struct strata_cluster_metrics metrics;

	if (count == 0 && took_ns < worth_ns)
		return;
	strata_cluster_metrics(decider->cluster, &metrics);
	passes->rows[row].at_ns = decider_now_ns(decider) - took_ns;
	passes->rows[row].took_ns = took_ns;
	passes->rows[row].started = passes->rows[row].stopped = 0;
	passes->rows[row].waiting =
		(uint32_t)(metrics.jobs[STRATA_JOB_QUEUED] + metrics.jobs[STRATA_JOB_PREEMPTED]);
	for (size_t i = 0; i < count; i++) {
		passes->rows[row].started += effects[i].kind == STRATA_EFFECT_START;
		passes->rows[row].stopped += effects[i].kind == STRATA_EFFECT_STOP;
	}
	passes->count++;
}

static void get_passes(struct decider *decider, struct request *request)
{
	const struct passes *passes = &decider->passes;
	uint64_t first = passes->count > PASSES_KEPT ? passes->count - PASSES_KEPT : 0;
	json_t *list = json_array();

	for (uint64_t i = first; i < passes->count; i++) {
		size_t row = i % PASSES_KEPT;

		json_array_append_new(list,
				      json_pack("{s:o,s:f,s:i,s:i,s:i}", "at",
						view_exact_time(passes->rows[row].at_ns), "took_s",
						(double)passes->rows[row].took_ns / 1e9, "started",
						(int)passes->rows[row].started, "stopped",
						(int)passes->rows[row].stopped, "waiting",
						(int)passes->rows[row].waiting));
	}
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "passes", list));
}

/* ---- routes ---- */

const struct route api_passes_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/passes",
	  .summary = "the latest passes of the scheduler",
	  .role = ROLE_READER,
	  .decide = get_passes,
	  .answer = "passes" },
	{ 0 },
};
