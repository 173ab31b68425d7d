/*
 * strata attach: to a job that somebody sits at, or sat at, another view of the same terminal; to
 * any other, what it writes. Neither ends the job by leaving.
 */
#include "cli/interactive.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct attach_conf {
	const char *detach_key;
};

static const struct strata_option attach_options[] = {
	{ "detach_key", STRATA_TEXT, offsetof(struct attach_conf, detach_key),
	  .text = { "ctrl-]", 16 }, .value = "KEY",
	  .help = "this and then d leaves the terminal; none: nothing does" },
	{ 0 }
};
static const struct strata_schema attach_schema = { "attach", NULL, sizeof(struct attach_conf),
						    attach_options };

static int get(struct cli *cli, const char *word, json_t **ret_job)
{
	struct buf path;

	service_path(cli, &path, "jobs", word, NULL);
	return service_get(cli, &path, ret_job);
}

static int visit(struct cli *cli, const struct attach_conf *conf, const json_t *job)
{
	struct interactive it = { .cli = cli,
				  .voice = &interactive_plain,
				  .held = -1,
				  .signals = -1,
				  .terminal = isatty(STDIN_FILENO) };
	int rc = console_keys_parse(conf->detach_key, &it.keys_prefix, &cli->err);

	if (rc == 0)
		rc = interactive_visit(&it, job);
	interactive_close(&it);
	return rc;
}

/* A job without a console: its output, as `strata logs` shows it. */
static int follow(struct cli *cli, char *word)
{
	size_t taken;
	const struct cli_command *logs =
		cli_command_find((char *[]){ (char[]){ "logs" } }, 1, &taken);
	void *conf = strata_arena_get(&cli->arena, logs->options->conf_size);
	struct args args = { .tables = { { logs->options, conf } } };
	char *words[] = { (char[]){ "--follow" } };
	json_t *job;

	if (!conf)
		return strata_fail_memory(&cli->err);
	int rc = strata_schema_defaults(logs->options, &cli->arena, conf, &cli->err);

	if (rc == 0)
		rc = option_read_args(&args, 1, words, &cli->arena, &cli->err);
	if (rc == 0) {
		cli_note(cli,
			 "job %s has no terminal; this is what it writes, and Ctrl-C leaves it "
			 "running",
			 word);
		rc = logs->run(cli, conf, &word, 1);
	}
	if (rc == 0)
		rc = get(cli, word, &job);
	if (rc)
		return rc;
	int code = job_ended(job) ? job_exit_code(job) : 0;

	json_decref(job);
	return code;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	json_t *job;
	int rc = get(cli, operands[0], &job);

	(void)operand_count;
	if (rc)
		return rc;
	if (job_ended(job))
		rc = strata_fail(&cli->err, -ECANCELED,
				 "job %s has ended; `strata show %s` tells how, `strata logs %s` "
				 "shows what it wrote",
				 operands[0], operands[0], operands[0]);
	else if (interactive_dir(cli, job))
		rc = visit(cli, conf, job);
	else
		rc = follow(cli, operands[0]);
	json_decref(job);
	return rc;
}

const struct cli_command cli_attach = {
	.name = "attach",
	.operands = "ID",
	.summary = "join the terminal or the output of a running job",
	.about = "To a job of `strata run`, `strata shell`, `salloc` or `srun`, whose terminal you "
		 "then share: keys\n"
		 "that are typed here go to it, too, and Ctrl-] and then d leaves. Any other job: "
		 "what it writes,\n"
		 "until it ends or Ctrl-C. Leaving ends no job; the exit code is the job's when it "
		 "ends meanwhile.\n"
		 "Only the user of a job can attach to it, on the machine that it runs on.",
	.examples = "  strata attach 17\n"
		    "  strata attach 35_2",
	.options = &attach_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
