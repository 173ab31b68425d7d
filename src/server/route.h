/* The table of routes: who may call what, and what then happens. One row per method and path; the documents and the tests walk it. */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include "server/server.h"

struct route {
	const char *method, *path; /* '*' stands for one part of the path */
	const char *summary;
	enum role role; /* at least; ROLE_NONE: anybody who can reach the socket */
	size_t body_bytes_max;
	/* On an HTTP thread, when the body is there: may answer; else the decider is asked. NULL: nothing to read. */
	void (*parse)(struct request *request);
	/* On the decider's thread: answers. NULL: parse did. */
	void (*decide)(struct server *server, struct request *request);
	/* On an HTTP thread again, before the answer goes out. NULL: it goes as it is. */
	void (*finish)(struct request *request);
	/* The tables of its body and of its query. NULL: it has none. */
	const struct strata_schema *body, *query;
	const char *
		answer; /* keys that every good answer has, "jobs next"; "": an object of any; NULL: it is no JSON */
	int also; /* a good status beside 200: 201, there is something new; 202, it will be done */
};

const struct route *route_at(size_t index); /* NULL past the end */
/* The row; ret_segments are the parts that '*' stands for, in `path`, which is cut up. NULL: none; ret_known: there is one with another method. */
const struct route *route_find(const char *method, char *path,
			       const char *ret_segments[REQUEST_SEGMENTS_MAX], bool *ret_known);

/* api_submit.c */
void api_jobs_submit_parse(struct request *request);
void api_jobs_submit(struct server *server, struct request *request);
/* A document as of POST /api/v1/jobs, to be decided by api_jobs_submit, or answered with what is wrong with it. The references are taken
 * over; warnings (a list of texts, or NULL) go into the answer. */
void api_submit_read(struct request *request, json_t *json, json_t *warnings);
/* api_slurm.c */
extern const struct strata_schema api_sbatch_schema;
void api_sbatch_parse(struct request *request);
/* api_steps.c */
extern const struct strata_schema api_step_schema, api_step_end_schema;
void api_step_parse(struct request *request);
void api_step_begin(struct server *server, struct request *request);
void api_step_end_parse(struct request *request);
void api_step_end(struct server *server, struct request *request);
void api_steps(struct request *request);
/* api_jobs.c */
extern const struct strata_choice api_job_states[]; /* enum strata_job_state by name */
/* The job of the path if it is live, else NULL; `own`: it must be the caller's, unless he is an operator. False: answered. */
bool api_job_find(struct server *server, struct request *request, bool own, struct live **ret_live);
/* The job's turn and place, if it is near enough to the head of the queue to be foreseen: set in the JSON. Its number in the list (in the round's
 * arena), from 1; 0: it is not there. */
size_t api_job_forecast(struct server *server, const struct live *live, json_t *json,
			const struct strata_forecast **ret_list, size_t *ret_count);
/* The job of the path from the store; on an HTTP thread, when the decider did not know it. False: answered. */
bool api_job_read(struct request *request, struct store_job *ret_row);
/* May the caller have what is its owner's? False: answered. */
bool api_job_may(struct request *request, const struct store_job *row);
/* The same as api_job_find for what only a live one can do; NULL: answered. */
struct live *api_job_find_live(struct server *server, struct request *request, bool own);
extern const struct strata_schema api_jobs_query;
void api_jobs_list(struct request *request);
void api_job_show(struct server *server, struct request *request);
void api_job_history(struct request *request); /* when it is not live */
extern const struct strata_schema api_job_change_schema;
void api_job_change_parse(struct request *request);
void api_job_change(struct server *server, struct request *request);
void api_job_cancel(struct server *server, struct request *request);
/* api_checkpoints.c */
void api_job_checkpoints(struct server *server, struct request *request);
void api_job_drop_checkpoints(struct server *server, struct request *request);
extern const struct strata_schema api_checkpoint_schema;
void api_job_checkpoint_parse(struct request *request);
void api_job_checkpoint(struct server *server, struct request *request);
void api_job_checkpoint_record(struct request *request);
/* api_why.c */
void api_job_why(struct server *server, struct request *request);
void api_job_why_history(struct request *request);
/* api_output.c */
extern const struct strata_schema api_output_query;
void api_job_output_parse(struct request *request);
void api_job_output(struct server *server, struct request *request);
void api_job_output_open(struct request *request);
/* api_queue.c */
extern const struct strata_schema api_queue_query;
void api_queue_parse(struct request *request);
void api_queue(struct server *server, struct request *request);
void api_queue_write(struct request *request);
/* api_cluster.c */
void api_nodes(struct server *server, struct request *request);
extern const struct strata_schema api_node_change_schema;
void api_node_change_parse(struct request *request);
void api_node_change(struct server *server, struct request *request);
extern const struct strata_schema api_accounting_query;
void api_accounting(struct request *request);
/* api_events.c */
extern const struct strata_schema api_events_query;
void api_events(struct request *request);
/* api_inventory.c */
extern const struct strata_schema api_reservation_schema;
void api_topology(struct server *server, struct request *request);
void api_gpus(struct server *server, struct request *request);
void api_reservation_parse(struct request *request);
void api_reserve(struct server *server, struct request *request);
void api_reservations(struct server *server, struct request *request);
void api_give_back(struct server *server, struct request *request);
/* api_people.c */
void api_people(struct server *server, struct request *request);
void api_person_parse(struct request *request);
void api_person_set(struct server *server, struct request *request);
void api_person_delete(struct server *server, struct request *request);
/* api_token.c */
extern const struct strata_schema api_token_schema;
void api_token_parse(struct request *request);
void api_token_make(struct server *server, struct request *request);
void api_tokens(struct server *server, struct request *request);
void api_token_revoke(struct server *server, struct request *request);
/* passes.c */
void api_passes(struct server *server, struct request *request);
/* api_openapi.c */
void api_openapi(struct request *request);
/* api_health.c */
void api_health(struct request *request);
void api_ready(struct request *request);
void api_metrics(struct server *server, struct request *request);

#endif
