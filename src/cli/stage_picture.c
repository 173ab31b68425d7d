/*
 * Pictures of a run: what computed and what was read when. A chart has a lane for computing, one for the channel, and one for each layer as
 * long as there are not too many; a trace has the same for ui.perfetto.dev.
 */
#include "cli/stage_run.h"

#include "core/env.h"
#include "core/trace_stream.h"
#include "sim/svg_lanes.h"

#include <stdio.h>

enum { LAYER_LANES_MAX = 64, COMPUTE_LANE = 0, CHANNEL_LANE = 1, FIRST_LAYER_LANE = 2 };

void stage_spans_add(struct stage_spans *spans, struct stage_span span)
{
	if (!spans->on || spans->failed)
		return;
	if (spans->count == spans->room) {
		size_t room = spans->room ? 2 * spans->room : 1024;
		struct stage_span *items = strata_memory_resize(spans->memory, spans->items,
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

void stage_spans_fini(struct stage_spans *spans)
{
	strata_memory_put(spans->memory, spans->items, spans->room * sizeof(*spans->items));
}

/* ---- the chart ---- */

struct drawing {
	const struct stage_spans *spans;
	const struct strata_weights *weights;
	struct svg_box *boxes;
	size_t box_count;
	bool layer_lanes;
};

static double ms_since(const struct stage_spans *spans, int64_t time_ns)
{
	return (double)(time_ns - spans->starts_ns[0]) / 1e6;
}

static void add_box(struct drawing *drawing, const struct stage_span *span, size_t lane,
		    int64_t begin_ns)
{
	double begin = ms_since(drawing->spans, begin_ns);
	double end = ms_since(drawing->spans, span->end_ns);
	struct svg_box *last = drawing->box_count ? &drawing->boxes[drawing->box_count - 1] : NULL;
	const char *name = drawing->weights->layers[span->layer].name;

	if (end <= 0 || drawing->box_count == SVG_BOXES_MAX) /* before the first step */
		return;
	begin = begin < 0 ? 0 : begin;
	if (last && span->kind == STAGE_READ && last->lane == lane && last->name == name &&
	    begin - last->end < 0.05) { /* pages of one layer, one after the other */
		last->end = end > last->end ? end : last->end;
		return;
	}
	drawing->boxes[drawing->box_count++] = (struct svg_box){
		lane, span->layer, begin, end, lane >= FIRST_LAYER_LANE && span->kind == STAGE_READ,
		name
	};
}

/* Reads overlap each other with a disk that has several at once; on one lane each begins where the one before it ended. */
static void draw_reads(struct drawing *drawing, bool by_layer)
{
	int64_t free_ns = 0;

	for (size_t i = 0; i < drawing->spans->count; i++) {
		const struct stage_span *span = &drawing->spans->items[i];

		if (span->kind != STAGE_READ)
			continue;
		add_box(drawing, span, by_layer ? FIRST_LAYER_LANE + span->layer : CHANNEL_LANE,
			span->begin_ns > free_ns ? span->begin_ns : free_ns);
		free_ns = span->end_ns > free_ns ? span->end_ns : free_ns;
	}
}

static void draw_computing(struct drawing *drawing)
{
	for (size_t i = 0; i < drawing->spans->count; i++) {
		const struct stage_span *span = &drawing->spans->items[i];

		if (span->kind != STAGE_COMPUTE)
			continue;
		add_box(drawing, span, COMPUTE_LANE, span->begin_ns);
		if (drawing->layer_lanes)
			add_box(drawing, span, FIRST_LAYER_LANE + span->layer, span->begin_ns);
	}
}

static int draw(struct cli *cli, struct drawing *drawing, const char *subtitle, struct buf *buf)
{
	size_t layers = drawing->layer_lanes ? drawing->weights->layer_count : 0;
	struct svg_lane *lanes =
		strata_arena_array(&cli->arena, FIRST_LAYER_LANE + layers, sizeof(*lanes));
	double marks[2];
	struct svg_lanes chart = { .title = "Computing and reading",
				   .subtitle = subtitle,
				   .x = { .label = "time [ms]" },
				   .lanes = lanes,
				   .lane_count = FIRST_LAYER_LANE + layers,
				   .marks = marks };

	if (!lanes)
		return strata_fail_memory(&cli->err);
	lanes[COMPUTE_LANE] = (struct svg_lane){ "computing", true };
	lanes[CHANNEL_LANE] = (struct svg_lane){ "reading", true };
	for (size_t i = 0; i < layers; i++)
		lanes[FIRST_LAYER_LANE + i].name = drawing->weights->layers[i].name;
	for (; chart.mark_count < drawing->spans->start_count; chart.mark_count++)
		marks[chart.mark_count] =
			ms_since(drawing->spans, drawing->spans->starts_ns[chart.mark_count]);
	if (layers)
		draw_reads(drawing, true);
	draw_reads(drawing, false);
	draw_computing(drawing);
	chart.boxes = drawing->boxes;
	chart.box_count = drawing->box_count;
	return svg_add_lanes(buf, &chart, &cli->err);
}

int stage_picture_plot(struct cli *cli, const struct stage_spans *spans,
		       const struct strata_weights *weights, const char *subtitle, const char *path)
{
	struct drawing drawing = { .spans = spans,
				   .weights = weights,
				   .layer_lanes = weights->layer_count <= LAYER_LANES_MAX };
	struct buf buf;

	drawing.boxes = strata_arena_array(&cli->arena, SVG_BOXES_MAX, sizeof(*drawing.boxes));
	if (!drawing.boxes || spans->failed)
		return strata_fail_memory(&cli->err);
	buf_init(&buf, &cli->memory, 0);
	int rc = draw(cli, &drawing, subtitle, &buf);

	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, buf.text, buf.length, 0644,
				    &cli->err);
	buf_fini(&buf);
	return rc;
}

/* ---- the trace ---- */

enum { TRACE_PID = 1, COMPUTE_TID = 1, WAIT_TID = 2, FIRST_READ_TID = 3, READ_TIDS_MAX = 64 };

static int write_trace(void *context, const char *bytes, size_t count)
{
	return env_draft_add(context, bytes, count);
}

/* The first track on which nothing is going on at that time. */
static uint32_t read_track(int64_t *free_ns, size_t *count, const struct stage_span *span)
{
	size_t i = 0;

	while (i < *count && free_ns[i] > span->begin_ns && i + 1 < READ_TIDS_MAX)
		i++;
	*count = i >= *count ? i + 1 : *count;
	free_ns[i] = span->end_ns;
	return (uint32_t)i;
}

static void trace_spans(struct trace_stream *stream, const struct stage_spans *spans,
			const struct strata_weights *weights)
{
	int64_t free_ns[READ_TIDS_MAX] = { 0 };
	size_t tracks = 0;

	trace_stream_name_thread(stream, TRACE_PID, COMPUTE_TID, "computing");
	trace_stream_name_thread(stream, TRACE_PID, WAIT_TID, "waiting");
	for (size_t i = 0; i < spans->count; i++) {
		const struct stage_span *span = &spans->items[i];
		struct strata_trace_arg bytes = strata_trace_int("bytes", span->bytes);
		size_t before = tracks;
		uint32_t tid = span->kind == STAGE_COMPUTE ? COMPUTE_TID
			       : span->kind == STAGE_WAIT
				       ? WAIT_TID
				       : FIRST_READ_TID + read_track(free_ns, &tracks, span);

		if (tracks != before)
			trace_stream_name_thread(stream, TRACE_PID, tid, "reading");
		trace_stream_slice(stream, &(struct trace_slice){
						   .pid = TRACE_PID,
						   .tid = tid,
						   .start_ns = span->begin_ns,
						   .end_ns = span->end_ns,
						   .name = weights->layers[span->layer].name,
						   .args = &bytes,
						   .arg_count = span->kind == STAGE_READ,
					   });
	}
}

int stage_picture_trace(struct cli *cli, const struct stage_spans *spans,
			const struct strata_weights *weights, const char *path)
{
	static const struct strata_trace_conf conf = { TRACE_PID, "stage", "monotonic" };
	struct env_draft draft;
	struct strata_trace_sink sink = { write_trace, &draft };
	struct trace_stream stream;

	if (spans->failed)
		return strata_fail_memory(&cli->err);
	int rc = env_draft_open(&draft, env_system(), AT_FDCWD, path, &cli->err);

	if (rc)
		return rc;
	trace_stream_begin(&stream, &conf, &sink);
	trace_spans(&stream, spans, weights);
	rc = trace_stream_end(&stream, &cli->err);
	if (rc == 0)
		return env_draft_keep(&draft, 0644, &cli->err);
	env_draft_drop(&draft);
	return rc;
}
