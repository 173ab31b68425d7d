/* What strata stage run is made of: the command (cmd_stage_run.c) and its pictures
 * (stage_picture.c); src/bench/stream_rounds.c measures. */
#ifndef CLI_STAGE_RUN_H
#define CLI_STAGE_RUN_H

#include "cli/stage.h"
#include "bench/stream_rounds.h"
#include "core/env.h"

#include <strata/trace.h>

struct run_options {
	const char *group, *planner, *schedule, *trace, *plot;
	int64_t budget, bandwidth, pace, page, matmul, rounds, threads;
	double compute_ms;
	int channel;
	bool cached;
};

/* A trace that is being written to a file. */
struct stage_trace {
	struct strata_trace *trace; /* NULL: none */
	struct env_draft draft;
};

/* Writes the last steps as an SVG chart. */
int stage_picture_plot(struct cli *cli, const struct stream_spans *spans,
		       const struct strata_weights *weights, const char *subtitle,
		       const char *path);

/* A trace for ui.perfetto.dev, which the stream writes to. Closing it keeps the file, or with a
 * failure (rc) drops it; rc, or what went wrong then. */
int stage_trace_open(struct cli *cli, const char *path, struct stage_trace *trace);
int stage_trace_close(struct cli *cli, struct stage_trace *trace, int rc);

#endif
