/* The rounds of stream_rounds.h. */
#include "bench/stream_rounds.h"

#include "core/env.h"
#include "formats/stage_schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	CALIBRATE_BYTES = 256 << 20, /* read to see how fast the disk is */
	/* between what was asked of the kernel and what it counts: ends of files, other files */
	SLACK_BYTES = 1 << 20,
};

static int64_t now_ns(void)
{
	return env_now_ns(env_system(), ENV_MONOTONIC);
}

static void add_span(struct stream_spans *spans, struct stream_span span)
{
	if (!spans->on || spans->failed)
		return;
	if (spans->count == spans->room) {
		size_t room = spans->room ? 2 * spans->room : 1024;
		struct stream_span *items = strata_memory_resize(spans->memory, spans->items,
								 spans->room * sizeof(*items),
								 room * sizeof(*items));

		if (!items) {
			spans->failed = true;
			return;
		}
		spans->items = items;
		spans->room = room;
	}
	spans->items[spans->count++] = span;
}

static void watch(void *context, const struct strata_stream_event *event)
{
	struct stream_rounds *rounds = context;

	if (event->kind == STRATA_STREAM_READ)
		add_span(&rounds->spans, (struct stream_span){ STREAM_SPAN_READ, event->layer,
							       event->begin_ns, event->end_ns });
}

/* With a plan, what it says counts, and not budget and planner. */
static int open_stream(struct stream_rounds *rounds, size_t layer_count, int64_t budget,
		       const struct strata_spec *planner, const struct strata_stage_plan *plan,
		       struct strata_error *err)
{
	const struct stream_rounds_conf *own = &rounds->conf;
	struct strata_stream_conf conf = {
		.paths = rounds->weights.paths,
		.path_count = rounds->weights.path_count,
		.layers = rounds->layers,
		.layer_count = layer_count,
		.visit_count = layer_count,
		.budget_bytes = budget,
		.page_bytes = own->page_bytes,
		.bytes_per_s = rounds->bytes_per_s,
		.channel = own->channel,
		.cached = own->cached,
		.pace_bytes_per_s = own->pace_bytes_per_s,
		.planner = *planner,
		.plan = plan,
		.watch = watch,
		.watch_context = rounds,
	};
	if (plan) {
		conf.order = rounds->model.order;
		conf.visit_count = rounds->model.visit_count;
		conf.backward_count = rounds->model.backward_count;
	}
	return strata_stream_open(&conf, rounds->memory, &rounds->stream, err);
}

/* Arrays of each layer, and the layers as a stream takes them. */
static int list_layers(struct stream_rounds *rounds, struct strata_error *err)
{
	size_t count = rounds->weights.layer_count, most = 0;

	rounds->layers = strata_arena_array(rounds->arena, count, sizeof(*rounds->layers));
	rounds->digests = strata_arena_array(rounds->arena, count, sizeof(*rounds->digests));
	rounds->rounds = strata_arena_array(rounds->arena, (size_t)rounds->conf.round_count,
					    sizeof(*rounds->rounds));
	for (size_t i = 0; i < count; i++)
		if (rounds->weights.layers[i].tensor_count > most)
			most = rounds->weights.layers[i].tensor_count;
	rounds->tensors = strata_arena_array(rounds->arena, most, sizeof(*rounds->tensors));
	if (!rounds->layers || !rounds->digests || !rounds->rounds || !rounds->tensors)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		rounds->layers[i] =
			(struct strata_stream_layer){ rounds->weights.layers[i].name,
						      rounds->weights.layers[i].extents,
						      rounds->weights.layers[i].tensor_count, 0 };
	return 0;
}

int stream_rounds_open(struct stream_rounds *rounds, const struct stream_rounds_conf *conf,
		       const char *path, const char *group, struct strata_memory *memory,
		       struct strata_arena *arena, struct strata_error *err)
{
	*rounds = (struct stream_rounds){
		.conf = *conf, .memory = memory, .arena = arena, .spans = { .memory = memory }
	};
	int rc = strata_weights_read(path, group, arena, &rounds->weights, err);

	if (rc == 0)
		rc = list_layers(rounds, err);
	rounds->conf.bench.weights = &rounds->weights;
	return rc ? rc : stream_bench_open(&rounds->bench, &rounds->conf.bench, memory, err);
}

void stream_rounds_close(struct stream_rounds *rounds)
{
	struct stream_spans *spans = &rounds->spans;

	strata_memory_put(spans->memory, spans->items, spans->room * sizeof(*spans->items));
	stream_bench_close(&rounds->bench);
}

/* ---- computing alone ---- */

static size_t visit_count(const struct stream_rounds *rounds)
{
	return rounds->conf.schedule ? rounds->model.visit_count : rounds->weights.layer_count;
}

static uint32_t layer_at(const struct stream_rounds *rounds, size_t visit)
{
	return rounds->conf.schedule && rounds->model.order ? rounds->model.order[visit]
							    : (uint32_t)visit;
}

/* Every layer the plain way: what its digest is, and how long it computes. Then what that is for a step. */
static int compute_alone(struct stream_rounds *rounds, double *ret_ns, struct strata_error *err)
{
	double total = 0;

	for (uint32_t i = 0; i < rounds->weights.layer_count; i++) {
		int rc = stream_bench_compute_plain(&rounds->bench, i, &rounds->digests[i],
						    &rounds->layers[i].compute_ns, err);

		if (rc)
			return rc;
	}
	for (size_t v = 0; v < visit_count(rounds); v++)
		total += (double)rounds->layers[layer_at(rounds, v)].compute_ns;
	*ret_ns = total;
	return 0;
}

/* ---- steps ---- */

static int visit(struct stream_rounds *rounds, uint32_t layer, bool back, bool compute,
		 struct strata_error *err)
{
	const struct strata_weights_layer *of = &rounds->weights.layers[layer];
	int rc = strata_stream_hook(rounds->stream,
				    back ? STRATA_STAGE_PRE_BACKWARD : STRATA_STAGE_PRE_FORWARD,
				    layer, err);

	if (rc)
		return rc;
	if (compute) {
		for (size_t i = 0; i < of->tensor_count; i++)
			rounds->tensors[i] = strata_stream_at(rounds->stream, layer, i);
		int64_t begin = now_ns();
		uint64_t digest = stream_bench_compute(&rounds->bench, layer, rounds->tensors);

		add_span(&rounds->spans,
			 (struct stream_span){ STREAM_SPAN_COMPUTE, layer, begin, now_ns() });
		if (digest != rounds->digests[layer])
			return strata_fail(err, -EBADMSG,
					   "layer '%.64s' came out differently: %016" PRIx64
					   ", in memory %016" PRIx64,
					   of->name, digest, rounds->digests[layer]);
	}
	return strata_stream_hook(rounds->stream,
				  back ? STRATA_STAGE_POST_BACKWARD : STRATA_STAGE_POST_FORWARD,
				  layer, err);
}

static int step(struct stream_rounds *rounds, size_t visits, bool compute, double *ret_ns,
		struct strata_error *err)
{
	int64_t begin = now_ns();

	if (rounds->spans.on && rounds->spans.start_count < 2)
		rounds->spans.starts_ns[rounds->spans.start_count++] = begin;
	int rc = strata_stream_step_start(rounds->stream, err);

	for (size_t v = 0; rc == 0 && v < visits; v++)
		rc = visit(rounds, layer_at(rounds, v), v + rounds->model.backward_count >= visits,
			   compute, err);
	if (rc == 0)
		rc = strata_stream_step_end(rounds->stream, err);
	if (ret_ns)
		*ret_ns = (double)(now_ns() - begin);
	return rc;
}

/* ---- how fast it reads ---- */

/* Some layers, as many as give a figure, read one after the other with nothing else to do. */
static int calibrate(struct stream_rounds *rounds, struct strata_error *err)
{
	int64_t bytes = 0, largest = 0;
	uint32_t count = 0;
	double took;

	for (; count < rounds->weights.layer_count && bytes < CALIBRATE_BYTES; count++) {
		int64_t size = rounds->weights.layers[count].bytes;

		bytes += size;
		largest = size > largest ? size : largest;
	}
	rounds->bytes_per_s = 1000000000; /* for the plan of this */
	struct strata_spec planner;
	int rc = strata_spec_build(&strata_planner_kind, "stream", rounds->arena, &planner, err);

	if (rc == 0)
		rc = open_stream(rounds, count, 2 * (largest + rounds->conf.page_bytes), &planner,
				 NULL, err);
	if (rc == 0)
		rc = step(rounds, count, false, &took, err);
	strata_stream_close(rounds->stream);
	rounds->stream = NULL;
	if (rc == 0)
		rounds->bytes_per_s = (int64_t)((double)bytes / took * 1e9) + 1;
	return rc;
}

/* ---- rounds ---- */

static int run_round(struct stream_rounds *rounds, struct stream_round *round, bool last,
		     struct strata_error *err)
{
	size_t count = visit_count(rounds);
	int rc = compute_alone(rounds, &round->compute_ns, err);

	/* while it computed alone, what the last step had asked for came for nothing */
	if (rc == 0)
		rc = step(rounds, count, false, NULL, err);
	if (rc == 0)
		rc = step(rounds, count, false, &round->io_ns, err);
	rounds->spans.on = last && rounds->conf.spans;
	if (rc == 0 && last)
		rc = strata_stream_trace(rounds->stream, rounds->conf.trace, 1, 0, err);
	if (rc == 0) /* the first of these ends the other way of going on, and is not counted */
		rc = step(rounds, count, true, NULL, err);
	if (rc == 0)
		rc = step(rounds, count, true, &round->step_ns, err);
	rounds->spans.on = false;
	strata_stream_trace(rounds->stream, NULL, 0, 0, NULL);
	return rc;
}

static int run_rounds(struct stream_rounds *rounds, struct strata_error *err)
{
	int rc = open_stream(rounds, rounds->weights.layer_count, rounds->conf.budget_bytes,
			     &rounds->conf.planner, rounds->conf.schedule ? &rounds->plan : NULL,
			     err);

	if (rc == 0) /* what a step begins with is read before the first */
		rc = step(rounds, visit_count(rounds), false, NULL, err);
	for (int64_t i = 0; rc == 0 && i < rounds->conf.round_count; i++)
		rc = run_round(rounds, &rounds->rounds[i], i + 1 == rounds->conf.round_count, err);
	if (rc == 0) {
		const char *planner;

		strata_stream_metrics(rounds->stream, &rounds->metrics);
		planner =
			rounds->metrics.progress.plan->planner; /* the plan goes with the stream */
		rounds->metrics.progress.plan = NULL;
		rounds->planner = strata_arena_text(rounds->arena, planner, strlen(planner));
		rc = rounds->planner ? 0 : strata_fail_memory(err);
	}
	strata_stream_close(rounds->stream); /* what is on its way still counts */
	rounds->stream = NULL;
	return rc;
}

/* The kernel's own count: what it read from disks is what was asked of it, no less (then it was in the cache) and no more. */
static int check_disk(struct stream_rounds *rounds, int64_t before, int64_t plain_before,
		      struct strata_error *err)
{
	int64_t plain = rounds->bench.plain_bytes - plain_before;
	int64_t asked = rounds->metrics.bytes_asked, slack = asked / 100 + SLACK_BYTES;

	rounds->disk_bytes = -1;
	if (before < 0 || !rounds->metrics.direct)
		return 0;
	rounds->disk_bytes = stream_bench_disk_bytes() - before - plain;
	if (llabs(rounds->disk_bytes - asked) <= slack)
		return 0;
	return strata_fail(err, -EIO,
			   "the kernel read %" PRId64 " bytes from disks; %" PRId64
			   " were asked of it",
			   rounds->disk_bytes, asked);
}

static int read_schedule(struct stream_rounds *rounds, struct strata_error *err)
{
	const struct stream_rounds_conf *own = &rounds->conf;
	const struct strata_stage_machine machine = { .budget_bytes = own->budget_bytes,
						      .page_bytes = own->page_bytes,
						      .bytes_per_s = rounds->bytes_per_s };
	struct strata_stage_model known;
	int rc = strata_weights_model(&rounds->weights, 0, rounds->arena, &known, err);

	for (size_t i = 0; rc == 0 && i < known.layer_count; i++)
		((struct strata_stage_layer *)known.layers)[i].compute_ns =
			rounds->layers[i].compute_ns;
	if (rc == 0)
		rc = stage_schedule_plan(own->schedule, own->schedule_bytes, &machine, &known,
					 rounds->arena, &rounds->model, &rounds->plan, err);
	if (rc == 0 && rounds->model.layer_count != rounds->weights.layer_count)
		rc = strata_fail_at(err, -EINVAL, "schedule",
				    "the schedule is of %zu layers; the model has %zu",
				    rounds->model.layer_count, rounds->weights.layer_count);
	return rc;
}

int stream_rounds_run(struct stream_rounds *rounds, struct strata_error *err)
{
	double unused;
	int rc = compute_alone(rounds, &unused,
			       err); /* times for the plan, and what is to come out */

	rounds->bytes_per_s = rounds->conf.bytes_per_s ? rounds->conf.bytes_per_s
						       : rounds->conf.pace_bytes_per_s;
	if (rc == 0 && !rounds->bytes_per_s)
		rc = calibrate(rounds, err);
	if (rc == 0 && rounds->conf.schedule)
		rc = read_schedule(rounds, err);
	int64_t before = stream_bench_disk_bytes(), plain = rounds->bench.plain_bytes;

	if (rc == 0)
		rc = run_rounds(rounds, err);
	return rc ? rc : check_disk(rounds, before, plain, err);
}

/* ---- what came of it ---- */

static int by_value(const void *one, const void *two)
{
	double a = *(const double *)one, b = *(const double *)two;

	return a < b ? -1 : a > b;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct stream_result stream_rounds_judge(const struct stream_rounds *rounds)
{
	size_t count = (size_t)rounds->conf.round_count;
	double compute[STREAM_ROUNDS_MAX] = { 0 }, io[STREAM_ROUNDS_MAX] = { 0 },
	       steps[STREAM_ROUNDS_MAX] = { 0 }, bounds[STREAM_ROUNDS_MAX] = { 0 },
	       overlaps[STREAM_ROUNDS_MAX] = { 0 };
	struct stream_result result = { .steps = (int64_t)rounds->metrics.progress.steps };

	for (size_t i = 0; i < count; i++) {
		const struct stream_round *round = &rounds->rounds[i];

		compute[i] = round->compute_ns;
		io[i] = round->io_ns;
		steps[i] = round->step_ns;
		bounds[i] = compute[i] > io[i] ? compute[i] : io[i];
		overlaps[i] = bounds[i] / steps[i];
	}
	result.compute_ns = median(compute, count);
	result.io_ns = median(io, count);
	result.step_ns = median(steps, count);
	result.bound_ns = median(bounds, count);
	result.overlap = median(overlaps, count);
	result.bytes_per_step = rounds->metrics.bytes_asked / (result.steps ? result.steps : 1);
	return result;
}
