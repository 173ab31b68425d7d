/* The table of spec.h and the translation. */
#include "server/spec.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

#define OFFSET(field) offsetof(struct spec, field)

static const struct strata_choice bands[] = { { "low", STRATA_BAND_LOW,
						"when nobody else wants it" },
					      { "normal", STRATA_BAND_NORMAL, NULL },
					      { "high", STRATA_BAND_HIGH, "before all others" },
					      { 0 } };
static const struct strata_option word = { .type = STRATA_TEXT };

static const struct strata_option spec_options[] = {
	{ "name", STRATA_TEXT, OFFSET(name), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "what to call it; its program's or script's name when left out" },
	{ "command", STRATA_LIST, OFFSET(command), .list = { &word, 65536 },
	  .help = "program and arguments" },
	{ "script", STRATA_TEXT, OFFSET(script), .text = { NULL, STRATA_SCRIPT_BYTES_MAX },
	  .help = "a script, beginning with #!, instead of a command" },
	{ "script_name", STRATA_TEXT, OFFSET(script_name), .help = "the script's file name" },
	{ "working_dir", STRATA_TEXT, OFFSET(working_dir), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .help = "where it runs; the user's home when left out", .value = "DIR" },
	{ "environment", STRATA_MAP, OFFSET(environment), .list = { &word, 65536 },
	  .help = "its variables, to which the service adds its own" },
	{ "input", STRATA_TEXT, OFFSET(input), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .help = "file to read from", .value = "FILE" },
	{ "output", STRATA_TEXT, OFFSET(output), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .help = "file to write to (%j: id, %x: name, %u: user, %a: index); strata-%j.out when "
		  "left out",
	  .value = "FILE" },
	{ "error", STRATA_TEXT, OFFSET(error), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .help = "file for errors; with the output when left out", .value = "FILE" },
	{ "append", STRATA_BOOL, OFFSET(append), .help = "adds to files that are there" },
	{ "account", STRATA_TEXT, OFFSET(account), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .help = "who is charged; the user's own when left out" },
	{ "partition", STRATA_TEXT, OFFSET(partition), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .help = "part of the cluster" },
	{ "qos", STRATA_TEXT, OFFSET(qos), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .help = "quality of service" },
	{ "comment", STRATA_TEXT, OFFSET(comment), .text = { NULL, 1024 }, .help = "a note" },
	{ "priority", STRATA_ENUM, OFFSET(priority), .choice = { bands, STRATA_BAND_NORMAL },
	  .help = "band" },
	{ "nice", STRATA_INT, OFFSET(nice), .integer = { 0, -2147483645, 2147483645 },
	  .help = "later among equals, the higher it is" },
	{ "tasks", STRATA_INT, OFFSET(tasks), .integer = { 1, 1, 1000000 },
	  .help = "processes, none of which spans nodes" },
	{ "nodes", STRATA_INT, OFFSET(nodes), .integer = { 0, 0, 1000000 },
	  .help = "exactly so many; as few as will do when 0" },
	{ "cpus_per_task", STRATA_REAL, OFFSET(cpus_per_task), .real = { 1, 0, 4096 },
	  .help = "cores", .aliases = "cpus" },
	{ "memory", STRATA_BYTES, OFFSET(memory_bytes), .help = "of every node" },
	{ "memory_per_task", STRATA_BYTES, OFFSET(memory_per_task_bytes), .help = "of every task" },
	{ "gpus", STRATA_INT, OFFSET(gpus), .integer = { 0, 0, 100000 },
	  .help = "of the whole job" },
	{ "gpus_per_node", STRATA_INT, OFFSET(gpus_per_node),
	  .integer = { 0, 0, STRATA_NODE_GPUS_MAX }, .help = "of every node" },
	{ "gpus_per_task", STRATA_INT, OFFSET(gpus_per_task),
	  .integer = { 0, 0, STRATA_NODE_GPUS_MAX }, .help = "of every task" },
	{ "gpu_share", STRATA_REAL, OFFSET(gpu_share), .real = { 0, 0, 0.999 },
	  .help = "a part of one GPU" },
	{ "gpu_type", STRATA_TEXT, OFFSET(gpu_type), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "a100, or a100|h100" },
	{ "features", STRATA_TEXT, OFFSET(features), .text = { NULL, 1024 },
	  .help = "that its nodes must have", .aliases = "constraint" },
	{ "node_list", STRATA_TEXT, OFFSET(node_list), .text = { NULL, 65536 },
	  .help = "only these nodes" },
	{ "node_exclude", STRATA_TEXT, OFFSET(node_exclude), .text = { NULL, 65536 },
	  .help = "not these nodes", .aliases = "exclude" },
	{ "exclusive", STRATA_BOOL, OFFSET(exclusive), .help = "whole nodes" },
	{ "time_limit", STRATA_DURATION, OFFSET(time_limit_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "it is stopped after that", .aliases = "time" },
	{ "begin", STRATA_TIME, OFFSET(begin_ns), .help = "not before" },
	{ "hold", STRATA_BOOL, OFFSET(hold), .help = "waits to be released" },
	{ "requeue", STRATA_BOOL, OFFSET(requeue), .boolean = true,
	  .help = "starts again when its node fails" },
	{ "preemptible", STRATA_BOOL, OFFSET(preemptible),
	  .help = "may be stopped for a more urgent job" },
	{ "checkpoint", STRATA_DURATION, OFFSET(checkpoint_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "it is asked for a checkpoint so often" },
	{ "array", STRATA_TEXT, OFFSET(array), .text = { NULL, 65536 },
	  .help = "many of it: 1-100%8" },
	{ "dependencies", STRATA_TEXT, OFFSET(dependencies), .text = { NULL, 65536 },
	  .help = "what it waits for: afterok:12,after:13", .aliases = "dependency" },
	{ "cancel_if_never", STRATA_BOOL, OFFSET(cancel_if_never),
	  .help = "cancelled once its dependencies cannot be met" },
	{ "gang", STRATA_TEXT, OFFSET(gang), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "jobs of a gang start together" },
	{ "gang_size", STRATA_INT, OFFSET(gang_size), .integer = { 0, 0, STRATA_GANG_SIZE_MAX },
	  .help = "how many they are" },
	{ "request_key", STRATA_TEXT, OFFSET(request_key), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "the same key twice is one submission" },
	{ 0 }
};

const struct strata_schema spec_schema = {
	.name = "job",
	.summary = "what a job asks for",
	.conf_size = sizeof(struct spec),
	.options = spec_options,
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *spec_name(const struct spec *spec)
{
	if (spec->name && *spec->name)
		return spec->name;
	if (spec->script)
		return spec->script_name && *spec->script_name ? last_part(spec->script_name)
							       : "script";
	return last_part(*(const char *const *)spec->command.items);
}

static int check_program(const struct spec *spec, struct strata_error *err)
{
	if (spec->script && spec->command.count)
		return strata_fail_at(err, -EINVAL, "script",
				      "there is a command and a script; expected one of them");
	if (!spec->script && !spec->command.count)
		return strata_fail_at(err, -EINVAL, "command",
				      "there is nothing to run; expected a command or a script");
	if (spec->script && strncmp(spec->script, "#!", 2) != 0)
		return strata_fail_at(err, -EINVAL, "script",
				      "the script does not begin with #!, as in #!/bin/sh");
	if (!spec->script && !**(const char *const *)spec->command.items)
		return strata_fail_at(err, -EINVAL, "command", "the program has no name");
	if (spec->working_dir && *spec->working_dir != '/')
		return strata_fail_at(err, -EINVAL, "working_dir",
				      "working_dir is '%.80s'; expected an absolute path",
				      spec->working_dir);
	return 0;
}

/* GPUs of the whole job, spread over its nodes or tasks. */
static int spread_gpus(const struct spec *spec, const struct spec_rules *rules,
		       struct strata_job_request *request, struct strata_error *err)
{
	int64_t gpus = spec->gpus, tasks = spec->tasks, nodes = spec->nodes;

	if (tasks > 1 && gpus % tasks == 0) {
		request->gpus = (uint32_t)(gpus / tasks);
		return 0;
	}
	if (nodes == 0) { /* one task that needs more than a node has takes several */
		nodes = rules->gpus_max ? (gpus + rules->gpus_max - 1) / rules->gpus_max : 1;
		while (gpus % nodes)
			nodes++;
	}
	if (gpus % nodes)
		return strata_fail_at(err, -EINVAL, "gpus",
				      "gpus is %lld; expected a multiple of nodes (%lld)",
				      (long long)gpus, (long long)nodes);
	request->nodes = (uint32_t)nodes;
	request->tasks = (uint32_t)(tasks > nodes ? tasks : nodes);
	request->gpus_per_node = (uint32_t)(gpus / nodes);
	return 0;
}

static int fill_gpus(const struct spec *spec, const struct spec_rules *rules,
		     struct strata_job_request *request, struct strata_error *err)
{
	int ways = (spec->gpus > 0) + (spec->gpus_per_node > 0) + (spec->gpus_per_task > 0) +
		   (spec->gpu_share > 0);

	if (ways > 1)
		return strata_fail_at(
			err, -EINVAL, "gpus",
			"expected one of gpus, gpus_per_node, gpus_per_task and gpu_share");
	request->gpus = (uint32_t)spec->gpus_per_task;
	request->gpu_milli = (uint32_t)(spec->gpu_share * 1000 + 0.5);
	if (spec->gpu_share > 0 && request->gpu_milli == 0)
		request->gpu_milli = 1;
	if (spec->gpus_per_node) {
		request->gpus_per_node = (uint32_t)spec->gpus_per_node;
		request->nodes = (uint32_t)(spec->nodes ? spec->nodes : 1);
	}
	return spec->gpus ? spread_gpus(spec, rules, request, err) : 0;
}

static int fill_memory(const struct spec *spec, struct strata_job_request *request,
		       struct strata_error *err)
{
	if (spec->memory_bytes && spec->memory_per_task_bytes)
		return strata_fail_at(err, -EINVAL, "memory",
				      "expected one of memory and memory_per_task");
	request->memory_bytes = spec->memory_per_task_bytes;
	if (!spec->memory_bytes)
		return 0;
	/* of every node: how many that are must be known, unless one task is on one */
	if (request->nodes == 0 && request->tasks == 1) {
		request->memory_bytes = spec->memory_bytes;
		return 0;
	}
	if (request->nodes == 0)
		request->nodes = 1;
	request->memory_per_node_bytes = spec->memory_bytes;
	return 0;
}

int spec_request(const struct spec *spec, const struct spec_rules *rules,
		 struct strata_job_request *ret_request, struct strata_error *err)
{
	int rc = check_program(spec, err);

	if (rc)
		return rc;
	struct strata_job_request request = {
		.account = spec->account,
		.partition = spec->partition,
		.qos = spec->qos,
		.name = spec_name(spec),
		.band = (enum strata_band)spec->priority,
		.priority = -spec->nice,
		.tasks = (uint32_t)spec->tasks,
		.nodes = (uint32_t)spec->nodes,
		.cpu_milli = (int64_t)(spec->cpus_per_task * 1000 + 0.5),
		.gpu_type = spec->gpu_type,
		.features = spec->features,
		.node_list = spec->node_list,
		.node_exclude = spec->node_exclude,
		.exclusive = spec->exclusive,
		.time_limit_ns = spec->time_limit_ns ? spec->time_limit_ns : rules->time_limit_ns,
		.begin_ns = spec->begin_ns,
		.held = spec->hold,
		.requeue = spec->requeue,
		.preemptible = spec->preemptible,
		.checkpoint_ns = spec->checkpoint_ns,
		.cancel_if_never = spec->cancel_if_never,
	};

	if (spec->nodes > spec->tasks)
		request.tasks = (uint32_t)spec->nodes; /* one on each, as people expect */
	rc = fill_gpus(spec, rules, &request, err);
	if (rc == 0)
		rc = fill_memory(spec, &request, err);
	if (rc == 0 && request.time_limit_ns > rules->time_limit_ns_max)
		rc = strata_fail_at(err, -EINVAL, "time_limit",
				    "time_limit is %lld s; expected at most %lld",
				    (long long)(request.time_limit_ns / 1000000000),
				    (long long)(rules->time_limit_ns_max / 1000000000));
	if (rc == 0 && (spec->gang != NULL) != (spec->gang_size > 0))
		rc = strata_fail_at(err, -EINVAL, "gang_size", "gang and gang_size go together");
	if (rc == 0)
		*ret_request = request;
	return rc;
}
