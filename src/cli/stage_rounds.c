/*
 * The rounds of strata stage run. Each measures three things one after the other, so that they are of the same minute: computing alone, on
 * layers read the plain way; reading alone, as the plan has it; and both together. How much of the shorter one is hidden by the longer one is
 * the overlap.
 */
#include "cli/stage_run.h"

#include "core/env.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	CALIBRATE_BYTES = 256 << 20, /* read to see how fast the disk is */
	SLACK_BYTES =
		1
		<< 20, /* between what was asked of the kernel and what it counts: ends of files, other files */
};

static int64_t now_ns(void)
{
	return env_now_ns(env_system(), ENV_MONOTONIC);
}

static void watch(void *context, const struct strata_stream_event *event)
{
	struct bench *bench = context;

	if (event->kind == STRATA_STREAM_READ)
		stage_spans_add(&bench->spans,
				(struct stage_span){ STAGE_READ, event->layer, event->begin_ns,
						     event->end_ns });
}

/* With a plan, what it says counts, and not budget and planner. */
static int open_stream(struct bench *bench, size_t layer_count, int64_t budget, const char *planner,
		       const struct strata_stage_plan *plan)
{
	const struct run_options *options = bench->options;
	struct cli *cli = bench->cli;
	struct strata_stream_conf conf = {
		.paths = bench->weights.paths,
		.path_count = bench->weights.path_count,
		.layers = bench->layers,
		.layer_count = layer_count,
		.visit_count = layer_count,
		.budget_bytes = budget,
		.page_bytes = options->page,
		.bytes_per_s = bench->bandwidth,
		.channel = (enum strata_stream_channel)options->channel,
		.cached = options->cached,
		.pace_bytes_per_s = options->pace,
		.plan = plan,
		.watch = watch,
		.watch_context = bench,
	};
	if (plan) {
		conf.order = bench->model.order;
		conf.visit_count = bench->model.visit_count;
		conf.backward_count = bench->model.backward_count;
	}
	int rc = cli_spec_read(cli, &strata_planner_kind, planner, &conf.planner);

	return rc ? rc : strata_stream_open(&conf, &cli->memory, &bench->stream, &cli->err);
}

/* ---- computing alone ---- */

static size_t visit_count(const struct bench *bench)
{
	return bench->options->schedule ? bench->model.visit_count : bench->weights.layer_count;
}

static uint32_t layer_at(const struct bench *bench, size_t visit)
{
	return bench->options->schedule && bench->model.order ? bench->model.order[visit]
							      : (uint32_t)visit;
}

/* Every layer the plain way: what its digest is, and how long it computes. Then what that is for a step. */
static int compute_alone(struct bench *bench, double *ret_ns)
{
	double total = 0;

	for (uint32_t i = 0; i < bench->weights.layer_count; i++) {
		int rc = stream_bench_compute_plain(&bench->stream_bench, i, &bench->digests[i],
						    &bench->layers[i].compute_ns, &bench->cli->err);

		if (rc)
			return rc;
	}
	for (size_t v = 0; v < visit_count(bench); v++)
		total += (double)bench->layers[layer_at(bench, v)].compute_ns;
	*ret_ns = total;
	return 0;
}

/* ---- steps ---- */

static int visit(struct bench *bench, uint32_t layer, bool back, bool compute)
{
	struct cli *cli = bench->cli;
	const struct strata_weights_layer *of = &bench->weights.layers[layer];
	int rc = strata_stream_hook(bench->stream,
				    back ? STRATA_STAGE_PRE_BACKWARD : STRATA_STAGE_PRE_FORWARD,
				    layer, &cli->err);

	if (rc)
		return rc;
	if (compute) {
		for (size_t i = 0; i < of->tensor_count; i++)
			bench->tensors[i] = strata_stream_at(bench->stream, layer, i);
		int64_t begin = now_ns();
		uint64_t digest = stream_bench_compute(&bench->stream_bench, layer, bench->tensors);

		stage_spans_add(&bench->spans,
				(struct stage_span){ STAGE_COMPUTE, layer, begin, now_ns() });
		if (digest != bench->digests[layer])
			return strata_fail(&cli->err, -EBADMSG,
					   "layer '%.64s' came out differently: %016" PRIx64
					   ", in memory %016" PRIx64,
					   of->name, digest, bench->digests[layer]);
	}
	return strata_stream_hook(bench->stream,
				  back ? STRATA_STAGE_POST_BACKWARD : STRATA_STAGE_POST_FORWARD,
				  layer, &cli->err);
}

static int step(struct bench *bench, size_t visits, bool compute, double *ret_ns)
{
	struct cli *cli = bench->cli;
	int64_t begin = now_ns();

	if (bench->spans.on && bench->spans.start_count < 2)
		bench->spans.starts_ns[bench->spans.start_count++] = begin;
	int rc = strata_stream_step_start(bench->stream, &cli->err);

	for (size_t v = 0; rc == 0 && v < visits; v++)
		rc = visit(bench, layer_at(bench, v), v + bench->model.backward_count >= visits,
			   compute);
	if (rc == 0)
		rc = strata_stream_step_end(bench->stream, &cli->err);
	if (ret_ns)
		*ret_ns = (double)(now_ns() - begin);
	return rc;
}

/* ---- how fast it reads ---- */

/* Some layers, as many as give a figure, read one after the other with nothing else to do. */
static int calibrate(struct bench *bench)
{
	int64_t bytes = 0, largest = 0;
	uint32_t count = 0;
	double took;

	for (; count < bench->weights.layer_count && bytes < CALIBRATE_BYTES; count++) {
		int64_t size = bench->weights.layers[count].bytes;

		bytes += size;
		largest = size > largest ? size : largest;
	}
	bench->bandwidth = 1000000000; /* for the plan of this */
	int rc = open_stream(bench, count, 2 * (largest + bench->options->page), "stream", NULL);

	if (rc == 0)
		rc = step(bench, count, false, &took);
	strata_stream_close(bench->stream);
	bench->stream = NULL;
	if (rc == 0)
		bench->bandwidth = (int64_t)((double)bytes / took * 1e9) + 1;
	return rc;
}

/* ---- rounds ---- */

static int run_round(struct bench *bench, struct round *round, bool last)
{
	size_t count = visit_count(bench);
	int rc = compute_alone(bench, &round->compute_ns);

	if (rc ==
	    0) /* while it computed alone, what the last step had asked for came for nothing */
		rc = step(bench, count, false, NULL);
	if (rc == 0)
		rc = step(bench, count, false, &round->io_ns);
	bench->spans.on = last && bench->options->plot;
	if (rc == 0 && last)
		rc = strata_stream_trace(bench->stream, bench->trace.trace, 1, 0, &bench->cli->err);
	if (rc == 0) /* the first of these ends the other way of going on, and is not counted */
		rc = step(bench, count, true, NULL);
	if (rc == 0)
		rc = step(bench, count, true, &round->step_ns);
	bench->spans.on = false;
	strata_stream_trace(bench->stream, NULL, 0, 0, NULL);
	return rc;
}

static int run_rounds(struct bench *bench)
{
	int rc = open_stream(bench, bench->weights.layer_count, bench->options->budget,
			     bench->options->planner,
			     bench->options->schedule ? &bench->plan : NULL);

	if (rc == 0) /* what a step begins with is read before the first */
		rc = step(bench, visit_count(bench), false, NULL);
	for (int64_t i = 0; rc == 0 && i < bench->options->rounds; i++)
		rc = run_round(bench, &bench->rounds[i], i + 1 == bench->options->rounds);
	if (rc == 0) {
		const char *planner;

		strata_stream_metrics(bench->stream, &bench->metrics);
		planner = bench->metrics.progress.plan->planner; /* the plan goes with the stream */
		bench->metrics.progress.plan = NULL;
		bench->planner = strata_arena_text(&bench->cli->arena, planner, strlen(planner));
		rc = bench->planner ? 0 : strata_fail_memory(&bench->cli->err);
	}
	strata_stream_close(bench->stream); /* what is on its way still counts */
	bench->stream = NULL;
	return rc;
}

/* The kernel's own count: what it read from disks is what was asked of it, no less (then it was in the cache) and no more. */
static int check_disk(struct bench *bench, int64_t before, int64_t plain_before)
{
	int64_t plain = bench->stream_bench.plain_bytes - plain_before;
	int64_t asked = bench->metrics.bytes_asked, slack = asked / 100 + SLACK_BYTES;

	bench->disk_bytes = -1;
	if (before < 0 || !bench->metrics.direct)
		return 0;
	bench->disk_bytes = stream_bench_disk_bytes() - before - plain;
	if (llabs(bench->disk_bytes - asked) <= slack)
		return 0;
	return strata_fail(&bench->cli->err, -EIO,
			   "the kernel read %" PRId64 " bytes from disks; %" PRId64
			   " were asked of it",
			   bench->disk_bytes, asked);
}

static int read_schedule(struct bench *bench)
{
	const struct run_options *options = bench->options;
	const struct stage_source source = { .budget = options->budget,
					     .page = options->page,
					     .bandwidth = bench->bandwidth };
	struct strata_stage_model known;
	int rc = strata_weights_model(&bench->weights, 0, &bench->cli->arena, &known,
				      &bench->cli->err);

	for (size_t i = 0; rc == 0 && i < known.layer_count; i++)
		((struct strata_stage_layer *)known.layers)[i].compute_ns =
			bench->layers[i].compute_ns;
	if (rc == 0)
		rc = stage_schedule_plan(bench->cli, &source, options->schedule, &known,
					 &bench->model, &bench->plan);
	if (rc == 0 && bench->model.layer_count != bench->weights.layer_count)
		rc = strata_fail_at(&bench->cli->err, -EINVAL, "schedule",
				    "the schedule is of %zu layers; the model has %zu",
				    bench->model.layer_count, bench->weights.layer_count);
	return rc;
}

int stage_rounds_run(struct bench *bench)
{
	double unused;
	int rc = compute_alone(bench, &unused); /* times for the plan, and what is to come out */

	bench->bandwidth = bench->options->bandwidth ? bench->options->bandwidth
						     : bench->options->pace;
	if (rc == 0 && !bench->bandwidth)
		rc = calibrate(bench);
	if (rc == 0 && bench->options->schedule)
		rc = read_schedule(bench);
	int64_t before = stream_bench_disk_bytes(), plain = bench->stream_bench.plain_bytes;

	if (rc == 0)
		rc = run_rounds(bench);
	return rc ? rc : check_disk(bench, before, plain);
}
