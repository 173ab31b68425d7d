/* strata trace merge: the trace files of several processes as one, for ui.perfetto.dev. */
#include "cli/cli.h"

#include "core/env.h"

#include <strata/trace.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct merge_conf {
	const char *output;
};

static const struct strata_option merge_options[] = {
	{ "output", STRATA_TEXT, offsetof(struct merge_conf, output), .letter = 'o',
	  .value = "FILE", .help = "where to write; standard output when left out" },
	{ 0 }
};

static const struct strata_schema merge_schema = { "trace merge", NULL, sizeof(struct merge_conf),
						   merge_options };

static ssize_t read_file(void *context, char *bytes, size_t room)
{
	ssize_t count;

	do
		count = read(*(const int *)context, bytes, room);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

static int write_stdout(void *context, const char *bytes, size_t count)
{
	struct cli *cli = context;

	buf_add_bytes(&cli->out, bytes, count);
	if (cli->out.length > 1 << 16)
		cli_flush(cli);
	return cli->out.failed ? -ENOMEM : 0;
}

static int merge(struct cli *cli, const struct strata_trace_input *inputs, size_t count,
		 const struct strata_trace_sink *sink)
{
	struct strata_trace_merged merged;
	int rc = strata_trace_merge(inputs, count, &cli->memory, sink, &merged, &cli->err);

	if (rc == 0 && merged.clocks_differ)
		cli_note(cli, "the files name different clocks: their times do not line up");
	return rc;
}

/* Writes beside the file and renames at the end, so that an input may be the output and a failure
 * leaves nothing. */
static int merge_to_file(struct cli *cli, const struct strata_trace_input *inputs, size_t count,
			 const char *path)
{
	struct env_draft draft;
	struct strata_trace_sink sink = cli_draft_sink(&draft);
	mode_t mask = umask(0);
	int rc = env_draft_open(&draft, env_system(), AT_FDCWD, path, &cli->err);

	umask(mask);
	if (rc)
		return rc;
	rc = merge(cli, inputs, count, &sink);
	if (rc == 0)
		return env_draft_keep(&draft, 0666 & ~mask, &cli->err);
	env_draft_drop(&draft);
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct merge_conf *conf = conf_any;
	struct strata_trace_input *inputs =
		strata_arena_array(&cli->arena, operand_count, sizeof(*inputs));
	int *fds = strata_arena_array(&cli->arena, operand_count, sizeof(*fds));
	struct strata_trace_sink sink = { write_stdout, cli };
	size_t opened = 0;
	int rc = inputs && fds ? 0 : strata_fail_memory(&cli->err);

	for (; rc == 0 && opened < operand_count; opened++) {
		fds[opened] = open(operands[opened], O_RDONLY | O_CLOEXEC);
		if (fds[opened] < 0) {
			rc = strata_fail(&cli->err, -errno, "cannot open %s: %s", operands[opened],
					 strerror(errno));
			break;
		}
		inputs[opened] =
			(struct strata_trace_input){ operands[opened], read_file, &fds[opened] };
	}
	if (rc == 0 && conf->output)
		rc = merge_to_file(cli, inputs, operand_count, conf->output);
	else if (rc == 0)
		rc = merge(cli, inputs, operand_count, &sink);
	while (opened > 0)
		close(fds[--opened]);
	return rc;
}

const struct cli_command cli_trace_merge = {
	.name = "trace merge",
	.operands = "FILE…",
	.summary = "merge trace files of several processes into one",
	.about = "Takes files in the Trace Event Format (Perfetto, Chrome), as a list or as an "
		 "object. Process numbers\n"
		 "that two files share are told apart. Name the file in which flows begin first.",
	.examples = "  strata trace merge server.json worker.json -o all.json",
	.options = &merge_schema,
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
