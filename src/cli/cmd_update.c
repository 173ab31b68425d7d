/* strata update: what jobs ask for becomes another. The flags are those of submit. */
#include "cli/service.h"

#include "formats/job_spec.h"

#include <strata/limits.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct update_conf {
	int64_t throttle;
};
static const struct strata_option update_options[] = {
	{ "throttle", STRATA_INT, offsetof(struct update_conf, throttle),
	  .integer = { 0, 0, STRATA_ARRAY_INDEX_MAX + 1 },
	  .help = "so many elements of the array run at a time; 0: any number" },
	{ 0 }
};
static const struct strata_schema update_schema = { "update", NULL, sizeof(struct update_conf),
						    update_options };

/* A text that is taken away, as in --comment ''. */
static void empty_is_none(json_t *body)
{
	const char *key;
	json_t *value;

	json_object_foreach(body, key, value)
	{
		if (json_is_string(value) && json_string_length(value) == 0)
			json_object_set_new(body, key, json_null());
	}
}

/* The answer is the JOB of one element, which says little of the array. */
static int print_throttle(struct cli *cli, const char *id, const json_t *job)
{
	int64_t array = grid_int(job, "array_id"), limit = grid_int(job, "array_throttle");

	(void)id;
	if (limit > 0)
		cli_printf(cli, "array %" PRId64 ": at most %" PRId64 " run%s at a time\n", array,
			   limit, limit == 1 ? "s" : "");
	else
		cli_printf(cli, "array %" PRId64 ": any number run at a time\n", array);
	return 0;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct update_conf *conf = conf_any;
	int64_t now_ns = when_now_ns();
	struct job_caller caller = { .now_ns = now_ns, .zone_seconds = when_zone(now_ns) };
	json_t *body = json_object();
	int rc = body ? job_fields_add(cli->shared, &cli->given, &caller, body, &cli->err)
		      : strata_fail_memory(&cli->err);

	if (rc == 0 && origins_find(&cli->given, "throttle"))
		json_object_set_new(body, "array_throttle", json_integer(conf->throttle));
	if (rc == 0 && json_object_size(body) == 0)
		rc = strata_fail(&cli->err, -EINVAL,
				 "nothing is to change; expected flags of `strata submit`, as in "
				 "--gpus 2");
	if (rc) {
		json_decref(body);
		return rc;
	}
	empty_is_none(body);
	return job_change_by(cli, operands, operand_count, body,
			     json_object_get(body, "array_throttle") ? print_throttle
								     : job_print_changed);
}

const struct cli_command cli_update = {
	.name = "update",
	.operands = "ID…",
	.summary = "change what jobs ask for",
	.about =
		"Of a job that waits: name, comment, account, partition, qos, everything about "
		"nodes, tasks, cores,\n"
		"memory and GPUs, dependencies, begin, nice, priority and time limit; it keeps its "
		"place in the queue.\n"
		"Of one that runs: its time limit and comment. '' takes a text away. What no node "
		"could take is refused.\n"
		"The number of an array is all of it that waits, 17_3 and 17_[3-9] are elements;\n"
		"--throttle is of the whole array.",
	.examples = "  strata update 17 --gpus 2 --time 4h\n"
		    "  strata update 40_[3-9] --partition long\n"
		    "  strata update 18 --dependency afterok:17",
	.options = &update_schema,
	.shared = &job_spec_schema,
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
