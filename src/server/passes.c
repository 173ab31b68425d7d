/* The ring of passes.h, and GET /api/v1/passes. */
#include "server/route.h"

#include <microhttpd.h>
#include <strata/text.h>

void passes_note(struct server *server, int64_t start_ns, const struct strata_effect *effects,
		 size_t count)
{
	const int64_t worth_ns = STRATA_MS_NS; /* that long, and it is of interest by itself */
	struct passes *passes = &server->passes;
	int64_t took_ns = env_now_ns(server->env, ENV_MONOTONIC) - start_ns;
	size_t row = passes->count % PASSES_KEPT;
	struct strata_cluster_stats stats;

	if (count == 0 && took_ns < worth_ns)
		return;
	strata_cluster_stats(server->cluster, &stats);
	passes->rows[row].at_ns = server_now_ns(server) - took_ns;
	passes->rows[row].took_ns = took_ns;
	passes->rows[row].started = passes->rows[row].stopped = 0;
	passes->rows[row].waiting =
		(uint32_t)(stats.jobs[STRATA_JOB_QUEUED] + stats.jobs[STRATA_JOB_PREEMPTED]);
	for (size_t i = 0; i < count; i++) {
		passes->rows[row].started += effects[i].kind == STRATA_EFFECT_START;
		passes->rows[row].stopped += effects[i].kind == STRATA_EFFECT_STOP;
	}
	passes->count++;
}

void api_passes(struct server *server, struct request *request)
{
	const struct passes *passes = &server->passes;
	uint64_t first = passes->count > PASSES_KEPT ? passes->count - PASSES_KEPT : 0;
	json_t *list = json_array();

	for (uint64_t i = first; i < passes->count; i++) {
		size_t row = i % PASSES_KEPT;

		json_array_append_new(list, json_pack("{s:o,s:f,s:i,s:i,s:i}", "at",
						      view_time(passes->rows[row].at_ns), "took_s",
						      (double)passes->rows[row].took_ns / 1e9,
						      "started", (int)passes->rows[row].started,
						      "stopped", (int)passes->rows[row].stopped,
						      "waiting", (int)passes->rows[row].waiting));
	}
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "passes", list));
}
