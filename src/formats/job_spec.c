/* The table of job_spec.h. A row is a field of the API and a flag of `strata submit` alike, so its help must do for both. */
#include "formats/job_spec.h"

#include "core/text.h"

#include <strata/cluster.h>
#include <strata/limits.h>
#include <strata/sbatch.h>

#include <string.h>

#define OFFSET(field) offsetof(struct job_spec, field)

static const struct strata_choice bands[] = { { "low", STRATA_BAND_LOW,
						"when nobody else wants it" },
					      { "normal", STRATA_BAND_NORMAL, NULL },
					      { "high", STRATA_BAND_HIGH, "before all others" },
					      { 0 } };
static const struct strata_option word = { .type = STRATA_TEXT, .flags = STRATA_OPAQUE };
static const struct strata_option note = { .type = STRATA_TEXT,
					   .text = { NULL, STRATA_SLURM_NOTE_BYTES_MAX } };

static const struct strata_option options[] = {
	{ "name", STRATA_TEXT, OFFSET(name), .text = { NULL, STRATA_NAME_BYTES_MAX }, .letter = 'J',
	  .aliases = "job_name",
	  .help = "what to call it; its program's or script's name when left out" },
	{ "command", STRATA_LIST, OFFSET(command), .list = { &word, 65536 }, .flags = STRATA_HIDDEN,
	  .help = "program and arguments; found on the job's PATH" },
	{ "script", STRATA_TEXT, OFFSET(script), .text = { NULL, STRATA_SCRIPT_BYTES_MAX },
	  .flags = STRATA_HIDDEN | STRATA_OPAQUE,
	  .help = "a script, beginning with #!, instead of a command" },
	{ "script_name", STRATA_TEXT, OFFSET(script_name), .flags = STRATA_HIDDEN,
	  .help = "the script's file name" },
	{ "arguments", STRATA_LIST, OFFSET(arguments), .list = { &word, 65536 },
	  .flags = STRATA_HIDDEN, .help = "arguments of the script" },
	{ "gpus", STRATA_INT, OFFSET(gpus), .integer = { 0, 0, 100000 }, .letter = 'G',
	  .help = "GPUs of the whole job" },
	{ "gpus_per_node", STRATA_INT, OFFSET(gpus_per_node),
	  .integer = { 0, 0, STRATA_NODE_GPUS_MAX }, .help = "GPUs of every node" },
	{ "gpus_per_task", STRATA_INT, OFFSET(gpus_per_task),
	  .integer = { 0, 0, STRATA_NODE_GPUS_MAX }, .help = "GPUs of every task" },
	{ "gpu_share", STRATA_REAL, OFFSET(gpu_share), .real = { 0, 0, 0.999 },
	  .help = "a part of one GPU" },
	{ "gpu_type", STRATA_TEXT, OFFSET(gpu_type), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .value = "TYPE", .help = "a100, or a100|h100" },
	{ "tasks", STRATA_INT, OFFSET(tasks), .integer = { 1, 1, 1000000 }, .letter = 'n',
	  .aliases = "ntasks", .help = "processes, none of which spans nodes" },
	{ "nodes", STRATA_INT, OFFSET(nodes), .integer = { 0, 0, 1000000 }, .letter = 'N',
	  .help = "exactly so many; as few as will do when 0" },
	{ "cpus_per_task", STRATA_REAL, OFFSET(cpus_per_task), .real = { 1, 0, 4096 },
	  .letter = 'c', .aliases = "cpus", .help = "cores of every task" },
	{ "memory", STRATA_BYTES, OFFSET(memory_bytes), .letter = 'm', .aliases = "mem",
	  .help = "of every node" },
	{ "memory_per_task", STRATA_BYTES, OFFSET(memory_per_task_bytes), .help = "of every task" },
	{ "time_limit", STRATA_DURATION, OFFSET(time_limit_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s", .letter = 't',
	  .aliases = "time", .flags = STRATA_UNLIMITED,
	  .help = "it is stopped after that; unlimited: the longest that is allowed" },
	{ "priority", STRATA_ENUM, OFFSET(priority), .choice = { bands, STRATA_BAND_NORMAL },
	  .help = "band" },
	{ "nice", STRATA_INT, OFFSET(nice), .integer = { 0, -2147483645, 2147483645 },
	  .help = "later among equals, the higher it is" },
	{ "fine_priority", STRATA_INT, OFFSET(fine_priority),
	  .integer = { -1, -1, STRATA_SBATCH_PRIORITY_TOP },
	  .help = "within the band, instead of nice: higher goes first (-1: as usual). Only "
		  "operators "
		  "get more than usual" },
	{ "account", STRATA_TEXT, OFFSET(account), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .letter = 'A', .help = "who is charged; the user's own when left out" },
	{ "partition", STRATA_TEXT, OFFSET(partition), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .letter = 'p', .help = "part of the cluster" },
	{ "qos", STRATA_TEXT, OFFSET(qos), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .letter = 'q', .help = "quality of service" },
	{ "array", STRATA_TEXT, OFFSET(array), .text = { NULL, 65536 }, .letter = 'a',
	  .value = "RANGE", .help = "many of it: 1-100%8" },
	{ "dependencies", STRATA_TEXT, OFFSET(dependencies), .text = { NULL, 65536 }, .letter = 'd',
	  .value = "LIST", .aliases = "dependency, after",
	  .help = "what it waits for: afterok:12,after:13" },
	{ "cancel_if_never", STRATA_BOOL, OFFSET(cancel_if_never),
	  .help = "cancelled once its dependencies cannot be met" },
	{ "begin", STRATA_TEXT, OFFSET(begin), .text = { NULL, 100 }, .letter = 'b',
	  .value = "TIME", .help = "not before: 2027-01-31T16:00Z, 16:00, tomorrow, now+2h" },
	{ "deadline", STRATA_TEXT, OFFSET(deadline), .text = { NULL, 100 }, .value = "TIME",
	  .help = "cancelled while it waits once it cannot end by then: 18:00, now+2h" },
	{ "hold", STRATA_BOOL, OFFSET(hold), .letter = 'H', .help = "waits to be released" },
	{ "queue_anyway", STRATA_BOOL, OFFSET(queue_anyway),
	  .help = "waits even if no node could take it today; it is refused otherwise" },
	{ "held_by", STRATA_TEXT, OFFSET(held_by), .text = { NULL, 16 }, .flags = STRATA_HIDDEN,
	  .help = "who held it later: its owner or an operator" },
	{ "requeue", STRATA_BOOL, OFFSET(requeue), .boolean = true,
	  .help = "starts again when its node fails" },
	{ "preemptible", STRATA_BOOL, OFFSET(preemptible),
	  .help = "may be stopped for a more urgent job" },
	{ "checkpoint", STRATA_DURATION, OFFSET(checkpoint_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "it is asked for a checkpoint so often" },
	{ "signal", STRATA_TEXT, OFFSET(signal), .text = { NULL, 40 }, .value = "SIGNAL",
	  .help = "sent before the time limit: USR1@60 to what srun started, B:USR1@60 to the "
		  "script" },
	{ "gang", STRATA_TEXT, OFFSET(gang), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "jobs of a gang start together" },
	{ "gang_size", STRATA_INT, OFFSET(gang_size), .integer = { 0, 0, STRATA_GANG_SIZE_MAX },
	  .help = "how many they are" },
	{ "features", STRATA_TEXT, OFFSET(features), .text = { NULL, 1024 }, .letter = 'C',
	  .aliases = "constraint", .help = "that its nodes must have" },
	{ "node_list", STRATA_TEXT, OFFSET(node_list), .text = { NULL, 65536 }, .letter = 'w',
	  .value = "HOSTS", .aliases = "nodelist", .help = "only these nodes" },
	{ "node_exclude", STRATA_TEXT, OFFSET(node_exclude), .text = { NULL, 65536 }, .letter = 'x',
	  .value = "HOSTS", .aliases = "exclude", .help = "not these nodes" },
	{ "image", STRATA_TEXT, OFFSET(image), .text = { NULL, 1024 }, .value = "IMAGE",
	  .aliases = "container_image", .help = "container it runs in, where jobs run as pods" },
	{ "exclusive", STRATA_BOOL, OFFSET(exclusive), .help = "whole nodes" },
	{ "working_dir", STRATA_TEXT, OFFSET(working_dir), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .letter = 'D', .value = "DIR", .aliases = "chdir",
	  .help = "where it runs; of submit: here, else the user's home when left out" },
	{ "environment", STRATA_MAP, OFFSET(environment), .list = { &word, 65536 },
	  .aliases = "env",
	  .help = "its variables (of submit: beside those of here), to which the service adds its "
		  "own: A=1,B=2" },
	{ "input", STRATA_TEXT, OFFSET(input), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .letter = 'i', .value = "FILE", .help = "file to read from" },
	{ "output", STRATA_TEXT, OFFSET(output), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .letter = 'o', .value = "FILE",
	  .help = "file to write to (%j: id, %x: name, %u: user, %a: index); strata-%j.out when "
		  "left out" },
	{ "error", STRATA_TEXT, OFFSET(error), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .letter = 'e', .value = "FILE",
	  .help = "file for errors; with the output when left out" },
	{ "umask", STRATA_TEXT, OFFSET(umask), .text = { NULL, 4 }, .value = "MODE",
	  .help = "what its files are not allowed, in octal; of submit: that of here, else 022 "
		  "when "
		  "left out" },
	{ "append", STRATA_BOOL, OFFSET(append), .help = "adds to files that are there" },
	{ "comment", STRATA_TEXT, OFFSET(comment), .text = { NULL, 1024 }, .help = "a note" },
	{ "webhook", STRATA_TEXT, OFFSET(webhook), .text = { NULL, STRATA_WEBHOOK_URL_BYTES_MAX },
	  .value = "URL", .help = "hears how it ended: http://… or https://…" },
	{ "notify", STRATA_TEXT, OFFSET(notify), .text = { NULL, 100 }, .value = "EVENTS",
	  .help = "what is told by mail and webhook: begin, end, fail, requeue, all or none; the "
		  "end when left out" },
	{ "mail", STRATA_TEXT, OFFSET(mail), .text = { NULL, 254 }, .value = "ADDRESS",
	  .help = "where mail about it goes; the user's own address when left out" },
	{ "slurm", STRATA_MAP, OFFSET(slurm), .list = { &note, STRATA_SLURM_NOTE_COUNT_MAX },
	  .flags = STRATA_HIDDEN,
	  .help = "options of sbatch that decide nothing and that Slurm's commands show: wckey=x" },
	{ "request_key", STRATA_TEXT, OFFSET(request_key), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .flags = STRATA_HIDDEN, .help = "the same key twice is one submission" },
	{ 0 }
};

const struct strata_schema job_spec_schema = {
	.name = "job",
	.summary = "what a job asks for",
	.conf_size = sizeof(struct job_spec),
	.options = options,
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *job_spec_name(const struct job_spec *spec)
{
	if (spec->name && *spec->name)
		return spec->name;
	if (spec->script)
		return spec->script_name && *spec->script_name ? last_part(spec->script_name)
							       : "script";
	const char *program = last_part(*(const char *const *)spec->command.items);

	return text_printable(program, strlen(program)) == strlen(program) ? program : "command";
}

int job_spec_restore(const char *json, struct strata_arena *arena, struct job_spec *ret_spec,
		     struct strata_error *err)
{
	json_t *document;
	int rc = strata_schema_defaults(&job_spec_schema, arena, ret_spec, err);

	if (rc == 0)
		rc = option_load_json(json, strlen(json), &document, err);
	if (rc)
		return rc;
	rc = option_read_json(&job_spec_schema, document, OPTION_STORED, arena, ret_spec, err);
	json_decref(document);
	return rc;
}

bool job_spec_notify(const char *text, unsigned *ret_notify)
{
	static const struct {
		const char *name;
		unsigned bits;
	} words[] = { { "begin", JOB_NOTIFY_BEGIN },
		      { "end", JOB_NOTIFY_END },
		      { "fail", JOB_NOTIFY_FAIL },
		      { "requeue", JOB_NOTIFY_REQUEUE },
		      { "all", JOB_NOTIFY_BEGIN | JOB_NOTIFY_END | JOB_NOTIFY_REQUEUE },
		      { "none", 0 } };
	unsigned bits = text ? 0 : JOB_NOTIFY_END;

	while (text && *text) {
		size_t span = strcspn(text, ","), i = 0;

		while (i < sizeof(words) / sizeof(words[0]) &&
		       (strlen(words[i].name) != span || memcmp(words[i].name, text, span) != 0))
			i++;
		if (i == sizeof(words) / sizeof(words[0]))
			return false;
		bits |= words[i].bits;
		text += span + (text[span] != '\0');
	}
	*ret_notify = bits;
	return true;
}

bool job_spec_umask(const char *text, int64_t *ret_umask)
{
	size_t length = text ? strspn(text, "01234567") : 0;
	int64_t value = 0;

	if (!text) {
		*ret_umask = 022;
		return true;
	}
	if (length == 0 || length > 4 || text[length] || (length == 4 && text[0] != '0'))
		return false;
	for (; *text; text++)
		value = value * 8 + (*text - '0');
	*ret_umask = value;
	return true;
}

/* Of each line at most one may be in a body. */
static const char *const alternatives[][4] = {
	{ "gpus", "gpus_per_node", "gpus_per_task", "gpu_share" },
	{ "memory", "memory_per_task" },
};

void job_spec_drop_alternatives(json_t *body, const char *name)
{
	for (size_t i = 0; i < sizeof(alternatives) / sizeof(alternatives[0]); i++) {
		bool among = false;

		for (size_t j = 0; j < 4 && alternatives[i][j]; j++)
			among |= strcmp(alternatives[i][j], name) == 0;
		for (size_t j = 0; among && j < 4 && alternatives[i][j]; j++)
			json_object_del(body, alternatives[i][j]);
	}
}

json_t *job_spec_dir(const struct job_caller *caller, const char *path)
{
	return *path == '/' || !caller->working_dir
		       ? json_string(path)
		       : json_sprintf("%s/%s", caller->working_dir, path);
}
