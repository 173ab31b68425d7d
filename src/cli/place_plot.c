/* A plan as pictures: what every device does and keeps and what the alternatives would take, as
 * SVG; the graph by device, for Graphviz. */
#include "cli/place_model.h"

#include "core/env.h"
#include "plot/svg.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>

enum { RESULTS_MAX = 24 };
#define MIB 1048576.0

static int write_buf(struct cli *cli, struct buf *buf, const char *path)
{
	int rc = buf_check(buf, &cli->err);

	return rc ? rc
		  : env_write_file(env_system(), AT_FDCWD, path, buf->text, buf->length, 0644,
				   &cli->err);
}

int place_plot(struct cli *cli, const struct place_answer *answer, const char *path)
{
	static const char *const time_series[] = { "computing", "with transfers" };
	static const char *const memory_series[] = { "weights", "KV", "activations" };
	static const char *const result_series[] = { "request", "pipeline" };
	const char *names[STRATA_PLACE_DEVICES_MAX], *strategies[RESULTS_MAX];
	double times[2 * STRATA_PLACE_DEVICES_MAX], bytes[3 * STRATA_PLACE_DEVICES_MAX];
	double results[2 * RESULTS_MAX];
	size_t d = answer->machine->device_count, r = answer->plan.result_count;
	struct buf buf;

	for (size_t i = 0; i < d; i++) {
		const struct strata_place_metrics *metrics = &answer->plan.devices[i];

		names[i] = answer->machine->devices[i].name;
		times[2 * i] = metrics->busy_ns / 1e6;
		times[2 * i + 1] = metrics->load_ns / 1e6;
		bytes[3 * i] = (double)metrics->weight_bytes / MIB;
		bytes[3 * i + 1] = (double)metrics->kv_bytes / MIB;
		bytes[3 * i + 2] = (double)metrics->activation_bytes / MIB;
	}
	r = r < RESULTS_MAX ? r : RESULTS_MAX;
	for (size_t i = 0; i < r; i++) {
		const struct strata_place_result *result = &answer->plan.results[i];

		strategies[i] = result->strategy;
		results[2 * i] = result->fits ? result->latency_ns / 1e6 : NAN;
		results[2 * i + 1] = result->fits ? result->load_ns / 1e6 : NAN;
	}
	struct svg_bars time = { .title = "Time per request",
				 .subtitle = answer->model->name,
				 .y = { "ms" },
				 .groups = names,
				 .group_count = d,
				 .series = time_series,
				 .series_count = 2,
				 .values = times };
	struct svg_bars memory = { .title = "Memory",
				   .y = { "MiB" },
				   .groups = names,
				   .group_count = d,
				   .series = memory_series,
				   .series_count = 3,
				   .values = bytes };
	struct svg_bars others = { .title = "What each strategy would take",
				   .y = { "ms" },
				   .groups = strategies,
				   .group_count = r,
				   .series = result_series,
				   .series_count = 2,
				   .values = results };
	struct svg_panel panels[] = { { .bars = &time }, { .bars = &memory }, { .bars = &others } };

	buf_init(&buf, &cli->memory, 0);
	int rc = svg_add_page(&buf, panels, 3, &cli->arena, &cli->err);

	if (rc == 0)
		rc = write_buf(cli, &buf, path);
	buf_fini(&buf);
	return rc;
}

/* A text between quotes of Graphviz. */
static void add_quoted(struct buf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_add_char(buf, '\\');
		buf_add_char(buf, *text == '\n' ? ' ' : *text);
	}
}

static void add_device(struct buf *buf, const struct place_answer *answer, size_t device)
{
	static const char *const colours[] = { "#56b4e9", "#e69f00", "#009e73", "#f0e442",
					       "#cc79a7", "#d55e00", "#0072b2", "#999999" };
	const struct strata_graph *graph = answer->model->graph;

	buf_printf(buf, "  subgraph cluster_%zu {\n    label=\"", device);
	add_quoted(buf, answer->machine->devices[device].name);
	buf_printf(buf, "\";\n    node [style=filled, fillcolor=\"%s\"];\n",
		   colours[device % (sizeof(colours) / sizeof(colours[0]))]);
	for (size_t i = 0; i < graph->op_count; i++) {
		if (answer->plan.device[i] != device)
			continue;
		buf_printf(buf, "    n%zu [label=\"", i);
		add_quoted(buf, *graph->ops[i].name ? graph->ops[i].name : graph->ops[i].kind);
		buf_printf(buf, "\\n%.3g us\"];\n",
			   (answer->plan.finish_ns[i] - answer->plan.start_ns[i]) / 1e3);
	}
	buf_add(buf, "  }\n");
}

int place_dot(struct cli *cli, const struct place_answer *answer, const char *path)
{
	const struct strata_graph *graph = answer->model->graph;
	struct buf buf;

	buf_init(&buf, &cli->memory, 0);
	buf_add(&buf, "digraph plan {\n  rankdir=TB;\n  node [shape=box];\n");
	for (size_t d = 0; d < answer->machine->device_count; d++)
		if (answer->plan.devices[d].op_count)
			add_device(&buf, answer, d);
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct strata_edge *edge = &graph->edges[e];
		bool crosses = answer->plan.device[edge->from] != answer->plan.device[edge->to];

		buf_printf(&buf, "  n%u -> n%u%s;\n", edge->from, edge->to,
			   crosses ? " [color=red]" : "");
	}
	buf_add(&buf, "}\n");
	int rc = write_buf(cli, &buf, path);

	buf_fini(&buf);
	return rc;
}
