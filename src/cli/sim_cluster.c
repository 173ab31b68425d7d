/* strata sim cluster: replays a trace of jobs through the cluster level and measures what came of it. */
#include "cli/cli.h"

#include "core/env.h"
#include "formats/openb.h"
#include "formats/starts.h"
#include "sim/input.h"
#include "sim/metrics.h"
#include "sim/replay.h"
#include "sim/series.h"
#include "sim/svg.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct sim_conf {
	int64_t procs;
	const char *nodes, *order, *placement, *backfill, *predict, *compare, *windows, *starts,
		*plot;
};

static const struct strata_option sim_options[] = {
	{ "procs", STRATA_INT, offsetof(struct sim_conf, procs), .integer = { 0, 0, INT32_MAX },
	  .help = "processors of the machine; the trace's own number when left out" },
	{ "nodes", STRATA_TEXT, offsetof(struct sim_conf, nodes), .value = "FILE",
	  .help = "CSV of nodes (sn, cpu_milli, memory_mib, gpu, model) instead of one flat pool" },
	{ "order", STRATA_TEXT, offsetof(struct sim_conf, order), .text = { "fifo" },
	  .value = "SPEC", .help = "order of the queue" },
	{ "placement", STRATA_TEXT, offsetof(struct sim_conf, placement), .text = { "best_fit" },
	  .value = "SPEC", .help = "choice of nodes" },
	{ "backfill", STRATA_TEXT, offsetof(struct sim_conf, backfill), .text = { "easy" },
	  .value = "SPEC", .help = "who may start out of order" },
	{ "predict", STRATA_TEXT, offsetof(struct sim_conf, predict), .text = { "requested" },
	  .value = "SPEC", .aliases = "prediction", .help = "how long jobs are taken to run" },
	{ "compare", STRATA_TEXT, offsetof(struct sim_conf, compare), .value = "O/B/R,…",
	  .help = "several order/backfill/prediction side by side" },
	{ "windows", STRATA_TEXT, offsetof(struct sim_conf, windows), .value = "I,I,…:N",
	  .help = "windows of N jobs from these indices, each on an empty machine" },
	{ "starts", STRATA_TEXT, offsetof(struct sim_conf, starts), .value = "FILE",
	  .help = "write job_id,start as CSV" },
	{ "plot", STRATA_TEXT, offsetof(struct sim_conf, plot), .value = "FILE",
	  .help = "write a plot as SVG" },
	{ 0 }
};
static const struct strata_schema sim_schema = { "sim cluster", NULL, sizeof(struct sim_conf),
						 sim_options };

enum { COMPARE_MAX = 8, WINDOWS_MAX = 64 };

/* One combination of classes and what came of it. */
struct trial {
	const char *order, *backfill, *prediction;
	struct strata_cluster_conf classes;
	struct metrics_job *jobs; /* of the last window */
	size_t job_count;
	struct metrics metrics; /* means over windows, where there are several */
	double window_bsld[WINDOWS_MAX];
	double wall_ms;
	uint64_t passes;
};

struct sim {
	struct cli *cli;
	const struct sim_conf *conf;
	struct replay_machine machine;
	struct strata_swf_arrival *arrivals;
	size_t arrival_count, left_out;
	size_t windows[WINDOWS_MAX], window_count, window_length;
	struct trial trials[COMPARE_MAX];
	size_t trial_count;
	struct strata_registry
		*registries[5]; /* one per kind, NULL behind them; the specs borrow from them */
	struct cli_progress progress;
};

static int read_spec(struct sim *sim, const struct strata_kind *kind, const char *text,
		     struct strata_spec *ret_spec)
{
	struct strata_registry **slot = sim->registries;
	int rc = 0;

	while (*slot && strata_registry_kind(*slot) != kind)
		slot++;
	if (!*slot)
		rc = cli_registry_open(sim->cli, kind, slot);
	return rc ? rc
		  : strata_spec_read(*slot, text, strlen(text), &sim->cli->arena, ret_spec,
				     &sim->cli->err);
}

static int add_trial(struct sim *sim, const char *order, const char *backfill,
		     const char *prediction)
{
	struct trial *trial = &sim->trials[sim->trial_count++];
	int rc = read_spec(sim, &strata_order_kind, order, &trial->classes.order);

	trial->order = order;
	trial->backfill = backfill;
	trial->prediction = prediction;
	if (rc == 0)
		rc = read_spec(sim, &strata_placement_kind, sim->conf->placement,
			       &trial->classes.placement);
	if (rc == 0)
		rc = read_spec(sim, &strata_backfill_kind, backfill, &trial->classes.backfill);
	if (rc == 0)
		rc = read_spec(sim, &strata_prediction_kind, prediction,
			       &trial->classes.prediction);
	return rc;
}

/* "fifo/easy/requested,fifo/easy_sjbf/user_last2" */
static int read_compare(struct sim *sim)
{
	const char *at = sim->conf->compare;
	int rc = 0;

	if (!at)
		return add_trial(sim, sim->conf->order, sim->conf->backfill, sim->conf->predict);
	for (; rc == 0 && *at; at += *at == ',') {
		const char *parts[3] = { sim->conf->order, sim->conf->backfill,
					 sim->conf->predict };

		if (sim->trial_count == COMPARE_MAX)
			return strata_fail(&sim->cli->err, -EINVAL,
					   "--compare has more than %d entries", COMPARE_MAX);
		for (int i = 0; i < 3; i++) {
			size_t span = strcspn(at, "/,");

			if (span)
				parts[i] = strata_arena_text(&sim->cli->arena, at, span);
			if (!parts[i])
				return strata_fail_memory(&sim->cli->err);
			at += span;
			if (*at != '/')
				break;
			at++;
		}
		if (*at && *at != ',')
			return strata_fail(
				&sim->cli->err, -EINVAL,
				"--compare is '%.60s'; expected ORDER/BACKFILL/PREDICTION,…",
				sim->conf->compare);
		rc = add_trial(sim, parts[0], parts[1], parts[2]);
	}
	return rc;
}

static int read_windows(struct sim *sim)
{
	const char *at = sim->conf->windows, *colon = at ? strchr(at, ':') : NULL;
	int64_t number;

	if (!at)
		return 0;
	if (!colon || strata_int_parse(colon + 1, STRATA_TEXT_NUL, 1, INT32_MAX, &number, NULL))
		return strata_fail(&sim->cli->err, -EINVAL,
				   "--windows is '%.60s'; expected I,I,…:N", at);
	sim->window_length = (size_t)number;
	while (at < colon) {
		size_t span = strcspn(at, ",:");

		if (sim->window_count == WINDOWS_MAX ||
		    strata_int_parse(at, span, 0, INT32_MAX, &number, NULL))
			return strata_fail(&sim->cli->err, -EINVAL,
					   "--windows is '%.60s'; expected up to %d indices", at,
					   WINDOWS_MAX);
		sim->windows[sim->window_count++] = (size_t)number;
		at += span + 1;
	}
	return 0;
}

static int read_trace(struct sim *sim, const char *path, struct strata_swf *ret_swf)
{
	struct cli *cli = sim->cli;
	const char *text;
	size_t length;
	int rc = input_read(env_system(), path, STRATA_INPUT_BYTES_MAX, &cli->arena, &text, &length,
			    &cli->err);

	if (rc == 0)
		rc = strata_swf_read(text, length, &cli->arena, ret_swf, &cli->err);
	if (rc == 0)
		rc = strata_swf_load(ret_swf,
				     sim->window_count ? STRATA_SWF_WINDOWS : STRATA_SWF_PLAIN,
				     &cli->arena, &sim->arrivals, &sim->arrival_count,
				     &sim->left_out, &cli->err);
	for (size_t i = 0; rc == 0 && i < sim->window_count; i++)
		if (sim->windows[i] + sim->window_length > sim->arrival_count)
			rc = strata_fail(&cli->err, -EINVAL,
					 "the window from %zu ends past the trace's %zu jobs",
					 sim->windows[i], sim->arrival_count);
	if (rc == 0 && sim->arrival_count == 0)
		rc = strata_fail(&cli->err, -EINVAL, "%s has no job that can be replayed", path);
	return rc;
}

/* A flat pool is one node with so many cores. */
static int flat_machine(struct sim *sim, const struct strata_swf *swf)
{
	int64_t procs = sim->conf->procs ? sim->conf->procs : strata_swf_procs(swf);
	struct strata_node_conf *node = strata_arena_get(&sim->cli->arena, sizeof(*node));

	if (!node)
		return strata_fail_memory(&sim->cli->err);
	if (procs < 1)
		return strata_fail(&sim->cli->err, -EINVAL,
				   "the trace does not say how many processors its machine had; "
				   "give --procs N");
	*node = (struct strata_node_conf){ .name = "pool", .cpu_milli = procs * 1000 };
	sim->machine = (struct replay_machine){ node, 1, true, procs };
	return 0;
}

static int node_machine(struct sim *sim)
{
	struct cli *cli = sim->cli;
	struct openb_node *rows;
	const char *text;
	size_t length, count;
	int rc = input_read(env_system(), sim->conf->nodes, STRATA_INPUT_BYTES_MAX, &cli->arena,
			    &text, &length, &cli->err);

	if (rc == 0)
		rc = openb_read_nodes(text, length, &cli->arena, &rows, &count, &cli->err);
	if (rc)
		return rc;
	struct strata_node_conf *nodes = strata_arena_array(&cli->arena, count, sizeof(*nodes));

	if (!nodes)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < count; i++) {
		nodes[i] = (struct strata_node_conf){
			.name = rows[i].name,
			.cpu_milli = rows[i].cpu_milli,
			.memory_bytes = rows[i].memory_mib << 20,
			.gpu_count = (uint32_t)rows[i].gpu_count,
			.gpu_type = rows[i].gpu_model,
		};
		sim->machine.capacity += rows[i].gpu_count;
	}
	for (size_t i = 0; sim->machine.capacity == 0 && i < count; i++)
		sim->machine.capacity += rows[i].cpu_milli / 1000;
	if (count == 0)
		return strata_fail(&cli->err, -EINVAL, "%s has no nodes", sim->conf->nodes);
	sim->machine.nodes = nodes;
	sim->machine.node_count = count;
	return 0;
}

static bool show_progress(void *context, size_t ended, size_t total)
{
	struct sim *sim = context;

	(void)total;
	if (ended % 1024 == 0)
		cli_progress_show(&sim->progress, (double)ended);
	return true;
}

/* Replays one stretch of the trace and adds its measures to the trial's. */
static int run_stretch(struct sim *sim, struct trial *trial, size_t from, size_t count,
		       struct metrics *ret_metrics)
{
	struct cli *cli = sim->cli;
	struct replay_conf conf = {
		.cluster = trial->classes,
		.machine = &sim->machine,
		.arrivals = sim->arrivals + from,
		.arrival_count = count,
		.progress = show_progress,
		.progress_context = sim,
	};
	struct replay_result result;

	cli_progress_start(&sim->progress, cli, trial->backfill, (double)count);
	int rc = replay_run(&conf, &cli->arena, &result, &cli->err);

	cli_progress_end(&sim->progress);
	if (rc)
		return rc;
	trial->jobs = result.jobs;
	trial->job_count = count;
	trial->passes += result.passes;
	return metrics_measure(result.jobs, count, sim->machine.capacity, &cli->arena, ret_metrics,
			       &cli->err);
}

static int run_trial(struct sim *sim, struct trial *trial)
{
	int64_t start_ns = env_now_ns(env_system(), ENV_MONOTONIC);
	struct metrics *total = &trial->metrics;
	int rc = 0;

	if (!sim->window_count)
		rc = run_stretch(sim, trial, 0, sim->arrival_count, total);
	for (size_t i = 0; rc == 0 && i < sim->window_count; i++) {
		struct metrics one;
		double part = 1.0 / (double)sim->window_count;

		rc = run_stretch(sim, trial, sim->windows[i], sim->window_length, &one);
		if (rc)
			break;
		trial->window_bsld[i] = one.avg_bsld;
		total->jobs += one.jobs;
		total->mean_wait_s += one.mean_wait_s * part;
		total->avg_bsld += one.avg_bsld * part;
		total->makespan_s += one.makespan_s * part;
		total->utilization += one.utilization * part;
		total->user_jain += one.user_jain * part;
		if (one.max_wait_s > total->max_wait_s)
			total->max_wait_s = one.max_wait_s;
	}
	trial->wall_ms = (double)(env_now_ns(env_system(), ENV_MONOTONIC) - start_ns) / 1e6;
	return rc;
}

static json_t *trial_json(const struct sim *sim, const struct trial *trial)
{
	const struct metrics *m = &trial->metrics;
	json_t *json = json_pack(
		"{s:s,s:s,s:s,s:s,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:f}", "order", trial->order,
		"placement", sim->conf->placement, "backfill", trial->backfill, "prediction",
		trial->prediction, "jobs", (json_int_t)m->jobs, "mean_wait_s", m->mean_wait_s,
		"avg_bsld", m->avg_bsld, "max_wait_s", m->max_wait_s, "makespan_s", m->makespan_s,
		"utilization", m->utilization, "user_jain", m->user_jain, "passes",
		(json_int_t)trial->passes, "wall_ms", trial->wall_ms);
	json_t *windows = json && sim->window_count ? json_array() : NULL;

	for (size_t i = 0; windows && i < sim->window_count; i++)
		json_array_append_new(windows, json_real(trial->window_bsld[i]));
	if (windows)
		json_object_set_new(json, "window_bsld", windows);
	return json;
}

static int print_json(struct sim *sim)
{
	if (!sim->conf->compare)
		return cli_print_json(sim->cli, trial_json(sim, &sim->trials[0]));
	json_t *list = json_array();

	for (size_t i = 0; list && i < sim->trial_count; i++)
		json_array_append_new(list, trial_json(sim, &sim->trials[i]));
	return cli_print_json(sim->cli, list);
}

static int print_table(struct sim *sim)
{
	static const struct cli_column columns[] = {
		{ "ORDER", .style = CLI_BOLD },
		{ "BACKFILL" },
		{ "PREDICTION" },
		{ "JOBS", .right = true },
		{ "MEAN WAIT", .right = true },
		{ "SLOWDOWN", .right = true },
		{ "MAX WAIT", .right = true },
		{ "MAKESPAN", .right = true },
		{ "BUSY", .right = true },
		{ "FAIR", .right = true },
		{ "TOOK", .right = true },
	};
	struct cli_table *table;
	int rc = cli_table_new(sim->cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	for (size_t i = 0; rc == 0 && i < sim->trial_count; i++) {
		const struct trial *trial = &sim->trials[i];
		const struct metrics *m = &trial->metrics;
		char wait[STRATA_FORM_BYTES], most[STRATA_FORM_BYTES], span[STRATA_FORM_BYTES],
			took[STRATA_FORM_BYTES];

		cli_table_add(table, "%s", trial->order);
		cli_table_add(table, "%s", trial->backfill);
		cli_table_add(table, "%s", trial->prediction);
		cli_table_add(table, "%zu", m->jobs);
		cli_table_add(table, "%s",
			      strata_duration_print_short((int64_t)(m->mean_wait_s * 1e9), wait));
		cli_table_add(table, "%.2f", m->avg_bsld);
		cli_table_add(table, "%s",
			      strata_duration_print_short((int64_t)(m->max_wait_s * 1e9), most));
		cli_table_add(table, "%s",
			      strata_duration_print_short((int64_t)(m->makespan_s * 1e9), span));
		cli_table_add(table, "%.1f %%", m->utilization * 100);
		cli_table_add(table, "%.2f", m->user_jain);
		cli_table_add(table, "%s",
			      strata_duration_print_short((int64_t)(trial->wall_ms * 1e6), took));
	}
	return rc ? rc : cli_table_print(table);
}

static int write_file(struct sim *sim, const char *path, const struct buf *buf)
{
	int rc = buf_check(buf, &sim->cli->err);

	return rc ? rc
		  : env_write_file(env_system(), AT_FDCWD, path, buf->text, buf->length, 0644,
				   &sim->cli->err);
}

static int write_starts(struct sim *sim)
{
	const struct trial *trial = &sim->trials[0];
	struct starts_row *rows =
		strata_arena_array(&sim->cli->arena, trial->job_count, sizeof(*rows));
	struct buf buf;

	if (sim->window_count || sim->conf->compare)
		return strata_fail(&sim->cli->err, -EINVAL,
				   "--starts goes with one run over the whole trace, not with "
				   "--windows or --compare");
	if (!rows)
		return strata_fail_memory(&sim->cli->err);
	for (size_t i = 0; i < trial->job_count; i++)
		rows[i] = (struct starts_row){ sim->arrivals[i].number, trial->jobs[i].start_ns };
	buf_init(&buf, &sim->cli->memory, 0);
	starts_add(&buf, rows, trial->job_count);
	int rc = write_file(sim, sim->conf->starts, &buf);

	buf_fini(&buf);
	return rc;
}

static const char *trial_name(struct sim *sim, const struct trial *trial)
{
	return strata_arena_printf(&sim->cli->arena, "%s / %s / %s", trial->order, trial->backfill,
				   trial->prediction);
}

/* Busy processors and waiting jobs over time, and with several trials their slowdowns as bars. */
static int write_plot(struct sim *sim)
{
	enum { BINS = 400 };
	struct cli *cli = sim->cli;
	struct svg_series busy[COMPARE_MAX], waiting[COMPARE_MAX];
	const char *names[COMPARE_MAX];
	double slowdowns[COMPARE_MAX];
	struct buf buf;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sim->trial_count; i++) {
		const struct trial *trial = &sim->trials[i];
		struct series curve, mean;

		names[i] = trial_name(sim, trial);
		slowdowns[i] = trial->metrics.avg_bsld;
		rc = names[i] ? series_make(trial->jobs, trial->job_count, SERIES_BUSY, &cli->arena,
					    &curve, &cli->err)
			      : strata_fail_memory(&cli->err);
		if (rc == 0)
			rc = series_average(&curve, BINS, &cli->arena, &mean, &cli->err);
		for (size_t k = 0; rc == 0 && k < mean.count; k++)
			mean.y[k] *= 100.0 / (double)sim->machine.capacity;
		busy[i] = (struct svg_series){ names[i], mean.x, mean.y, mean.count };
		if (rc == 0)
			rc = series_make(trial->jobs, trial->job_count, SERIES_WAITING, &cli->arena,
					 &curve, &cli->err);
		if (rc == 0)
			rc = series_average(&curve, BINS, &cli->arena, &mean, &cli->err);
		waiting[i] = (struct svg_series){ names[i], mean.x, mean.y, mean.count };
	}
	if (rc)
		return rc;
	struct svg_lines use = { .title = "Machine in use",
				 .x = { "time", SVG_TIME },
				 .y = { "busy [%]", .max = 100 },
				 .series = busy,
				 .series_count = sim->trial_count,
				 .steps = true };
	struct svg_lines queue = { .title = "Jobs waiting",
				   .x = { "time", SVG_TIME },
				   .y = { "jobs" },
				   .series = waiting,
				   .series_count = sim->trial_count,
				   .steps = true };
	struct svg_bars bars = { .title = "Average bounded slowdown",
				 .y = { "slowdown", SVG_LOG },
				 .groups = (const char *const[]){ "" },
				 .group_count = 1,
				 .series = names,
				 .series_count = sim->trial_count,
				 .values = slowdowns };
	struct svg_panel panels[] = { { .lines = &use }, { .lines = &queue }, { .bars = &bars } };

	buf_init(&buf, &cli->memory, 0);
	rc = svg_add_page(&buf, panels, sim->trial_count > 1 ? 3 : 2, &cli->arena, &cli->err);
	if (rc == 0)
		rc = write_file(sim, sim->conf->plot, &buf);
	buf_fini(&buf);
	return rc;
}

static int simulate(struct sim *sim, const char *path)
{
	struct strata_swf swf;
	int rc = read_compare(sim);

	if (rc == 0)
		rc = read_windows(sim);
	if (rc == 0)
		rc = read_trace(sim, path, &swf);
	if (rc == 0)
		rc = sim->conf->nodes ? node_machine(sim) : flat_machine(sim, &swf);
	for (size_t i = 0; rc == 0 && i < sim->trial_count; i++)
		rc = run_trial(sim, &sim->trials[i]);
	if (rc == 0 && sim->conf->starts)
		rc = write_starts(sim);
	if (rc == 0 && sim->conf->plot)
		rc = write_plot(sim);
	if (rc)
		return rc;
	if (sim->left_out && !sim->cli->globals.json)
		cli_note(sim->cli, "%zu jobs of the trace cannot be replayed and were left out",
			 sim->left_out);
	return sim->cli->globals.json ? print_json(sim) : print_table(sim);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct sim *sim = strata_arena_get(&cli->arena, sizeof(*sim));

	(void)operand_count;
	if (!sim)
		return strata_fail_memory(&cli->err);
	sim->cli = cli;
	sim->conf = conf;
	int rc = simulate(sim, operands[0]);

	for (struct strata_registry **registry = sim->registries; *registry; registry++)
		strata_registry_free(*registry);
	return rc;
}

const struct cli_command cli_sim_cluster = {
	.name = "sim cluster",
	.operands = "TRACE.swf[.gz]",
	.summary = "replay a trace of jobs under a policy and measure it",
	.about = "The trace is in the Standard Workload Format, plain or compressed; - reads it "
		 "from standard input. The same\n"
		 "decisions as in the service are made on a virtual clock. Orders, placements, "
		 "backfills and predictions are\n"
		 "classes: `strata classes order` lists them.",
	.examples = "  strata sim cluster kth.swf.gz --backfill easy\n"
		    "  strata sim cluster kth.swf.gz --compare "
		    "fifo/none,fifo/easy,fifo/easy_sjbf/learned --plot kth.svg\n"
		    "  strata sim cluster philly.swf.gz --procs 512 --order sjf --json",
	.options = &sim_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
