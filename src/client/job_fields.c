/* The table of job_fields.h, and the body that flags make. */
#include "client/job_fields.h"

#include "core/text.h"

#include <strata/limits.h>
#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

#define OFFSET(field) offsetof(struct job_fields, field)

enum { COUNT_MAX = 1000000, VARIABLE_NAME_BYTES = 1024 };

static const struct strata_choice bands[] = { { "low", 0, "when nobody else wants it" },
					      { "normal", 1, NULL },
					      { "high", 2, "before the others" },
					      { 0 } };
static const struct strata_option word = { .type = STRATA_TEXT };

static const struct strata_option options[] = {
	{ "name", STRATA_TEXT, OFFSET(name), .letter = 'J', .aliases = "job_name",
	  .help = "what to call it; its program's name when left out" },
	{ "gpus", STRATA_INT, OFFSET(gpus), .integer = { 0, 0, COUNT_MAX }, .letter = 'G',
	  .help = "GPUs of the whole job" },
	{ "gpus_per_node", STRATA_INT, OFFSET(gpus_per_node), .integer = { 0, 0, COUNT_MAX },
	  .help = "GPUs of every node" },
	{ "gpus_per_task", STRATA_INT, OFFSET(gpus_per_task), .integer = { 0, 0, COUNT_MAX },
	  .help = "GPUs of every task" },
	{ "gpu_share", STRATA_REAL, OFFSET(gpu_share), .real = { 0, 0, 0.999 },
	  .help = "a part of one GPU" },
	{ "gpu_type", STRATA_TEXT, OFFSET(gpu_type), .value = "TYPE",
	  .help = "a100, or a100|h100" },
	{ "tasks", STRATA_INT, OFFSET(tasks), .integer = { 1, 1, COUNT_MAX }, .letter = 'n',
	  .aliases = "ntasks", .help = "processes" },
	{ "nodes", STRATA_INT, OFFSET(nodes), .integer = { 0, 0, COUNT_MAX }, .letter = 'N',
	  .help = "exactly so many; as few as will do when 0" },
	{ "cpus_per_task", STRATA_REAL, OFFSET(cpus_per_task), .real = { 1, 0, 4096 },
	  .letter = 'c', .aliases = "cpus", .help = "cores of every task" },
	{ "memory", STRATA_BYTES, OFFSET(memory_bytes), .letter = 'm', .aliases = "mem",
	  .help = "of every node" },
	{ "memory_per_task", STRATA_BYTES, OFFSET(memory_per_task_bytes), .help = "of every task" },
	{ "time_limit", STRATA_DURATION, OFFSET(time_limit_ns), .letter = 't', .aliases = "time",
	  .help = "it is stopped after that" },
	{ "priority", STRATA_ENUM, OFFSET(priority), .choice = { bands, 1 }, .help = "band" },
	{ "nice", STRATA_INT, OFFSET(nice), .integer = { 0, -2147483645, 2147483645 },
	  .help = "later among equals, the higher it is" },
	{ "account", STRATA_TEXT, OFFSET(account), .letter = 'A', .help = "who is charged" },
	{ "partition", STRATA_TEXT, OFFSET(partition), .letter = 'p',
	  .help = "part of the cluster" },
	{ "qos", STRATA_TEXT, OFFSET(qos), .letter = 'q', .help = "quality of service" },
	{ "array", STRATA_TEXT, OFFSET(array), .letter = 'a', .value = "RANGE",
	  .help = "many of it: 1-100%8" },
	{ "dependencies", STRATA_TEXT, OFFSET(dependencies), .letter = 'd', .value = "LIST",
	  .aliases = "dependency, after", .help = "what it waits for: afterok:12,after:13" },
	{ "cancel_if_never", STRATA_BOOL, OFFSET(cancel_if_never),
	  .help = "cancelled once its dependencies cannot be met" },
	{ "begin", STRATA_TEXT, OFFSET(begin), .letter = 'b', .value = "TIME",
	  .help = "not before: 16:00, tomorrow, now+2h" },
	{ "hold", STRATA_BOOL, OFFSET(hold), .letter = 'H', .help = "waits to be released" },
	{ "requeue", STRATA_BOOL, OFFSET(requeue), .boolean = true,
	  .help = "starts again when its node fails" },
	{ "preemptible", STRATA_BOOL, OFFSET(preemptible),
	  .help = "may be stopped for a more urgent job" },
	{ "checkpoint", STRATA_DURATION, OFFSET(checkpoint_ns),
	  .help = "it is asked for a checkpoint so often" },
	{ "gang", STRATA_TEXT, OFFSET(gang), .help = "jobs of a gang start together" },
	{ "gang_size", STRATA_INT, OFFSET(gang_size), .integer = { 0, 0, STRATA_GANG_SIZE_MAX },
	  .help = "how many they are" },
	{ "features", STRATA_TEXT, OFFSET(features), .letter = 'C', .aliases = "constraint",
	  .help = "that its nodes must have" },
	{ "node_list", STRATA_TEXT, OFFSET(node_list), .letter = 'w', .value = "HOSTS",
	  .aliases = "nodelist", .help = "only these nodes" },
	{ "node_exclude", STRATA_TEXT, OFFSET(node_exclude), .letter = 'x', .value = "HOSTS",
	  .aliases = "exclude", .help = "not these nodes" },
	{ "exclusive", STRATA_BOOL, OFFSET(exclusive), .help = "whole nodes" },
	{ "working_dir", STRATA_TEXT, OFFSET(working_dir), .letter = 'D', .value = "DIR",
	  .aliases = "chdir", .help = "where it runs; here when left out" },
	{ "environment", STRATA_MAP, OFFSET(environment), .list = { &word }, .aliases = "env",
	  .help = "variables beside those of here: A=1,B=2" },
	{ "input", STRATA_TEXT, OFFSET(input), .letter = 'i', .value = "FILE",
	  .help = "file to read from" },
	{ "output", STRATA_TEXT, OFFSET(output), .letter = 'o', .value = "FILE",
	  .help = "file to write to (%j: id, %x: name, %u: user, %a: index)" },
	{ "error", STRATA_TEXT, OFFSET(error), .letter = 'e', .value = "FILE",
	  .help = "file for errors; with the output when left out" },
	{ "append", STRATA_BOOL, OFFSET(append), .help = "add to files that are there" },
	{ "comment", STRATA_TEXT, OFFSET(comment), .help = "a note" },
	/* from here on the command's own */
	{ "wait", STRATA_BOOL, OFFSET(wait), .letter = 'W',
	  .help = "wait until it ends, and end as it did" },
	{ "quiet", STRATA_BOOL, OFFSET(quiet), .help = "print the id and nothing else" },
	{ "interval", STRATA_DURATION, OFFSET(interval_ns),
	  .integer = { STRATA_SECOND_NS, STRATA_MS_NS, STRATA_HOUR_NS },
	  .help = "how often --wait looks" },
	{ 0 }
};

const struct strata_schema job_fields_schema = { "submit", NULL, sizeof(struct job_fields),
						 options };

/* Of each line at most one may be in a body. */
static const char *const alternatives[][4] = {
	{ "gpus", "gpus_per_node", "gpus_per_task", "gpu_share" },
	{ "memory", "memory_per_task" },
};

static void drop_alternatives(json_t *body, const char *name)
{
	for (size_t i = 0; i < sizeof(alternatives) / sizeof(alternatives[0]); i++) {
		bool among = false;

		for (size_t j = 0; j < 4 && alternatives[i][j]; j++)
			among |= strcmp(alternatives[i][j], name) == 0;
		for (size_t j = 0; among && j < 4 && alternatives[i][j]; j++)
			json_object_del(body, alternatives[i][j]);
	}
}

static int begin_json(const char *text, const struct job_caller *caller, json_t **ret_json,
		      struct strata_error *err)
{
	char printed[STRATA_FORM_BYTES];
	int64_t ns;
	int rc = strata_begin_parse(text, STRATA_TEXT_NUL, caller->now_ns, caller->zone_seconds,
				    &ns, err);

	if (rc)
		return strata_fail_under(err, rc, "begin");
	*ret_json = json_string(strata_time_print(ns, printed));
	return *ret_json ? 0 : strata_fail_memory(err);
}

/* Flags may name the directory from here; the service knows no here. */
static int working_dir_json(const char *path, const struct job_caller *caller, json_t **ret_json,
			    struct strata_error *err)
{
	*ret_json = *path == '/' ? json_string(path)
				 : json_sprintf("%s/%s", caller->working_dir, path);
	return *ret_json ? 0 : strata_fail_memory(err);
}

static int field_json(const struct job_fields *fields, const struct strata_option *option,
		      const struct job_caller *caller, json_t **ret_json, struct strata_error *err)
{
	const void *slot = (const char *)fields + option->offset;

	if (option->offset == OFFSET(begin))
		return begin_json(fields->begin, caller, ret_json, err);
	if (option->offset == OFFSET(working_dir))
		return working_dir_json(fields->working_dir, caller, ret_json, err);
	*ret_json = option_value_json(option, slot);
	return *ret_json ? 0 : strata_fail_memory(err);
}

int job_fields_add(const struct job_fields *fields, const struct origins *given,
		   const struct job_caller *caller, json_t *body, struct strata_error *err)
{
	/* in two rounds, so that two flags of one line of alternatives are both sent, and refused */
	for (const struct strata_option *option = options; option->name; option++)
		if (origins_find(given, option->name))
			drop_alternatives(body, option->name);
	for (const struct strata_option *option = options; option->name; option++) {
		json_t *value;

		if (option->offset >= OFFSET(wait) || option->offset == OFFSET(environment) ||
		    !origins_find(given, option->name))
			continue;
		int rc = field_json(fields, option, caller, &value, err);

		if (rc)
			return rc;
		if (json_object_set_new(body, option->name, value))
			return strata_fail_memory(err);
	}
	return 0;
}

/* Sets NAME=value. -EINVAL: it cannot be sent. */
static int set_variable(json_t *map, const char *name, size_t length, const char *value)
{
	char key[VARIABLE_NAME_BYTES];

	if (length >= sizeof(key) || !text_valid(name, length) || !text_valid(value, strlen(value)))
		return -EINVAL;
	memcpy(key, name, length);
	key[length] = '\0';
	return json_object_set_new(map, key, json_string(value)) ? -ENOMEM : 0;
}

/* Everything but the client's token, which is nobody else's business. */
static int add_environment(json_t *map, const char *const *env, size_t *ret_skipped)
{
	size_t skipped = 0;

	for (; *env; env++) {
		size_t length = strcspn(*env, "=");

		if (!(*env)[length] || length == 0 || strncmp(*env, "STRATA_TOKEN=", 13) == 0)
			continue;
		int rc = set_variable(map, *env, length, *env + length + 1);

		if (rc == -ENOMEM)
			return rc;
		skipped += rc != 0;
	}
	*ret_skipped = skipped;
	return 0;
}

int job_fields_add_caller(const struct job_fields *fields, const struct job_caller *caller,
			  json_t *body, size_t *ret_skipped, struct strata_error *err)
{
	const struct strata_map *own = &fields->environment;
	const char *here = caller->working_dir, *const *values = own->items;
	size_t skipped = 0;

	if (!json_object_get(body, "working_dir")) {
		if (!text_valid(here, strlen(here)))
			return strata_fail(err, -EINVAL,
					   "the name of this directory is not valid UTF-8");
		if (json_object_set_new(body, "working_dir", json_string(here)))
			return strata_fail_memory(err);
	}
	json_t *map = json_object_get(body, "environment");

	if (!map) {
		map = json_object();
		if (json_object_set_new(body, "environment", map) ||
		    add_environment(map, caller->env, &skipped))
			return strata_fail_memory(err);
	}
	for (size_t i = 0; i < own->count; i++)
		if (set_variable(map, own->keys[i], strlen(own->keys[i]), values[i]))
			return strata_fail_memory(err);
	*ret_skipped = skipped;
	return 0;
}
