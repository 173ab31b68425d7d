/* Slurm's JSON: see json.h. */
#include "cli/slurm/json.h"

#include "cli/service.h"

#include <stdlib.h>
#include <string.h>

static void indent(struct buf *buf, int depth)
{
	buf_add_char(buf, '\n');
	buf_add_repeat(buf, ' ', 2 * (size_t)depth);
}

/* Two blanks a level, also in what is empty; slashes escaped. */
static void write_value(struct buf *buf, const json_t *value, int depth)
{
	bool list = json_is_array(value);
	const char *key;
	json_t *item;
	size_t index;

	if (!list && !json_is_object(value)) {
		char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ESCAPE_SLASH);

		buf_add(buf, text ? text : "null");
		free(text);
		return;
	}
	buf_add_char(buf, list ? '[' : '{');
	bool first = true;

	if (list) {
		json_array_foreach(value, index, item)
		{
			buf_add(buf, first ? "" : ",");
			indent(buf, depth + 1);
			write_value(buf, item, depth + 1);
			first = false;
		}
	} else {
		json_object_foreach((json_t *)value, key, item)
		{
			buf_add(buf, first ? "" : ",");
			indent(buf, depth + 1);
			buf_printf(buf, "\"%s\": ", key);
			write_value(buf, item, depth + 1);
			first = false;
		}
	}
	indent(buf, depth);
	buf_add_char(buf, list ? ']' : '}');
}

/* As libyaml writes it with tags: what could be read as something else is quoted. */
static void write_scalar(struct buf *buf, const json_t *value)
{
	const char *text = json_string_value(value);
	char *plain = text ? NULL : json_dumps(value, JSON_ENCODE_ANY);

	if (text && *text && !strpbrk(text, ":#'\"\n\t{}[],&*!|>%@`") && !strchr(" -?", text[0]) &&
	    text[strlen(text) - 1] != ' ') {
		buf_printf(buf, "!!str %s", text);
	} else if (text) {
		buf_add(buf, "!!str '");
		for (; *text; text++) {
			buf_add_char(buf, *text == '\n' ? ' ' : *text);
			if (*text == '\'')
				buf_add_char(buf, '\'');
		}
		buf_add_char(buf, '\'');
	} else {
		buf_printf(buf, "!!%s %s",
			   json_is_integer(value)   ? "int"
			   : json_is_real(value)    ? "float"
			   : json_is_boolean(value) ? "bool"
						    : "null",
			   plain ? plain : "null");
	}
	free(plain);
}

static void write_yaml(struct buf *buf, const json_t *value, int depth)
{
	bool list = json_is_array(value);
	const char *key;
	json_t *item;
	size_t index;

	if (!list && !json_is_object(value)) {
		write_scalar(buf, value);
		return;
	}
	buf_add(buf, list ? "!!seq" : "!!map");
	if (list ? !json_array_size(value) : !json_object_size(value))
		buf_add(buf, list ? " []" : " {}");
	json_array_foreach(value, index, item)
	{
		indent(buf, depth);
		buf_add(buf, "- ");
		write_yaml(buf, item, depth + 1);
	}
	json_object_foreach((json_t *)(list ? NULL : value), key, item)
	{
		indent(buf, depth);
		buf_printf(buf, "!!str %s: ", key);
		write_yaml(buf, item, json_is_object(item) ? depth + 1 : depth);
	}
}

static int print_framed(struct cli *cli, const char *key, json_t *list, bool yaml)
{
	json_t *all = json_pack("{s:{s:{s:s,s:s},s:{s:{s:i,s:i,s:i},s:s}},s:[],s:o}", "meta",
				"plugin", "type", "openapi/v0.0.38", "name",
				"Slurm OpenAPI v0.0.38", "Slurm", "version", "major", 22, "micro",
				8, "minor", 5, "release", "22.05.8", "errors", key, list);

	if (!all)
		return 1;
	if (yaml) {
		cli_print(cli, "%YAML 1.1\n--- ");
		write_yaml(&cli->out, all, 0);
		cli_print(cli, "\n...\n");
	} else {
		write_value(&cli->out, all, 0);
		cli_print(cli, "\n");
	}
	json_decref(all);
	return 0;
}

int slurm_print_json(struct cli *cli, const char *key, json_t *list)
{
	return print_framed(cli, key, list, false);
}

static void set(json_t *json, const char *key, json_t *value)
{
	json_object_set_new(json, key, value);
}

static void set_text(json_t *json, const char *key, const char *text)
{
	set(json, key, json_string(text ? text : ""));
}

static void set_number(json_t *json, const char *key, int64_t number)
{
	set(json, key, json_integer((json_int_t)number));
}

static void set_time(json_t *json, const char *key, int64_t ns)
{
	set_number(json, key, ns / STRATA_SECOND_NS);
}

static void set_written(json_t *json, const char *key, const struct slurm_job *job,
			void (*write)(struct buf *buf, const struct slurm_job *job))
{
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	write(&buf, job);
	set_text(json, key, strcmp(buf.text, "(null)") == 0 ? "" : buf.text);
	buf_fini(&buf);
}

static void write_output(struct buf *buf, const struct slurm_job *job)
{
	slurm_job_output(buf, job, "output");
}

static void write_error(struct buf *buf, const struct slurm_job *job)
{
	slurm_job_output(buf, job, "error");
}

static void set_what(json_t *json, const struct slurm_job *job)
{
	set_text(json, "account", job->account);
	set_time(json, "accrue_time", job->eligible_ns);
	set_text(json, "admin_comment", "");
	set_number(json, "array_job_id", job->array_id);
	set(json, "array_task_id",
	    job->array_id && !job->array_tasks ? json_integer(job->array_index) : json_null());
	set_number(json, "array_max_tasks", job->array_limit);
	set_text(json, "array_task_string", job->array_tasks);
	set_number(json, "association_id", 0);
	set_text(json, "batch_features", "");
	set(json, "batch_flag", json_true());
	set_text(json, "batch_host", job->first_node);
	set(json, "flags", json_array());
	set_text(json, "cluster", "strata");
	set_written(json, "command", job, slurm_job_command);
	set_text(json, "comment", grid_string(job->json, "comment"));
	set_number(json, "cpus_per_task", job->cpus_per_task);
	set_text(json, "current_working_directory", grid_string(job->json, "working_dir"));
	set_text(json, "dependency", job->dependency);
	set_time(json, "eligible_time", job->eligible_ns);
	set_time(json, "end_time", job->end_ns);
	set_text(json, "excluded_nodes", grid_string(job->request, "node_exclude"));
	set_number(json, "exit_code", job->exit_code << 8 | job->exit_signal);
	set_text(json, "features", grid_string(job->request, "features"));
	set_number(json, "group_id", job->gid);
}

json_t *slurm_job_json(const struct slurm_job *job)
{
	json_t *json = json_object();

	set_what(json, job);
	set_number(json, "job_id", job->id);
	set_text(json, "job_state", job->state->name);
	set_text(json, "name", job->name);
	set_text(json, "nodes", job->node_list);
	set_number(json, "nice", grid_int(job->json, "nice"));
	set_number(json, "cpus", job->cpus);
	set_number(json, "node_count", job->nodes);
	set_number(json, "tasks", job->tasks);
	set_text(json, "partition", job->partition);
	set_number(json, "memory_per_node", job->memory_node_bytes >> 20);
	set_number(json, "priority", job->priority);
	set_text(json, "qos", job->qos);
	set_text(json, "required_nodes", grid_string(job->request, "node_list"));
	set(json, "requeue",
	    json_boolean(!json_is_false(json_object_get(job->request, "requeue"))));
	set_number(json, "restart_cnt", job->restarts);
	set_time(json, "start_time", job->start_ns);
	set_text(json, "state_description", grid_string(job->json, "reason_text"));
	set_text(json, "state_reason", job->reason);
	set_written(json, "standard_error", job, write_error);
	set_text(json, "standard_input", "/dev/null");
	set_written(json, "standard_output", job, write_output);
	set_time(json, "submit_time", job->submit_ns);
	set_number(json, "time_limit", job->limit_s / 60);
	set_text(json, "tres_per_node", job->gres);
	set_written(json, "tres_req_str", job, slurm_tres);
	if (!job->pending)
		set_written(json, "tres_alloc_str", job, slurm_tres);
	set_number(json, "user_id", job->uid);
	set_text(json, "user_name", job->user);
	return json;
}

json_t *slurm_node_json(const struct slurm_node *node)
{
	json_t *json = json_object(), *partitions = json_array(), *flags = json_array();

	for (const char *at = node->partitions; *at;) {
		size_t span = strcspn(at, ",");

		json_array_append_new(partitions, json_stringn(at, span));
		at += span + (at[span] == ',');
	}
	if (node->drained)
		json_array_append_new(flags, json_string("DRAIN"));
	set_text(json, "architecture", "x86_64");
	set_number(json, "cores", node->cores / node->sockets);
	set_number(json, "cpus", node->cpus);
	set_text(json, "features", node->features);
	set_text(json, "active_features", node->features);
	set_text(json, "gres", node->gres);
	set_text(json, "gres_used", node->gres_used);
	set_text(json, "name", node->name);
	set_text(json, "address", node->name);
	set_text(json, "hostname", node->name);
	set_text(json, "state", node->down ? "down" : slurm_use_word(node->use));
	set(json, "state_flags", flags);
	set(json, "partitions", partitions);
	set_number(json, "real_memory", node->memory_bytes >> 20);
	set_text(json, "reason", node->reason);
	set_time(json, "reason_changed_at", node->reason ? node->since_ns : 0);
	set_number(json, "sockets", node->sockets);
	set_number(json, "threads", node->cores ? node->cpus / node->cores : 1);
	set_number(json, "weight", 1);
	set_number(json, "alloc_memory", node->memory_used_bytes >> 20);
	set_number(json, "alloc_cpus", node->cpus_used);
	set_number(json, "idle_cpus", node->cpus - node->cpus_used);
	return json;
}

int slurm_print_jobs_json(struct cli *cli, const struct slurm_jobs *jobs)
{
	return slurm_print_jobs_as(cli, jobs, false);
}

int slurm_print_jobs_as(struct cli *cli, const struct slurm_jobs *jobs, bool yaml)
{
	json_t *list = json_array();

	for (size_t i = 0; i < jobs->count; i++)
		json_array_append_new(list, slurm_job_json(&jobs->list[i]));
	return print_framed(cli, "jobs", list, yaml);
}
