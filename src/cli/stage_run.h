/* What strata stage run is made of: the command (stage_run.c), its rounds (stage_rounds.c) and their pictures (stage_picture.c). */
#ifndef CLI_STAGE_RUN_H
#define CLI_STAGE_RUN_H

#include "cli/stage.h"
#include "stream/drill.h"

/* What was going on, for pictures. */
enum stage_span_kind { STAGE_COMPUTE, STAGE_READ, STAGE_WAIT };
struct stage_span {
	enum stage_span_kind kind;
	uint32_t layer;
	int64_t begin_ns, end_ns, bytes;
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

/* What a round measured. */
struct round {
	double compute_ns, io_ns, step_ns;
};

/* All of a run. */
struct bout {
	struct cli *cli;
	const struct run_options *options;
	struct strata_weights weights;
	struct strata_stream_layer *layers;
	uint64_t *digests; /* of each layer, the plain way */
	const void **tensors;
	int64_t bandwidth;
	struct strata_stage_model model; /* order of visits, when a schedule says so */
	struct strata_stage_plan plan;   /* of that schedule */
	struct drill drill;
	struct strata_registry *planners;
	struct strata_stream *stream;
	struct stage_spans spans;
	struct round *rounds;
	int64_t disk_bytes; /* read by the kernel for the stream; -1: it does not say */
	struct strata_stream_figures figures;
	const char *planner; /* that made the plan */
};

/* Measures the plain way, then streams: fills rounds, figures and disk_bytes. -EBADMSG when something came out differently. */
int stage_rounds_run(struct bout *bout);

/* Writes the last steps as an SVG chart, and as a trace for ui.perfetto.dev. */
int stage_picture_plot(struct cli *cli, const struct stage_spans *spans,
		       const struct strata_weights *weights, const char *subtitle,
		       const char *path);
int stage_picture_trace(struct cli *cli, const struct stage_spans *spans,
			const struct strata_weights *weights, const char *path);

#endif
