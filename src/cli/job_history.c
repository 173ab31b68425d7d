/* The history of the service, asked for a page at a time: see job_history.h. */
#include "cli/job_history.h"

#include "client/job_log.h"

#include <inttypes.h>

int history_walk(struct cli *cli, const char *since, history_sink *sink, void *context)
{
	json_int_t after = 0;
	int rc = 0;

	do {
		char text[24];
		struct buf path;
		json_t *json, *job;
		size_t i;

		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, after);
		service_path(cli, &path, "jobs", NULL, NULL);
		client_query(&path, "limit", "1000");
		client_query(&path, "since", since);
		client_query(&path, "after", after ? text : NULL);
		rc = service_get(cli, &path, &json);
		if (rc)
			return rc;
		json_array_foreach(json_object_get(json, "jobs"), i, job) if (rc == 0)
			rc = sink(context, job, &cli->err);
		after = json_integer_value(json_object_get(json, "next"));
		json_decref(json);
	} while (rc == 0 && after > 0);
	return rc;
}

static int add_job(void *context, const json_t *job, struct strata_error *err)
{
	return history_add(context, job, err);
}

int history_read(struct cli *cli, const char *since, struct history_log *ret_log)
{
	char text[STRATA_FORM_BYTES];
	struct history_log log = { 0 };
	struct history history;
	json_t *nodes;
	int rc = since ? when_since(cli, since, text) : 0;

	if (rc == 0)
		rc = service_list(cli, "nodes", &nodes);
	if (rc)
		return rc;
	rc = history_nodes(nodes, &cli->arena, &log.nodes, &log.node_count, &cli->err);
	json_decref(nodes);
	history_init(&history, &cli->memory, &cli->arena);
	for (size_t i = 0; rc == 0 && i < log.node_count; i++)
		if (log.nodes[i].gpu_count > history.gpus_max)
			history.gpus_max = log.nodes[i].gpu_count;
	if (rc == 0)
		rc = history_walk(cli, since ? text : NULL, add_job, &history);
	if (rc == 0)
		rc = history_finish(&history, log.nodes, log.node_count, &log.swf, &cli->err);
	log.left_out = history.left_out;
	history_fini(&history);
	if (rc == 0)
		*ret_log = log;
	return rc;
}
