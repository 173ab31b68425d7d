/* The tables of routes: who may call what, and what then happens. One row per method and path; the
 * documents and the tests walk them. */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include "server/request.h"

struct decider;

struct route {
	const char *method, *path; /* '*' stands for one part of the path */
	const char *summary;
	enum role role; /* at least; ROLE_NONE: anybody who can reach the socket */
	size_t body_bytes_max;
	/* On an HTTP thread, when the body is there: may answer; else the decider is asked. NULL:
	 * nothing to read. */
	void (*parse)(struct request *request);
	/* On the decider's thread: answers. NULL: parse did. */
	void (*decide)(struct decider *decider, struct request *request);
	/* On an HTTP thread again, before the answer goes out. NULL: it goes as it is. */
	void (*finish)(struct request *request);
	/* The tables of its body and of its query. NULL: it has none. */
	const struct strata_schema *body, *query;
	/* keys that every good answer has, "jobs next"; "": an object of any; NULL: it is no
	 * JSON */
	const char *answer;
	int also; /* a good status beside 200: 201, there is something new; 202, it will be done */
};

enum { ROUTE_SMALL_BYTES = 1 << 20 }; /* of bodies that are a few fields */

const struct route *route_at(size_t index); /* NULL past the end */
/* The row; ret_segments are the parts that '*' stands for, in `path`, which is cut up. NULL: none;
 * ret_known: there is one with another method. */
const struct route *route_find(const char *method, char *path,
			       const char *ret_segments[REQUEST_SEGMENTS_MAX], bool *ret_known);

/* The tables, each in the file that has what its rows do; a row without a method is behind the
 * last. */
extern const struct route api_cancel_routes[];
extern const struct route api_change_routes[];
extern const struct route api_checkpoints_routes[];
extern const struct route api_accounting_routes[];
extern const struct route api_cluster_routes[];
extern const struct route api_events_routes[];
extern const struct route api_figures_routes[];
extern const struct route api_generate_routes[];
extern const struct route api_health_routes[];
extern const struct route api_inventory_routes[];
extern const struct route api_advances_routes[];
extern const struct route api_settings_routes[];
extern const struct route api_report_routes[];
extern const struct route api_resubmit_routes[];
extern const struct route api_jobs_routes[];
extern const struct route api_models_routes[];
extern const struct route api_openai_routes[];
extern const struct route api_openapi_routes[];
extern const struct route api_output_routes[];
extern const struct route api_passes_routes[];
extern const struct route api_entities_routes[];
extern const struct route api_problems_routes[];
extern const struct route api_queue_routes[];
extern const struct route api_samples_routes[];
extern const struct route api_sdapi_routes[];
extern const struct route api_series_routes[];
extern const struct route api_session_routes[];
extern const struct route api_slurm_routes[];
extern const struct route api_sooner_routes[];
extern const struct route api_reload_routes[];
extern const struct route api_script_routes[];
extern const struct route api_steps_routes[];
extern const struct route api_studies_routes[];
extern const struct route api_submit_routes[];
extern const struct route api_task_events_routes[];
extern const struct route api_tasks_routes[];
extern const struct route api_token_routes[];
extern const struct route api_trace_routes[];
extern const struct route api_trial_routes[];
extern const struct route api_web_routes[];
extern const struct route api_webhooks_routes[];
extern const struct route api_why_routes[];
extern const struct route api_worker_routes[];

#endif
