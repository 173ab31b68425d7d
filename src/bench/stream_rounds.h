/*
 * A model streamed through a budget, measured in rounds. Each round measures three things one after the other, so that they are of the same
 * minute: computing alone, on layers read the plain way; reading alone, as the plan has it; and both together. How much of the shorter one
 * is hidden by the longer one is the overlap. What was computed is compared, bit for bit, with the plain way.
 */
#ifndef BENCH_STREAM_ROUNDS_H
#define BENCH_STREAM_ROUNDS_H

#include "bench/stream_bench.h"

#include <strata/trace.h>

enum { STREAM_ROUNDS_MAX = 1000 };

/* What was going on, for a chart. */
enum stream_span_kind { STREAM_SPAN_COMPUTE, STREAM_SPAN_READ };
struct stream_span {
	enum stream_span_kind kind;
	uint32_t layer;
	int64_t begin_ns, end_ns;
};

struct stream_spans {
	struct strata_memory *memory;
	struct stream_span *items; /* owned */
	size_t count, room;
	int64_t starts_ns[2]; /* of the two steps that are shown */
	size_t start_count;
	bool on, failed;
};

struct stream_rounds_conf {
	struct stream_bench_conf bench; /* what a visit computes; `weights` are filled in */
	int64_t budget_bytes, page_bytes;
	int64_t bytes_per_s;      /* for the plan; 0: it is measured */
	int64_t pace_bytes_per_s; /* reading is slowed down to it; 0: it is not */
	enum strata_stream_channel channel;
	bool cached;
	struct strata_spec planner; /* lives as long as the run */
	/* as `strata stage verify` takes it, in place of a planner's; NULL: none */
	const char *schedule;
	size_t schedule_bytes;
	int64_t round_count;        /* 1 … STREAM_ROUNDS_MAX */
	bool spans;                 /* those of the last two steps are wanted */
	struct strata_trace *trace; /* that they are written to; NULL: none */
};

/* What a round measured. */
struct stream_round {
	double compute_ns, io_ns, step_ns;
};

/* Medians over rounds; bound and overlap are of each round. */
struct stream_result {
	double compute_ns, io_ns, step_ns, bound_ns, overlap;
	int64_t steps, bytes_per_step;
};

/* All of a run; its arrays are in the arena. */
struct stream_rounds {
	struct stream_rounds_conf conf;
	struct strata_memory *memory;
	struct strata_arena *arena;
	struct strata_weights weights;
	struct strata_stream_layer *layers;
	uint64_t *digests; /* of each layer, the plain way */
	const void **tensors;
	int64_t bytes_per_s;             /* that the plan was made for */
	struct strata_stage_model model; /* order of visits, when a schedule says so */
	struct strata_stage_plan plan;   /* of that schedule */
	struct stream_bench bench;
	struct strata_stream *stream;
	struct stream_spans spans;
	struct stream_round *rounds;
	int64_t disk_bytes; /* read by the kernel for the stream; -1: it does not say */
	struct strata_stream_metrics metrics;
	const char *planner; /* that made the plan */
};

/* Reads which layers the model has (group: as strata_weights_read takes it). The memory and the arena are borrowed until stream_rounds_close; one that
 * could not be opened need not be closed. */
int stream_rounds_open(struct stream_rounds *rounds, const struct stream_rounds_conf *conf,
		       const char *path, const char *group, struct strata_memory *memory,
		       struct strata_arena *arena, struct strata_error *err);
void stream_rounds_close(struct stream_rounds *rounds);

/* Measures the plain way, then streams. -EBADMSG when something came out differently, -EIO when the kernel counted other bytes than were
 * asked of it. */
int stream_rounds_run(struct stream_rounds *rounds, struct strata_error *err);
struct stream_result stream_rounds_judge(const struct stream_rounds *rounds);

#endif
