/* strata watch: the queue, or one job, until it ends. */
#include "cli/watch.h"

static const struct strata_schema watch_schema = { "watch", NULL, sizeof(struct watch_conf),
						   watch_options };

static const struct watch_kind jobs = { .noun = "job",
					.collection = "queue",
					.rows = "jobs",
					.state = "state",
					.columns = job_columns,
					.column_count = &job_column_count,
					.say = job_print_sentence };

static int watch_jobs(struct cli *cli, const struct watch_conf *conf, char **operands, size_t count)
{
	struct follow follow = { .interval_ns = conf->interval_ns };
	int ignored, rc = job_expand(cli, operands, count, &follow.words, &follow.count);

	return rc ? rc : follow_jobs(cli, &follow, &ignored);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct watch_conf *conf = conf_any;

	if (operand_count)
		return watch_jobs(cli, conf, operands, operand_count);
	return watch_all(cli, &jobs, conf);
}

const struct cli_command cli_watch = {
	.name = "watch",
	.operands = "[ID…]",
	.summary = "watch the queue, or jobs until they end",
	.about = "Without ID, the queue is shown again and again; where the output is no terminal, "
		 "a line is printed\n"
		 "for each job whose state has changed.",
	.examples = "  strata watch\n"
		    "  strata watch 17\n"
		    "  strata watch 35_[1-4]",
	.options = &watch_schema,
	.operands_max = -1,
	.run = run,
};
