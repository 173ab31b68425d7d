/* strata slurm parse: what a batch script asks for, after command line and SBATCH_* variables. */
#include "cli/service.h"

#include "core/env.h"
#include "sim/input.h"
#include "slurm/slurm_value.h"

#include <strata/sbatch.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct parse_conf {
	const char *nodes;
};

static const struct strata_option parse_options[] = {
	{ "nodes", STRATA_TEXT, offsetof(struct parse_conf, nodes), .value = "HOSTS",
	  .help = "the nodes there are (n[001-064]): refuse scripts that name others" },
	{ 0 }
};
static const struct strata_schema parse_schema = { "slurm parse", NULL, sizeof(struct parse_conf),
						   parse_options };

enum form {
	TEXT,    /* NULL: not asked for */
	COUNT,   /* 0: not asked for */
	NUMBER,  /* below 0: not asked for */
	SECONDS, /* of ns; below 0: not asked for */
	TIME,    /* 0: not asked for */
	FLAG,
	GPUS, /* their number */
};

/* What is printed as it stands in the request; the rest is composed below. */
static const struct {
	const char *name;
	enum form form;
	size_t offset;
} fields[] = {
#define FIELD(name, form)                                         \
	{                                                         \
#name, form, offsetof(struct strata_sbatch, name) \
	}
#define AS(key, name, form)                                     \
	{                                                       \
		key, form, offsetof(struct strata_sbatch, name) \
	}
	FIELD(name, TEXT),
	FIELD(nodes, COUNT),
	FIELD(nodes_max, COUNT),
	FIELD(tasks, COUNT),
	FIELD(ntasks_per_node, COUNT),
	FIELD(ntasks_per_gpu, COUNT),
	FIELD(cpus_per_task, COUNT),
	FIELD(cpus_per_gpu, COUNT),
	FIELD(gpus_per_node, GPUS),
	FIELD(gpus, GPUS),
	FIELD(gpus_per_task, GPUS),
	FIELD(gpus_per_socket, GPUS),
	FIELD(gpus_total, NUMBER),
	FIELD(gres, TEXT),
	FIELD(mem_bytes, NUMBER),
	FIELD(mem_per_cpu_bytes, NUMBER),
	FIELD(mem_per_gpu_bytes, NUMBER),
	FIELD(tmp_bytes, NUMBER),
	AS("time_limit_s", time_limit_ns, SECONDS),
	AS("time_min_s", time_min_ns, SECONDS),
	FIELD(output, TEXT),
	FIELD(error, TEXT),
	FIELD(input, TEXT),
	FIELD(partition, TEXT),
	FIELD(account, TEXT),
	FIELD(qos, TEXT),
	FIELD(reservation, TEXT),
	FIELD(constraint, TEXT),
	FIELD(prefer, TEXT),
	FIELD(nodelist, TEXT),
	FIELD(exclude, TEXT),
	FIELD(licenses, TEXT),
	FIELD(wckey, TEXT),
	FIELD(comment, TEXT),
	FIELD(chdir, TEXT),
	FIELD(export_file, TEXT),
	FIELD(mail_user, TEXT),
	FIELD(wrap, TEXT),
	AS("begin", begin_ns, TIME),
	AS("deadline", deadline_ns, TIME),
	FIELD(priority, NUMBER),
	FIELD(hold, FLAG),
	FIELD(overcommit, FLAG),
	FIELD(contiguous, FLAG),
	FIELD(spread_job, FLAG),
	FIELD(use_min_nodes, FLAG),
	FIELD(parsable, FLAG),
	FIELD(quiet, FLAG),
	FIELD(test_only, FLAG),
	FIELD(wait, FLAG),
#undef FIELD
#undef AS
};

static json_t *count_or_null(int64_t value, bool known)
{
	return known ? json_integer(value) : json_null();
}

static json_t *text_or_null(const char *text)
{
	if (!text)
		return json_null();
	json_t *json = json_string(text);

	/* bytes that are not UTF-8 have no place in JSON; their excerpt has */
	return json ? json : json_string("?");
}

static json_t *field_json(const struct strata_sbatch *job, enum form form, size_t offset)
{
	const void *field = (const char *)job + offset;
	const struct strata_sbatch_gpus *gpus = field;
	char text[STRATA_FORM_BYTES];
	int64_t value;

	switch (form) {
	case TEXT:
		return text_or_null(*(const char *const *)field);
	case FLAG:
		return json_boolean(*(const bool *)field);
	case GPUS:
		return count_or_null(gpus->count, gpus->text != NULL);
	default:
		break;
	}
	memcpy(&value, field, sizeof(value));
	if (form == SECONDS && value == STRATA_DURATION_UNLIMITED)
		return json_string("unlimited");
	if (form == SECONDS)
		return count_or_null(value / STRATA_SECOND_NS, value >= 0);
	if (form == TIME)
		return value ? json_string(strata_time_print(value, text)) : json_null();
	return count_or_null(value, form == COUNT ? value > 0 : value >= 0);
}

static json_t *texts_json(const char *const *texts, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		json_array_append_new(list, text_or_null(texts[i]));
	return list;
}

static const char *gpu_type(const struct strata_sbatch *job)
{
	const char *types[] = { job->gpus.type, job->gpus_per_node.type, job->gpus_per_task.type,
				job->gpus_per_socket.type };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i])
			return types[i];
	return NULL;
}

static int add_array(struct cli *cli, const struct strata_sbatch *job, json_t *json)
{
	const char *text = NULL;

	if (job->array.task_count) {
		int rc = strata_array_print(&job->array, &cli->arena, &text, &cli->err);

		if (rc)
			return rc;
	}
	json_object_set_new(json, "array", text_or_null(text));
	json_object_set_new(json, "array_tasks",
			    count_or_null(job->array.task_count, text != NULL));
	json_object_set_new(json, "array_limit",
			    count_or_null(job->array.limit, job->array.limit > 0));
	return 0;
}

static int add_dependency(struct cli *cli, const struct strata_sbatch *job, json_t *json)
{
	const char *text = NULL;

	if (job->dependencies.count) {
		int rc = strata_slurm_dependencies_print(&job->dependencies, &cli->arena, &text,
							 &cli->err);

		if (rc)
			return rc;
	}
	json_object_set_new(json, "dependency", text_or_null(text));
	json_object_set_new(json, "kill_on_invalid_dep",
			    job->kill_on_invalid_dep_given ? json_boolean(job->kill_on_invalid_dep)
							   : json_null());
	return 0;
}

static void add_signal(const struct strata_sbatch *job, json_t *json)
{
	const struct strata_sbatch_signal *signal = &job->signal;
	json_t *object = signal->number
				 ? json_pack("{s:i, s:I, s:b, s:b}", "number", signal->number,
					     "before_s",
					     (json_int_t)(signal->before_ns / STRATA_SECOND_NS),
					     "batch_only", signal->batch_only, "reservation",
					     signal->reservation)
				 : json_null();

	json_object_set_new(json, "signal", object);
}

/* The choices, in words. */
static void add_choices(const struct strata_sbatch *job, json_t *json)
{
	static const char *const shares[] = { NULL, "oversubscribe", "exclusive", "user", "mcs" };
	static const char *const modes[] = { NULL, "append", "truncate" };
	json_t *mail = json_array();

	for (unsigned types = job->mail_types; types; types &= types - 1)
		json_array_append_new(mail, json_string(slurm_mail_name(types)));
	json_object_set_new(json, "gpu_type", text_or_null(gpu_type(job)));
	json_object_set_new(json, "share", text_or_null(shares[job->share]));
	json_object_set_new(json, "exclusive", json_boolean(job->share >= STRATA_SBATCH_EXCLUSIVE));
	json_object_set_new(json, "open_mode", text_or_null(modes[job->open_mode]));
	json_object_set_new(json, "error_joined", json_boolean(!job->error_given));
	json_object_set_new(json, "requeue",
			    job->requeue < 0 ? json_null() : json_boolean(job->requeue));
	json_object_set_new(json, "nice", count_or_null(job->nice, job->nice_given));
	json_object_set_new(json, "mail_types", mail);
	json_object_set_new(json, "export_all",
			    json_boolean(job->export_mode == STRATA_SBATCH_EXPORT_ALL));
	json_object_set_new(json, "export", texts_json(job->export_items, job->export_count));
	json_object_set_new(json, "script_args",
			    texts_json(job->script_args, job->script_arg_count));
}

static void add_ignored(const struct strata_sbatch *job, json_t *json)
{
	json_t *ignored = json_object();

	for (size_t i = 0; i < job->ignored_count; i++)
		json_object_set_new(ignored, job->ignored[i].name,
				    job->ignored[i].value ? text_or_null(job->ignored[i].value)
							  : json_true());
	json_object_set_new(json, "ignored", ignored);
	json_object_set_new(json, "warnings", texts_json(job->warnings, job->warning_count));
}

static int make_json(struct cli *cli, const struct strata_sbatch *job, json_t **ret_json)
{
	json_t *json = json_object();

	if (!json)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		json_object_set_new(json, fields[i].name,
				    field_json(job, fields[i].form, fields[i].offset));
	int rc = add_array(cli, job, json);

	if (rc == 0)
		rc = add_dependency(cli, job, json);
	if (rc) {
		json_decref(json);
		return rc;
	}
	add_signal(job, json);
	add_choices(job, json);
	add_ignored(job, json);
	*ret_json = json;
	return 0;
}

/* Sizes and times as people read them. */
static void add_value(struct cli_table *table, const char *key, json_t *value)
{
	size_t length = strlen(key);
	char text[STRATA_FORM_BYTES];

	if (json_is_integer(value) && length > 6 && strcmp(key + length - 6, "_bytes") == 0)
		cli_table_add(table, "%s",
			      strata_size_print_short(json_integer_value(value), text));
	else if (json_is_integer(value) && length > 2 && strcmp(key + length - 2, "_s") == 0)
		cli_table_add(table, "%s",
			      strata_duration_print_short(
				      json_integer_value(value) * STRATA_SECOND_NS, text));
	else if (json_is_string(value))
		cli_table_add(table, "%s", json_string_value(value));
	else if (json_is_integer(value))
		cli_table_add(table, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_true(value))
		cli_table_add(table, "yes");
	else {
		char *dump = json_dumps(value, JSON_ENCODE_ANY);

		cli_table_add(table, "%s", dump ? dump : "?");
		free(dump);
	}
}

/* Everything that was asked for, a line each: what is empty or off is left out. */
static int print_table(struct cli *cli, json_t *json)
{
	static const struct cli_column columns[] = { { .title = "FIELD" },
						     { .title = "VALUE", .flexible = true } };
	struct cli_table *table;
	const char *key;
	json_t *value;
	int rc = cli_table_new(cli, columns, 2, &table);

	if (rc)
		return rc;
	json_object_foreach(json, key, value)
	{
		bool empty = json_is_null(value) || json_is_false(value) ||
			     (json_is_array(value) && json_array_size(value) == 0) ||
			     (json_is_object(value) && json_object_size(value) == 0);

		if (empty || strcmp(key, "warnings") == 0)
			continue;
		cli_table_add(table, "%s", key);
		add_value(table, key, value);
	}
	return cli_table_print(table);
}

static int read_job(struct cli *cli, const struct parse_conf *conf, char **operands,
		    size_t operand_count, struct strata_sbatch *ret_job)
{
	int64_t now_ns = when_now_ns();
	struct strata_sbatch_input in = {
		.args = (const char *const *)operands,
		.arg_count = operand_count,
		.env = (const char *const *)environ,
		.nodes = conf->nodes,
		.now_ns = now_ns,
		.zone_seconds = when_zone(now_ns),
	};
	size_t script;
	bool wrap;
	int rc = strata_sbatch_find_script(in.args, in.arg_count, &script, &wrap, &cli->err);

	if (rc)
		return rc;
	if (!wrap) {
		in.script_name = script < operand_count ? operands[script] : NULL;
		rc = input_read(env_system(), in.script_name ? in.script_name : "-",
				STRATA_SCRIPT_BYTES_MAX, &cli->arena, &in.script, &in.script_length,
				&cli->err);
		if (rc)
			return rc;
	}
	return strata_sbatch_parse(&in, &cli->arena, ret_job, &cli->err);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	struct strata_sbatch job;
	json_t *json = NULL;
	int rc = read_job(cli, conf_any, operands, operand_count, &job);

	if (rc == 0 && !job.name)
		rc = strata_fail(&cli->err, -EINVAL,
				 "nothing to parse; expected a batch script or --wrap");
	if (rc == 0)
		rc = make_json(cli, &job, &json);
	if (rc)
		return rc;
	for (size_t i = 0; i < job.warning_count; i++)
		cli_note(cli, "%s", job.warnings[i]);
	if (cli->globals.json)
		return cli_print_json(cli, json);
	rc = print_table(cli, json);
	json_decref(json);
	return rc;
}

const struct cli_command cli_slurm_parse = {
	.name = "slurm parse",
	.operands = "[-- SBATCH-OPTION…] [FILE [ARG…]]",
	.summary = "show what a batch script asks for",
	.about = "Reads a script's #SBATCH lines, the SBATCH_* variables and options of sbatch "
		 "behind --, as sbatch does\n"
		 "(a later one wins), and prints the request. Without FILE the script is standard "
		 "input. What sbatch\n"
		 "refuses is refused; options that have no effect here are named in a warning.",
	.examples = "  strata slurm parse train.sh\n"
		    "  strata slurm parse --json -- --nodes=2 --time=1:00:00 train.sh\n"
		    "  strata slurm parse -- --gpus=4 --wrap 'python train.py'",
	.options = &parse_schema,
	.operands_max = -1,
	.run = run,
};
