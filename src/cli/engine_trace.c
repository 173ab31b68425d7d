/* Traces of the commands about engines, in the full program: a file for ui.perfetto.dev. */
#include "cli/engine_options.h"

#include "core/env.h"

#include <strata/engine.h>

#include <fcntl.h>

int engine_trace_start(struct cli *cli, const char *path, struct strata_engine *engine,
		       struct engine_trace *trace)
{
	const struct strata_trace_conf conf = { .pid = 1,
						.process_name = "strata engine",
						.clock_name = "realtime",
						.offset_ns = env_realtime_offset_ns(env_system()) };

	if (!path)
		return 0;
	int rc = engine_file_target(cli, path, &trace->path);

	if (rc == 0)
		rc = strata_trace_new(&trace->memory, &conf, &trace->trace, &cli->err);
	return rc ? rc : strata_engine_trace(engine, trace->trace, ENGINE_TRACE_TID, &cli->err);
}

static int sink(void *context, const char *bytes, size_t count)
{
	return env_draft_add(context, bytes, count);
}

int engine_trace_write(struct cli *cli, struct engine_trace *trace)
{
	struct env_draft draft;

	if (!trace->trace)
		return 0;
	int rc = env_draft_open(&draft, env_system(), AT_FDCWD, trace->path, &cli->err);

	if (rc)
		return rc;
	const struct strata_trace_sink to = { sink, &draft };

	rc = strata_trace_write(trace->trace, INT64_MIN, &cli->arena, &to, &cli->err);
	if (rc == 0)
		return env_draft_keep(&draft, cli_file_mode(), &cli->err);
	env_draft_drop(&draft);
	return rc;
}

void engine_trace_end(struct engine_trace *trace)
{
	strata_trace_free(trace->trace);
	*trace = (struct engine_trace){ 0 };
}
