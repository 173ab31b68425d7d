/* strata requeue: jobs start over. One that runs is sent back to the queue; one that has ended is
 * submitted again. */
#include "cli/service.h"

#include <errno.h>
#include <inttypes.h>

static int requeue(struct cli *cli, const char *id, const void *context, json_t **ret_json)
{
	struct strata_error first;
	struct buf path;

	(void)context;
	job_path(cli, &path, id);
	int rc = service_ask(cli, "PATCH", &path, json_pack("{s:b}", "requeue", 1), ret_json);

	if (rc != -ESTALE && rc != -ENOENT)
		return rc;
	first = cli->err;
	service_path(cli, &path, "jobs", id, "/resubmit");
	rc = service_ask(cli, "POST", &path, NULL, ret_json);
	if (rc == -ESTALE || rc == -ENOENT)
		cli->err = first; /* it has not ended: it waits, or is stopping */
	return rc;
}

static int print(struct cli *cli, const char *id, const json_t *json)
{
	if (json_object_get(json, "ids"))
		cli_printf(cli, "job %s has ended; it was submitted again as job %" PRId64 "\n", id,
			   grid_int(json, "id"));
	else
		job_print_changed(cli, id, json);
	return 0;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_each(cli, operands, operand_count, requeue, NULL, print);
}

const struct cli_command cli_requeue = {
	.name = "requeue",
	.operands = "ID…",
	.summary = "send jobs back to the queue, to start over",
	.about = "A running job is stopped and waits again, with its checkpoints. One that has "
		 "ended is submitted again\n"
		 "as it was, under a new number. The number of an array is all of it that runs, "
		 "17_3 and 17_[3-9] are\n"
		 "elements.",
	.examples = "  strata requeue 17\n"
		    "  strata requeue 40_[3-9]",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
