/* What strata stage run is made of: the command (cmd_stage_run.c), its rounds (stage_rounds.c) and their pictures (stage_picture.c). */
#ifndef CLI_STAGE_RUN_H
#define CLI_STAGE_RUN_H

#include "cli/stage.h"
#include "bench/stream_bench.h"
#include "core/env.h"

#include <strata/trace.h>

/* What was going on, for a chart. */
enum stage_span_kind { STAGE_COMPUTE, STAGE_READ };
struct stage_span {
	enum stage_span_kind kind;
	uint32_t layer;
	int64_t begin_ns, end_ns;
};

struct stage_spans {
	struct strata_memory *memory;
	struct stage_span *items; /* owned */
	size_t count, room;
	int64_t starts_ns[2]; /* of the two steps that are shown */
	size_t start_count;
	bool on, failed;
};

void stage_spans_add(struct stage_spans *spans, struct stage_span span);
void stage_spans_fini(struct stage_spans *spans);

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

/* What a round measured. */
struct round {
	double compute_ns, io_ns, step_ns;
};

/* All of a run. */
struct bench {
	struct cli *cli;
	const struct run_options *options;
	struct strata_weights weights;
	struct strata_stream_layer *layers;
	uint64_t *digests; /* of each layer, the plain way */
	const void **tensors;
	int64_t bandwidth;
	struct strata_stage_model model; /* order of visits, when a schedule says so */
	struct strata_stage_plan plan;   /* of that schedule */
	struct stream_bench stream_bench;
	struct strata_stream *stream;
	struct stage_spans spans;
	struct stage_trace trace;
	struct round *rounds;
	int64_t disk_bytes; /* read by the kernel for the stream; -1: it does not say */
	struct strata_stream_metrics metrics;
	const char *planner; /* that made the plan */
};

/* Measures the plain way, then streams: fills rounds, figures and disk_bytes. -EBADMSG when something came out differently. */
int stage_rounds_run(struct bench *bench);

/* Writes the last steps as an SVG chart. */
int stage_picture_plot(struct cli *cli, const struct stage_spans *spans,
		       const struct strata_weights *weights, const char *subtitle,
		       const char *path);

/* A trace for ui.perfetto.dev, which the stream writes to. Closing it keeps the file, or with a failure (rc) drops it; rc, or what went wrong then. */
int stage_trace_open(struct cli *cli, const char *path, struct stage_trace *trace);
int stage_trace_close(struct cli *cli, struct stage_trace *trace, int rc);

#endif
