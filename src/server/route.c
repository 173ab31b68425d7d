/* The routes: see route.h. */
#include "server/route.h"

#include "formats/job_spec.h"
#include "server/people.h"

#include <string.h>

#define SMALL ((size_t)1 << 20)

/* clang-format off */
static const struct route routes[] = {
	{ "GET", "/healthz", "is it there?", ROLE_NONE, 0, api_health, NULL, NULL, .answer = "status version" },
	{ "GET", "/readyz", "can it take jobs?", ROLE_NONE, 0, api_ready, NULL, NULL, .answer = "status limits" },
	{ "GET", "/metrics", "figures for Prometheus", ROLE_READER, 0, NULL, api_metrics, NULL },
	{ "GET", "/openapi.json", "this table, for programs", ROLE_NONE, 0, api_openapi, NULL, NULL, .answer = "openapi info paths components" },
	{ "POST", "/api/v1/jobs", "submit", ROLE_USER, STRATA_SERVER_BODY_BYTES_MAX, api_jobs_submit_parse, api_jobs_submit, NULL, .body = &job_spec_schema, .answer = "id ids", .also = 201 },
	{ "GET", "/api/v1/jobs", "the history", ROLE_READER, 0, api_jobs_list, NULL, NULL, .query = &api_jobs_query, .answer = "jobs next" },
	{ "GET", "/api/v1/jobs/*", "one job", ROLE_READER, 0, NULL, api_job_show, api_job_history, .answer = "id state user name" },
	{ "PATCH", "/api/v1/jobs/*", "hold, release, requeue, change", ROLE_USER, SMALL, api_job_change_parse, api_job_change, NULL, .body = &api_job_change_schema, .answer = "id state" },
	{ "DELETE", "/api/v1/jobs/*", "cancel", ROLE_USER, 0, NULL, api_job_cancel, NULL, .answer = "id state", .also = 202 },
	{ "GET", "/api/v1/jobs/*/why", "why it waits", ROLE_READER, 0, NULL, api_job_why, api_job_why_history, .answer = "id state sentences" },
	{ "GET", "/api/v1/jobs/*/output", "what it wrote", ROLE_USER, 0, api_job_output_parse, api_job_output, api_job_output_open, .query = &api_output_query },
	{ "GET", "/api/v1/jobs/*/checkpoints", "its checkpoints", ROLE_READER, 0, NULL, api_job_checkpoints, NULL, .answer = "checkpoints" },
	{ "POST", "/api/v1/jobs/*/checkpoints", "report one", ROLE_USER, SMALL, api_job_checkpoint_parse, api_job_checkpoint, api_job_checkpoint_record, .body = &api_checkpoint_schema, .answer = "", .also = 201 },
	{ "DELETE", "/api/v1/jobs/*/checkpoints", "delete them", ROLE_USER, 0, NULL, api_job_drop_checkpoints, NULL, .answer = "id" },
	{ "GET", "/api/v1/jobs/*/steps", "its steps", ROLE_READER, 0, api_steps, NULL, NULL, .answer = "steps" },
	{ "POST", "/api/v1/jobs/*/steps", "begin a step", ROLE_USER, SMALL, api_step_parse, api_step_begin, NULL, .body = &api_step_schema, .answer = "", .also = 201 },
	{ "PATCH", "/api/v1/jobs/*/steps/*", "end a step", ROLE_USER, SMALL, api_step_end_parse, api_step_end, NULL, .body = &api_step_end_schema, .answer = "" },
	{ "GET", "/api/v1/queue", "live jobs", ROLE_READER, 0, api_queue_parse, api_queue, api_queue_write, .query = &api_queue_query, .answer = "at jobs counts" },
	{ "GET", "/api/v1/nodes", "nodes", ROLE_READER, 0, NULL, api_nodes, NULL, .answer = "nodes" },
	{ "GET", "/api/v1/topology", "what nodes are made of", ROLE_READER, 0, NULL, api_topology, NULL, .answer = "nodes" },
	{ "GET", "/api/v1/gpus", "GPUs and who has them", ROLE_READER, 0, NULL, api_gpus, NULL, .answer = "gpus" },
	{ "GET", "/api/v1/reservations", "what others have reserved", ROLE_READER, 0, NULL, api_reservations, NULL, .answer = "reservations" },
	{ "POST", "/api/v1/reservations", "reserve GPUs", ROLE_OPERATOR, SMALL, api_reservation_parse, api_reserve, NULL, .body = &api_reservation_schema, .answer = "job_id pieces", .also = 201 },
	{ "DELETE", "/api/v1/reservations/*", "give them back", ROLE_OPERATOR, 0, NULL, api_give_back, NULL, .answer = "job_id pieces" },
	{ "PATCH", "/api/v1/nodes/*", "drain, resume", ROLE_OPERATOR, SMALL, api_node_change_parse, api_node_change, NULL, .body = &api_node_change_schema, .answer = "name state" },
	{ "GET", "/api/v1/users", "users and their shares", ROLE_READER, 0, NULL, api_people, NULL, .answer = "users" },
	{ "PUT", "/api/v1/users/*", "set a user", ROLE_ADMIN, SMALL, api_person_parse, api_person_set, NULL, .body = &people_settings_schema, .answer = "name limits" },
	{ "PATCH", "/api/v1/users/*", "change a user", ROLE_ADMIN, SMALL, api_person_parse, api_person_set, NULL, .body = &people_settings_schema, .answer = "name limits" },
	{ "DELETE", "/api/v1/users/*", "delete a user", ROLE_ADMIN, 0, NULL, api_person_delete, NULL, .answer = "name" },
	{ "GET", "/api/v1/accounts", "accounts and their shares", ROLE_READER, 0, NULL, api_people, NULL, .answer = "accounts" },
	{ "PUT", "/api/v1/accounts/*", "set an account", ROLE_ADMIN, SMALL, api_person_parse, api_person_set, NULL, .body = &people_settings_schema, .answer = "name limits" },
	{ "PATCH", "/api/v1/accounts/*", "change an account", ROLE_ADMIN, SMALL, api_person_parse, api_person_set, NULL, .body = &people_settings_schema, .answer = "name limits" },
	{ "DELETE", "/api/v1/accounts/*", "delete an account", ROLE_ADMIN, 0, NULL, api_person_delete, NULL, .answer = "name" },
	{ "GET", "/api/v1/qos", "qualities of service", ROLE_READER, 0, NULL, api_people, NULL, .answer = "qos" },
	{ "PUT", "/api/v1/qos/*", "set a quality of service", ROLE_ADMIN, SMALL, api_person_parse, api_person_set, NULL, .body = &people_settings_schema, .answer = "name limits" },
	{ "PATCH", "/api/v1/qos/*", "change a quality of service", ROLE_ADMIN, SMALL, api_person_parse, api_person_set, NULL, .body = &people_settings_schema, .answer = "name limits" },
	{ "DELETE", "/api/v1/qos/*", "delete a quality of service", ROLE_ADMIN, 0, NULL, api_person_delete, NULL, .answer = "name" },
	{ "GET", "/api/v1/partitions", "partitions", ROLE_READER, 0, NULL, api_people, NULL, .answer = "partitions" },
	{ "PUT", "/api/v1/partitions/*", "set a partition", ROLE_ADMIN, SMALL, api_person_parse, api_person_set, NULL, .body = &people_settings_schema, .answer = "name limits" },
	{ "PATCH", "/api/v1/partitions/*", "change a partition", ROLE_ADMIN, SMALL, api_person_parse, api_person_set, NULL, .body = &people_settings_schema, .answer = "name limits" },
	{ "DELETE", "/api/v1/partitions/*", "delete a partition", ROLE_ADMIN, 0, NULL, api_person_delete, NULL, .answer = "name" },
	{ "GET", "/api/v1/tokens", "one's tokens", ROLE_USER, 0, NULL, api_tokens, NULL, .answer = "tokens" },
	{ "POST", "/api/v1/tokens", "make a token", ROLE_USER, SMALL, api_token_parse, api_token_make, NULL, .body = &api_token_schema, .answer = "id token", .also = 201 },
	{ "DELETE", "/api/v1/tokens/*", "revoke a token", ROLE_USER, 0, NULL, api_token_revoke, NULL, .answer = "id" },
	{ "GET", "/api/v1/accounting", "who used what", ROLE_READER, 0, api_accounting, NULL, NULL, .query = &api_accounting_query, .answer = "rows" },
	{ "POST", "/api/v1/slurm/sbatch", "submit a script for sbatch", ROLE_USER, STRATA_SERVER_BODY_BYTES_MAX, api_sbatch_parse, api_jobs_submit, NULL, .body = &api_sbatch_schema, .answer = "id ids", .also = 201 },
	{ "GET", "/api/v1/passes", "the latest passes of the scheduler", ROLE_READER, 0, NULL, api_passes, NULL, .answer = "passes" },
	{ "GET", "/api/v1/events", "what happened", ROLE_READER, 0, api_events, NULL, NULL, .query = &api_events_query },
};
/* clang-format on */

const struct route *route_at(size_t index)
{
	return index < sizeof(routes) / sizeof(routes[0]) ? &routes[index] : NULL;
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
	const struct route *route;

	*ret_known = false;
	for (size_t i = 0; (route = route_at(i)); i++) {
		if (!matches(route->path, path))
			continue;
		*ret_known = true;
		if (strcmp(route->method, method) == 0) {
			cut(route->path, path, ret_segments);
			return route;
		}
	}
	return NULL;
}
