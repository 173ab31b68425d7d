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
	struct bout *bout = context;

	if (event->kind != STRATA_STREAM_WRITE)
		stage_spans_add(&bout->spans,
				(struct stage_span){ event->kind == STRATA_STREAM_READ ? STAGE_READ
										       : STAGE_WAIT,
						     event->layer, event->begin_ns, event->end_ns,
						     event->bytes });
}

/* With a plan, what it says counts, and not budget and planner. */
static int open_stream(struct bout *bout, size_t layer_count, int64_t budget, const char *planner,
		       const struct strata_stage_plan *plan)
{
	const struct run_options *options = bout->options;
	struct cli *cli = bout->cli;
	struct strata_stream_conf conf = {
		.paths = bout->weights.paths,
		.path_count = bout->weights.path_count,
		.layers = bout->layers,
		.layer_count = layer_count,
		.visit_count = layer_count,
		.budget_bytes = budget,
		.page_bytes = options->page,
		.bytes_per_s = bout->bandwidth,
		.channel = (enum strata_stream_channel)options->channel,
		.cached = options->cached,
		.pace_bytes_per_s = options->pace,
		.plan = plan,
		.watch = watch,
		.watch_context = bout,
	};
	if (plan) {
		conf.order = bout->model.order;
		conf.visit_count = bout->model.visit_count;
		conf.backward_count = bout->model.backward_count;
	}
	int rc = strata_spec_read(bout->planners, planner, strlen(planner), &cli->arena,
				  &conf.planner, &cli->err);

	return rc ? rc : strata_stream_open(&conf, &cli->memory, &bout->stream, &cli->err);
}

/* ---- computing alone ---- */

static size_t visit_count(const struct bout *bout)
{
	return bout->options->schedule ? bout->model.visit_count : bout->weights.layer_count;
}

static uint32_t layer_at(const struct bout *bout, size_t visit)
{
	return bout->options->schedule && bout->model.order ? bout->model.order[visit]
							    : (uint32_t)visit;
}

/* Every layer the plain way: what its digest is, and how long it computes. Then what that is for a step. */
static int compute_alone(struct bout *bout, double *ret_ns)
{
	double total = 0;

	for (uint32_t i = 0; i < bout->weights.layer_count; i++) {
		int rc = drill_compute_plain(&bout->drill, i, &bout->digests[i],
					     &bout->layers[i].compute_ns, &bout->cli->err);

		if (rc)
			return rc;
	}
	for (size_t v = 0; v < visit_count(bout); v++)
		total += (double)bout->layers[layer_at(bout, v)].compute_ns;
	*ret_ns = total;
	return 0;
}

/* ---- steps ---- */

static int visit(struct bout *bout, uint32_t layer, bool back, bool compute)
{
	struct cli *cli = bout->cli;
	const struct strata_weights_layer *of = &bout->weights.layers[layer];
	int rc = strata_stream_hook(bout->stream,
				    back ? STRATA_STAGE_PRE_BACKWARD : STRATA_STAGE_PRE_FORWARD,
				    layer, &cli->err);

	if (rc)
		return rc;
	if (compute) {
		for (size_t i = 0; i < of->tensor_count; i++)
			bout->tensors[i] = strata_stream_at(bout->stream, layer, i);
		int64_t begin = now_ns();
		uint64_t digest = drill_compute(&bout->drill, layer, bout->tensors);

		stage_spans_add(&bout->spans,
				(struct stage_span){ STAGE_COMPUTE, layer, begin, now_ns(), 0 });
		if (digest != bout->digests[layer])
			return strata_fail(&cli->err, -EBADMSG,
					   "layer '%.64s' came out differently: %016" PRIx64
					   ", in memory %016" PRIx64,
					   of->name, digest, bout->digests[layer]);
	}
	return strata_stream_hook(bout->stream,
				  back ? STRATA_STAGE_POST_BACKWARD : STRATA_STAGE_POST_FORWARD,
				  layer, &cli->err);
}

static int step(struct bout *bout, size_t visits, bool compute, double *ret_ns)
{
	struct cli *cli = bout->cli;
	int64_t begin = now_ns();

	if (bout->spans.on && bout->spans.start_count < 2)
		bout->spans.starts_ns[bout->spans.start_count++] = begin;
	int rc = strata_stream_step_start(bout->stream, &cli->err);

	for (size_t v = 0; rc == 0 && v < visits; v++)
		rc = visit(bout, layer_at(bout, v), v + bout->model.backward_count >= visits,
			   compute);
	if (rc == 0)
		rc = strata_stream_step_end(bout->stream, &cli->err);
	if (ret_ns)
		*ret_ns = (double)(now_ns() - begin);
	return rc;
}

/* ---- how fast it reads ---- */

/* Some layers, as many as give a figure, read one after the other with nothing else to do. */
static int calibrate(struct bout *bout)
{
	int64_t bytes = 0, largest = 0;
	uint32_t count = 0;
	double took;

	for (; count < bout->weights.layer_count && bytes < CALIBRATE_BYTES; count++) {
		int64_t size = bout->weights.layers[count].bytes;

		bytes += size;
		largest = size > largest ? size : largest;
	}
	bout->bandwidth = 1000000000; /* for the plan of this */
	int rc = open_stream(bout, count, 2 * (largest + bout->options->page), "stream", NULL);

	if (rc == 0)
		rc = step(bout, count, false, &took);
	strata_stream_close(bout->stream);
	bout->stream = NULL;
	if (rc == 0)
		bout->bandwidth = (int64_t)((double)bytes / took * 1e9) + 1;
	return rc;
}

/* ---- rounds ---- */

static int run_round(struct bout *bout, struct round *round, bool last)
{
	size_t count = visit_count(bout);
	int rc = compute_alone(bout, &round->compute_ns);

	if (rc ==
	    0) /* while it computed alone, what the last step had asked for came for nothing */
		rc = step(bout, count, false, NULL);
	if (rc == 0)
		rc = step(bout, count, false, &round->io_ns);
	bout->spans.on = last && (bout->options->plot || bout->options->trace);
	if (rc == 0) /* the first of these ends the other way of going on, and is not counted */
		rc = step(bout, count, true, NULL);
	if (rc == 0)
		rc = step(bout, count, true, &round->step_ns);
	bout->spans.on = false;
	return rc;
}

static int run_rounds(struct bout *bout)
{
	int rc = open_stream(bout, bout->weights.layer_count, bout->options->budget,
			     bout->options->planner, bout->options->schedule ? &bout->plan : NULL);

	if (rc == 0) /* what a step begins with is read before the first */
		rc = step(bout, visit_count(bout), false, NULL);
	for (int64_t i = 0; rc == 0 && i < bout->options->rounds; i++)
		rc = run_round(bout, &bout->rounds[i], i + 1 == bout->options->rounds);
	if (rc == 0) {
		const char *planner;

		strata_stream_figures(bout->stream, &bout->figures);
		planner = bout->figures.progress.plan->planner; /* the plan goes with the stream */
		bout->figures.progress.plan = NULL;
		bout->planner = strata_arena_text(&bout->cli->arena, planner, strlen(planner));
		rc = bout->planner ? 0 : strata_fail_memory(&bout->cli->err);
	}
	strata_stream_close(bout->stream); /* what is on its way still counts */
	bout->stream = NULL;
	return rc;
}

/* The kernel's own count: what it read from disks is what was asked of it, no less (then it was in the cache) and no more. */
static int check_disk(struct bout *bout, int64_t before, int64_t plain_before)
{
	int64_t plain = bout->drill.plain_bytes - plain_before;
	int64_t asked = bout->figures.bytes_asked, slack = asked / 100 + SLACK_BYTES;

	bout->disk_bytes = -1;
	if (before < 0 || !bout->figures.direct)
		return 0;
	bout->disk_bytes = drill_disk_bytes() - before - plain;
	if (llabs(bout->disk_bytes - asked) <= slack)
		return 0;
	return strata_fail(&bout->cli->err, -EIO,
			   "the kernel read %" PRId64 " bytes from disks; %" PRId64
			   " were asked of it",
			   bout->disk_bytes, asked);
}

static int read_schedule(struct bout *bout)
{
	const struct run_options *options = bout->options;
	const struct stage_source source = { .budget = options->budget,
					     .page = options->page,
					     .bandwidth = bout->bandwidth };
	struct strata_stage_model known;
	int rc = stage_weights_model(bout->cli, &bout->weights, 0, &known);

	for (size_t i = 0; rc == 0 && i < known.layer_count; i++)
		((struct strata_stage_layer *)known.layers)[i].compute_ns =
			bout->layers[i].compute_ns;
	if (rc == 0)
		rc = stage_schedule_plan(bout->cli, &source, options->schedule, &known,
					 &bout->model, &bout->plan);
	if (rc == 0 && bout->model.layer_count != bout->weights.layer_count)
		rc = strata_fail_at(&bout->cli->err, -EINVAL, "schedule",
				    "the schedule is of %zu layers; the model has %zu",
				    bout->model.layer_count, bout->weights.layer_count);
	return rc;
}

int stage_rounds_run(struct bout *bout)
{
	double unused;
	int rc = compute_alone(bout, &unused); /* times for the plan, and what is to come out */

	bout->bandwidth = bout->options->bandwidth ? bout->options->bandwidth : bout->options->pace;
	if (rc == 0 && !bout->bandwidth)
		rc = calibrate(bout);
	if (rc == 0 && bout->options->schedule)
		rc = read_schedule(bout);
	int64_t before = drill_disk_bytes(), plain = bout->drill.plain_bytes;

	if (rc == 0)
		rc = run_rounds(bout);
	return rc ? rc : check_disk(bout, before, plain);
}
