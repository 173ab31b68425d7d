/* Names that the shell is offered from the running service: jobs, nodes, users and so on. Where
 * none answers, or it takes long, there are none. */
#include "cli/complete_names.h"

#include "cli/service.h"

#include <string.h>

enum { OFFERED_MAX = 200 };

/* Which collection has the names of an operand or a value, by the word that stands for it. */
static const struct {
	const char *word, *collection;
} sources[] = {
	{ "users", "users" },          { "user", "users" },    { "accounts", "accounts" },
	{ "account", "accounts" },     { "qos", "qos" },       { "partitions", "partitions" },
	{ "partition", "partitions" }, { "nodes", "nodes" },   { "node_list", "nodes" },
	{ "node_exclude", "nodes" },   { "models", "models" }, { "model", "models" },
	{ "tasks", "tasks" },          { "jobs", "queue" },
};

static const char *collection_of(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strlen(sources[i].word) == length &&
		    strncmp(sources[i].word, word, length) == 0)
			return sources[i].collection;
	return NULL;
}

static void offer_job(struct cli *cli, const json_t *job, struct buf *lines)
{
	struct buf id;

	buf_init(&id, &cli->memory, 0);
	job_add_id(job, &id);
	buf_printf(lines, "%s\t%s, %s\n", id.text, grid_or(json_object_get(job, "name"), "?"),
		   grid_or(json_object_get(job, "state"), "?"));
	buf_fini(&id);
}

static void offer(struct cli *cli, const char *collection, struct buf *lines)
{
	bool jobs = strcmp(collection, "queue") == 0, tasks = strcmp(collection, "tasks") == 0;
	struct buf path;
	json_t *json, *row;
	size_t i;

	service_path(cli, &path, collection, NULL, NULL);
	if (jobs) {
		client_query(&path, "limit", "200");
		client_query(&path, "collapse", "1");
		client_query(&path, "fields",
			     "id,name,state,array_id,array_index,elements,index_step");
	}
	if (service_get(cli, &path, &json))
		return;
	json_array_foreach(json_object_get(json, jobs ? "jobs" : collection), i, row)
	{
		const char *name = grid_string(row, "name"), *what = grid_string(row, "state");

		if (i == OFFERED_MAX)
			break;
		if (jobs)
			offer_job(cli, row, lines);
		else if (tasks)
			buf_printf(lines, "T%lld\t%s\n", (long long)grid_int(row, "id"),
				   grid_or(json_object_get(row, "status"), ""));
		else if (name)
			buf_printf(lines, "%s\t%s\n", name, what ? what : "");
	}
	json_decref(json);
}

void complete_operand(struct cli *cli, const struct cli_command *command, struct buf *ret_lines)
{
	const char *operands = command->operands;
	const char *collection = collection_of(command->name, strcspn(command->name, " "));

	if (!operands)
		return;
	operands += *operands == '[';
	if (strncmp(operands, "ID", 2) == 0 && strncmp(command->name, "token", 5) != 0)
		offer(cli, collection ? collection : "queue", ret_lines);
	else if (strncmp(operands, "NAME", 4) == 0 && collection)
		offer(cli, collection, ret_lines);
}

void complete_value(struct cli *cli, const struct strata_option *option, struct buf *ret_lines)
{
	const char *collection = collection_of(option->name, strlen(option->name));

	if (collection && (option->type == STRATA_TEXT || option->type == STRATA_LIST))
		offer(cli, collection, ret_lines);
}
