/* The routes: see route.h. */
#include "server/route.h"

#include <string.h>

/* In the order of the documents. */
/* clang-format off */
static const struct route *const tables[] = {
	api_health_routes,
	api_openapi_routes,
	api_submit_routes,
	api_trial_routes,
	api_jobs_routes,
	api_cancel_routes,
	api_change_routes,
	api_why_routes,
	api_sooner_routes,
	api_output_routes,
	api_samples_routes,
	api_checkpoints_routes,
	api_reload_routes,
	api_script_routes,
	api_steps_routes,
	api_queue_routes,
	api_figures_routes,
	api_report_routes,
	api_generate_routes,
	api_tasks_routes,
	api_task_events_routes,
	api_models_routes,
	api_openai_routes,
	api_sdapi_routes,
	api_worker_routes,
	api_accounting_routes,
	api_series_routes,
	api_problems_routes,
	api_studies_routes,
	api_cluster_routes,
	api_inventory_routes,
	api_advances_routes,
	api_settings_routes,
	api_resubmit_routes,
	api_entities_routes,
	api_token_routes,
	api_session_routes,
	api_slurm_routes,
	api_passes_routes,
	api_trace_routes,
	api_events_routes,
	api_webhooks_routes,
	api_web_routes,
};
/* clang-format on */
enum { TABLE_COUNT = sizeof(tables) / sizeof(tables[0]) };

const struct route *route_at(size_t index)
{
	for (size_t i = 0; i < TABLE_COUNT; i++)
		for (const struct route *route = tables[i]; route->method; route++)
			if (index-- == 0)
				return route;
	return NULL;
}

/* Part by part; '*' takes one that is not empty. */
static bool matches(const char *pattern, const char *path)
{
	while (*pattern && *path) {
		if (*pattern == '*') {
			size_t span = strcspn(path, "/");

			if (span == 0)
				return false;
			path += span;
			pattern++;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return *pattern == '\0' && *path == '\0';
}

static void cut(const char *pattern, char *path, const char *ret_segments[REQUEST_SEGMENTS_MAX])
{
	size_t count = 0;

	while (*pattern) {
		if (*pattern++ != '*') {
			path++;
			continue;
		}
		size_t span = strcspn(path, "/");
		bool more = path[span] == '/';

		ret_segments[count++] = path;
		path[span] = '\0';
		path += span + more;
		pattern += more;
	}
}

const struct route *route_find(const char *method, char *path,
			       const char *ret_segments[REQUEST_SEGMENTS_MAX], bool *ret_known)
{
	const struct route *found = NULL;

	*ret_known = false;
	for (size_t i = 0; i < TABLE_COUNT && !found; i++)
		for (const struct route *route = tables[i]; route->method && !found; route++) {
			if (!matches(route->path, path))
				continue;
			*ret_known = true;
			if (strcmp(route->method, method) == 0)
				found = route;
		}
	if (found)
		cut(found->path, path, ret_segments);
	return found;
}
