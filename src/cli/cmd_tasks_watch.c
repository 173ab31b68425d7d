/* strata tasks watch: the generation tasks that wait or are being drawn, or some until they end. */
#include "cli/task.h"
#include "cli/watch.h"

static const struct strata_schema tasks_watch_schema = { "tasks watch", NULL,
							 sizeof(struct watch_conf), watch_options };

static int say(struct cli *cli, const char *id, const json_t *task)
{
	(void)id;
	task_sentence(task, when_now_ns(), &cli->out);
	cli_print(cli, "\n");
	return 0;
}

static const struct watch_kind tasks = { .noun = "task",
					 .collection = "tasks",
					 .rows = "tasks",
					 .state = "status",
					 .only = "pending,encoding,denoising,decoding",
					 .columns = task_columns,
					 .column_count = &task_column_count,
					 .say = say };

static int watch_one(struct cli *cli, const char *word)
{
	const char *id;
	json_t *task;
	int rc = task_id(cli, word, &id);

	if (rc == 0)
		rc = task_follow(cli, id, NULL, &task);
	if (rc || service_printed(cli, task, &rc))
		return rc;
	rc = say(cli, id, task);
	json_decref(task);
	return rc;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	int rc = 0;

	if (operand_count == 0)
		return watch_all(cli, &tasks, conf);
	for (size_t i = 0; rc == 0 && i < operand_count; i++)
		rc = watch_one(cli, operands[i]);
	return rc;
}

const struct cli_command cli_tasks_watch = {
	.name = "tasks watch",
	.operands = "[ID…]",
	.summary = "watch generation tasks, or some of them until they end",
	.about = "Without ID, those that wait or are being drawn are shown again and again; where "
		 "the output is no\n"
		 "terminal, a line is printed for each whose status has changed.",
	.examples = "  strata tasks watch --me\n"
		    "  strata tasks watch T17",
	.options = &tasks_watch_schema,
	.operands_max = -1,
	.run = run,
};
