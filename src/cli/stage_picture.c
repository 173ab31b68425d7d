/*
 * Pictures of a run: what computed and what was read when. A chart has a lane for computing, one
 * for the channel, and one for each layer as long as there are not too many; a trace for
 * ui.perfetto.dev is written by the stream itself.
 */
#include "cli/stage_run.h"

#include "plot/svg_lanes.h"

#include <stdio.h>

enum { LAYER_LANES_MAX = 64, COMPUTE_LANE = 0, CHANNEL_LANE = 1, FIRST_LAYER_LANE = 2 };

/* ---- the chart ---- */

struct drawing {
	const struct stream_spans *spans;
	const struct strata_weights *weights;
	struct svg_box *boxes;
	size_t box_count;
	bool layer_lanes;
};

static double ms_since(const struct stream_spans *spans, int64_t time_ns)
{
	return (double)(time_ns - spans->starts_ns[0]) / 1e6;
}

static void add_box(struct drawing *drawing, const struct stream_span *span, size_t lane,
		    int64_t begin_ns)
{
	double begin = ms_since(drawing->spans, begin_ns);
	double end = ms_since(drawing->spans, span->end_ns);
	struct svg_box *last = drawing->box_count ? &drawing->boxes[drawing->box_count - 1] : NULL;
	const char *name = drawing->weights->layers[span->layer].name;

	if (end <= 0 || drawing->box_count == SVG_BOXES_MAX) /* before the first step */
		return;
	begin = begin < 0 ? 0 : begin;
	if (last && span->kind == STREAM_SPAN_READ && last->lane == lane && last->name == name &&
	    begin - last->end < 0.05) { /* pages of one layer, one after the other */
		last->end = end > last->end ? end : last->end;
		return;
	}
	drawing->boxes[drawing->box_count++] =
		(struct svg_box){ lane,
				  span->layer,
				  begin,
				  end,
				  lane >= FIRST_LAYER_LANE && span->kind == STREAM_SPAN_READ,
				  name };
}

/* Reads overlap each other with a disk that has several at once; on one lane each begins where the
 * one before it ended. */
static void draw_reads(struct drawing *drawing, bool by_layer)
{
	int64_t free_ns = 0;

	for (size_t i = 0; i < drawing->spans->count; i++) {
		const struct stream_span *span = &drawing->spans->items[i];

		if (span->kind != STREAM_SPAN_READ)
			continue;
		add_box(drawing, span, by_layer ? FIRST_LAYER_LANE + span->layer : CHANNEL_LANE,
			span->begin_ns > free_ns ? span->begin_ns : free_ns);
		free_ns = span->end_ns > free_ns ? span->end_ns : free_ns;
	}
}

static void draw_computing(struct drawing *drawing)
{
	for (size_t i = 0; i < drawing->spans->count; i++) {
		const struct stream_span *span = &drawing->spans->items[i];

		if (span->kind != STREAM_SPAN_COMPUTE)
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

int stage_picture_plot(struct cli *cli, const struct stream_spans *spans,
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

int stage_trace_open(struct cli *cli, const char *path, struct stage_trace *trace)
{
	const struct strata_trace_conf conf = { .pid = 1,
						.process_name = "stage",
						.clock_name = "realtime",
						.offset_ns = env_realtime_offset_ns(env_system()) };
	struct strata_trace_sink sink = cli_draft_sink(&trace->draft);
	int rc = env_draft_open(&trace->draft, env_system(), AT_FDCWD, path, &cli->err);

	if (rc)
		return rc;
	rc = strata_trace_open(&cli->memory, &conf, &sink, &trace->trace, &cli->err);
	if (rc)
		env_draft_drop(&trace->draft);
	return rc;
}

int stage_trace_close(struct cli *cli, struct stage_trace *trace, int rc)
{
	if (!trace->trace)
		return rc;
	int ended = strata_trace_close(trace->trace, rc ? NULL : &cli->err);

	return cli_draft_end(cli, &trace->draft, rc ? rc : ended);
}
