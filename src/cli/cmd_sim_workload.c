/* strata sim workload: a made-up trace, so that everything can be tried without outside data. */
#include "cli/cli.h"

#include "core/env.h"
#include "sim/workload.h"

#include <strata/limits.h>

#include <string.h>

struct workload_conf {
	const char *model, *output, *nodes_out;
	int64_t jobs, seed;
};

static const struct strata_option workload_options[] = {
	{ "model", STRATA_TEXT, offsetof(struct workload_conf, model), .text = { "lublin" },
	  .value = "SPEC", .help = "what the jobs are like: lublin (batch) or gpu, with options" },
	{ "jobs", STRATA_INT, offsetof(struct workload_conf, jobs),
	  .integer = { 1000, 1, STRATA_SWF_JOBS_MAX }, .letter = 'n', .help = "how many" },
	{ "seed", STRATA_INT, offsetof(struct workload_conf, seed), .integer = { 1, 0, INT64_MAX },
	  .letter = 's', .help = "the same seed gives the same trace" },
	{ "output", STRATA_TEXT, offsetof(struct workload_conf, output), .letter = 'o',
	  .value = "FILE", .help = "where to write; standard output when left out" },
	{ "nodes_out", STRATA_TEXT, offsetof(struct workload_conf, nodes_out), .value = "FILE",
	  .help = "write the nodes that the jobs are made for, as CSV (model gpu)" },
	{ 0 }
};
static const struct strata_schema workload_schema = { "sim workload", NULL,
						      sizeof(struct workload_conf),
						      workload_options };

static int write_nodes(struct cli *cli, const struct strata_spec *spec, const char *path)
{
	struct openb_node *nodes;
	struct buf buf;
	size_t count;
	int rc = workload_nodes(spec, &cli->arena, &nodes, &count, &cli->err);

	if (rc)
		return rc;
	buf_init(&buf, &cli->memory, 0);
	openb_add_nodes(&buf, nodes, count);
	rc = buf_check(&buf, &cli->err);
	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, buf.text, buf.length, 0644,
				    &cli->err);
	buf_fini(&buf);
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct workload_conf *conf = conf_any;
	struct strata_spec spec;
	struct strata_swf swf;
	const char *text;
	size_t length;
	int rc = cli_spec_read(cli, &workload_kind, conf->model, &spec);

	(void)operands, (void)operand_count;
	if (rc == 0)
		rc = workload_make(&spec, (size_t)conf->jobs, (uint64_t)conf->seed, &cli->arena,
				   &swf, &cli->err);
	if (rc == 0)
		rc = strata_swf_write(&swf, &cli->arena, &text, &length, &cli->err);
	if (rc == 0 && conf->nodes_out)
		rc = write_nodes(cli, &spec, conf->nodes_out);
	if (rc)
		return rc;
	if (conf->output)
		return env_write_file(env_system(), AT_FDCWD, conf->output, text, length, 0644,
				      &cli->err);
	cli_print(cli, text);
	return 0;
}

const struct cli_command cli_sim_workload = {
	.name = "sim workload",
	.summary = "make up a trace of jobs",
	.about = "Writes a trace in the Standard Workload Format: model lublin is a batch mix "
		 "after Lublin and Feitelson,\n"
		 "model gpu a GPU cluster's, with shares of GPUs. Options of a model follow its "
		 "name: lublin:load=0.8.",
	.examples = "  strata sim workload --model lublin:load=0.8 --jobs 5000 -o made.swf\n"
		    "  strata sim cluster made.swf --compare fifo/none,fifo/easy\n"
		    "  strata sim workload --model gpu:load=1 -o gpu.swf --nodes-out nodes.csv\n"
		    "  strata sim cluster gpu.swf --nodes nodes.csv --placement fgd",
	.options = &workload_schema,
	.run = run,
};
