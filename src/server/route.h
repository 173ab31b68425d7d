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
void api_sbatch_parse(struct request *request);
/* api_jobs.c */
/* The job of the path if it is live, else NULL; `own`: it must be the caller's, unless he is an operator. False: answered. */
bool api_job_find(struct server *server, struct request *request, bool own, struct live **ret_live);
void api_jobs_list(struct request *request);
void api_job_show(struct server *server, struct request *request);
void api_job_history(struct request *request); /* when it is not live */
void api_job_change_parse(struct request *request);
void api_job_change(struct server *server, struct request *request);
void api_job_cancel(struct server *server, struct request *request);
void api_job_why(struct server *server, struct request *request);
void api_job_checkpoints(struct server *server, struct request *request);
void api_job_drop_checkpoints(struct server *server, struct request *request);
/* api_output.c */
void api_job_output(struct server *server, struct request *request);
void api_job_output_read(struct request *request);
/* api_cluster.c */
void api_queue_parse(struct request *request);
void api_queue(struct server *server, struct request *request);
void api_nodes(struct server *server, struct request *request);
void api_node_change_parse(struct request *request);
void api_node_change(struct server *server, struct request *request);
void api_events(struct request *request);
void api_accounting(struct request *request);
/* api_people.c */
void api_people(struct server *server, struct request *request);
void api_person_parse(struct request *request);
void api_person_set(struct server *server, struct request *request);
/* api_token.c */
extern const struct strata_schema api_token_schema;
void api_token_parse(struct request *request);
void api_token_make(struct server *server, struct request *request);
void api_tokens(struct server *server, struct request *request);
void api_token_revoke(struct server *server, struct request *request);
/* api_health.c */
void api_health(struct request *request);
void api_ready(struct request *request);
void api_metrics(struct server *server, struct request *request);
void api_openapi(struct request *request);

#endif
