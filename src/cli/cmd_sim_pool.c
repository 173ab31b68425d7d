/* strata sim pool: replays requests through the pool level and measures what came of it. */
#include "cli/task_history.h"

#include "core/env.h"
#include "sim/input.h"
#include "sim/pool_replay.h"
#include "sim/series.h"
#include "plot/svg.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <math.h>
#include <string.h>

struct pool_options {
	const char *policy, *plot, *trace, *since, *model;
	bool history;
	int64_t workers, steps_per_pick, batch_max, batch_wait_ns, memory_bytes;
	double load, batch_cost;
	bool preempt;
};

enum { TRIALS_MAX = 16 };

/* One policy and what came of it. */
struct trial {
	const char *name; /* as it was asked for */
	struct strata_spec policy;
	struct pool_replay_result result;
	struct metrics metrics;
	double wall_ms;
};

struct pool_sim {
	struct cli *cli;
	const struct pool_options *options;
	struct requests requests;
	struct trial trials[TRIALS_MAX];
	size_t trial_count;
	struct pool_gantt *gantt; /* NULL: none is wanted */
	struct cli_progress progress;
};

static const struct strata_option pool_rows[] = {
	{ "policy", STRATA_TEXT, offsetof(struct pool_options, policy), .text = { "fifo" },
	  .value = "SPEC,…", .help = "who goes first; several are run side by side" },
	{ "history", STRATA_BOOL, offsetof(struct pool_options, history),
	  .help = "the service's own tasks instead of a trace, and how they really went" },
	{ "since", STRATA_TEXT, offsetof(struct pool_options, since), .value = "TIME",
	  .help = "of --history: only tasks asked for since: 7d (ago), or a time" },
	{ "model", STRATA_TEXT, offsetof(struct pool_options, model), .value = "NAME",
	  .help = "of --history: whose tasks, when there are several models" },
	{ "workers", STRATA_INT, offsetof(struct pool_options, workers), .letter = 'w',
	  .integer = { 1, 1, 65536 }, .help = "workers, each with one batch at a time" },
	{ "load", STRATA_REAL, offsetof(struct pool_options, load), .real = { 0, 0, 1000 },
	  .help = "arrivals are brought nearer so that the workers are busy this part of the time "
		  "(0: as they are)" },
	{ "steps_per_pick", STRATA_INT, offsetof(struct pool_options, steps_per_pick),
	  .integer = { 1, 0, STRATA_TASK_STEPS_MAX },
	  .help = "steps until a worker asks again (0: whole tasks)" },
	{ "preempt", STRATA_BOOL, offsetof(struct pool_options, preempt),
	  .help = "tasks give way at step boundaries where the policy says so" },
	{ "batch_max", STRATA_INT, offsetof(struct pool_options, batch_max),
	  .integer = { 1, 1, STRATA_BATCH_MAX }, .help = "tasks of one model and shape at a time" },
	{ "batch_cost", STRATA_REAL, offsetof(struct pool_options, batch_cost),
	  .real = { 1, 0, 10 },
	  .help = "what each task more adds to the time of a batch, as a part of its longest" },
	{ "batch_wait", STRATA_DURATION, offsetof(struct pool_options, batch_wait_ns), .unit = "s",
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX },
	  .help = "how long to wait for a fuller batch" },
	{ "memory", STRATA_BYTES, offsetof(struct pool_options, memory_bytes),
	  .integer = { 0, 0, STRATA_TASK_MEMORY_BYTES_MAX },
	  .help = "memory of a worker, where the trace says what tasks need (0: not counted)" },
	{ "plot", STRATA_TEXT, offsetof(struct pool_options, plot), .value = "FILE",
	  .help = "write a plot as SVG" },
	{ "trace", STRATA_TEXT, offsetof(struct pool_options, trace), .value = "FILE",
	  .help = "write a timeline as JSON, for ui.perfetto.dev; with one policy" },
	{ 0 }
};
static const struct strata_schema pool_schema = { "sim pool", NULL, sizeof(struct pool_options),
						  pool_rows };

/* ---- reading ---- */

static int read_policies(struct pool_sim *sim)
{
	struct cli *cli = sim->cli;
	const char *text = sim->options->policy;
	struct strata_spec *specs;
	size_t count;
	int rc = cli_spec_read_list(cli, &strata_policy_kind, text, &specs, &count);

	if (rc)
		return rc;
	size_t most = TRIALS_MAX - sim->options->history;

	if (count > most)
		return strata_fail(&cli->err, -EINVAL,
				   "--policy has %zu policies; expected up to %zu", count, most);
	if (count > 1 && sim->options->trace)
		return strata_fail(&cli->err, -EINVAL, "--trace goes with one policy");
	sim->trial_count = count;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		sim->trials[i].policy = specs[i];
		rc = strata_spec_print(&specs[i], &cli->arena, &sim->trials[i].name, &cli->err);
	}
	return rc;
}

/* The policies as the user wrote them, which is shorter than with every option. Where something is
 * quoted a comma may be part of one: then the whole specs stay. */
static int name_trials(struct pool_sim *sim)
{
	const char *at = sim->options->policy;

	if (strpbrk(at, "'\"\\"))
		return 0;
	for (size_t i = 0; i < sim->trial_count; i++) {
		size_t span = strcspn(at, ",");

		sim->trials[i].name = strata_arena_text(&sim->cli->arena, at, span);
		if (!sim->trials[i].name)
			return strata_fail_memory(&sim->cli->err);
		at += span + (at[span] == ',');
	}
	return 0;
}

static int read_trace(struct pool_sim *sim, const char *path)
{
	struct cli *cli = sim->cli;
	const char *text;
	size_t length;
	int rc = input_read(env_system(), path, STRATA_INPUT_BYTES_MAX, &cli->arena, &text, &length,
			    &cli->err);

	if (rc == 0)
		rc = requests_read(text, length, &cli->arena, &sim->requests, &cli->err);
	if (rc == 0 && sim->requests.count == 0)
		rc = strata_fail(&cli->err, -EINVAL, "%s has no requests", path);
	if (rc)
		return rc;
	if (sim->options->load > 0 && requests_load(&sim->requests, 1) == 0)
		return strata_fail(&cli->err, -EINVAL,
				   "--load cannot be reached: all requests come at once");
	requests_scale(&sim->requests, sim->options->workers, sim->options->load);
	return 0;
}

/* The service's own tasks; how they went is a trial before the others. */
static int read_history(struct pool_sim *sim)
{
	struct cli *cli = sim->cli;
	struct task_history history;
	int rc = task_history_read(cli, sim->options->since, sim->options->model, &history);

	if (rc)
		return rc;
	if (history.left_out && !cli->globals.json)
		cli_note(cli, "%zu task%s left out: not drawn to the end", history.left_out,
			 cli_plural(history.left_out));
	sim->requests = history.requests;
	memmove(&sim->trials[1], &sim->trials[0], sim->trial_count * sizeof(sim->trials[0]));
	sim->trials[0] = (struct trial){ .name = "as it was",
					 .result = { .jobs = history.jobs,
						     .job_count = history.requests.count } };
	sim->trial_count++;
	return metrics_measure(history.jobs, history.requests.count, sim->options->workers,
			       &cli->arena, &sim->trials[0].metrics, &cli->err);
}

static int check_options(struct pool_sim *sim, bool file)
{
	const struct pool_options *options = sim->options;
	struct strata_error *err = &sim->cli->err;

	if (options->history == file)
		return strata_fail(err, -EINVAL, "expected a trace or --history, one of them");
	if (!options->history && (options->since || options->model))
		return strata_fail(err, -EINVAL, "--since and --model go with --history");
	if (options->history && (options->load > 0 || options->trace))
		return strata_fail(err, -EINVAL,
				   "--history is replayed as it came, beside what it was: --load "
				   "and --trace do not go with it");
	return 0;
}

/* ---- running ---- */

static bool show_progress(void *context, size_t ended, size_t total)
{
	struct pool_sim *sim = context;

	(void)total;
	cli_progress_show(&sim->progress, (double)ended);
	return true;
}

static int run_trial(struct pool_sim *sim, struct trial *trial)
{
	const struct pool_options *options = sim->options;
	struct cli *cli = sim->cli;
	int64_t start_ns = env_now_ns(env_system(), ENV_MONOTONIC);
	struct pool_replay_conf conf = {
		.pool = {
			.policy = trial->policy,
			.steps_per_pick = options->steps_per_pick ? (uint32_t)options->steps_per_pick
								  : UINT32_MAX,
			.batch_max = (uint32_t)options->batch_max,
			.batch_wait_ns = options->batch_wait_ns,
			.preempt = options->preempt,
		},
		.requests = &sim->requests,
		.workers = options->workers,
		.memory_bytes = options->memory_bytes,
		.batch_cost = options->batch_cost,
		.progress = show_progress,
		.progress_context = sim,
		.gantt = sim->gantt,
	};

	cli_progress_start(&sim->progress, cli, trial->name, (double)sim->requests.count);
	int rc = pool_replay_run(&conf, &cli->arena, &trial->result, &cli->err);

	cli_progress_end(&sim->progress);
	if (rc == 0)
		rc = metrics_measure(trial->result.jobs, trial->result.job_count, options->workers,
				     &cli->arena, &trial->metrics, &cli->err);
	trial->wall_ms = (double)(env_now_ns(env_system(), ENV_MONOTONIC) - start_ns) / 1e6;
	return rc;
}

/* The only trial, with a timeline that is in its place when all went well. */
static int run_traced(struct pool_sim *sim)
{
	struct cli *cli = sim->cli;
	struct env_draft draft;
	struct strata_trace_sink sink = cli_draft_sink(&draft);
	int rc = env_draft_open(&draft, env_system(), AT_FDCWD, sim->options->trace, &cli->err);

	if (rc)
		return rc;
	rc = pool_gantt_open(&cli->memory, (size_t)sim->options->workers, &sink, &sim->gantt,
			     &cli->err);
	if (rc == 0)
		rc = run_trial(sim, &sim->trials[0]);
	int closed = pool_gantt_close(sim->gantt, rc ? NULL : &cli->err);

	sim->gantt = NULL;
	return cli_draft_end(cli, &draft, rc ? rc : closed);
}

/* ---- what came of it ---- */

static int print_json(struct pool_sim *sim)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sim->trial_count; i++) {
		const struct trial *trial = &sim->trials[i];
		const struct metrics *metrics = &trial->metrics;
		const struct strata_pool_metrics *stats = &trial->result.stats;

		json_array_append_new(
			list,
			json_pack("{s:s,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:I,s:I,s:"
				  "I,s:I,"
				  "s:f}",
				  "policy", trial->name, "tasks", (json_int_t)metrics->jobs,
				  "mean_resp_s", metrics->mean_resp_s, "p50_resp_s",
				  metrics->p50_resp_s, "p99_resp_s", metrics->p99_resp_s,
				  "max_wait_s", metrics->max_wait_s, "mean_user_wait_s",
				  metrics->user_mean_wait_s, "p90_user_wait_s",
				  metrics->user_p90_wait_s, "max_user_wait_s",
				  metrics->user_max_wait_s, "makespan_s", metrics->makespan_s,
				  "jain", metrics->user_jain, "utilization", metrics->utilization,
				  "refused", (json_int_t)trial->result.refused, "stuck",
				  (json_int_t)trial->result.stuck, "preemptions",
				  (json_int_t)stats->preemptions, "batched",
				  (json_int_t)stats->batched, "late", (json_int_t)stats->late,
				  "wall_ms", trial->wall_ms));
	}
	return cli_print_json(sim->cli, list);
}

static void add_seconds(struct cli_table *table, double seconds)
{
	char form[STRATA_FORM_BYTES];

	cli_table_add(table, "%s", strata_duration_print_short((int64_t)(seconds * 1e9), form));
}

static int print_table(struct pool_sim *sim)
{
	static const struct cli_column columns[] = {
		{ "POLICY", .style = CLI_BOLD }, { "TASKS", .right = true },
		{ "MEAN RESP", .right = true },  { "P50", .right = true },
		{ "P99", .right = true },        { "MAX WAIT", .right = true },
		{ "USER WAIT", .right = true },  { "P90", .right = true },
		{ "MAKESPAN", .right = true },   { "FAIR", .right = true },
		{ "TOOK", .right = true },
	};
	struct cli_table *table;
	int rc = cli_table_new(sim->cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	for (size_t i = 0; rc == 0 && i < sim->trial_count; i++) {
		const struct trial *trial = &sim->trials[i];
		const struct metrics *metrics = &trial->metrics;

		cli_table_add(table, "%s", trial->name);
		cli_table_add(table, "%zu", metrics->jobs);
		add_seconds(table, metrics->mean_resp_s);
		add_seconds(table, metrics->p50_resp_s);
		add_seconds(table, metrics->p99_resp_s);
		add_seconds(table, metrics->max_wait_s);
		add_seconds(table, metrics->user_mean_wait_s);
		add_seconds(table, metrics->user_p90_wait_s);
		add_seconds(table, metrics->makespan_s);
		cli_table_add(table, "%.2f", metrics->user_jain);
		add_seconds(table, trial->wall_ms / 1e3);
	}
	return rc ? rc : cli_table_print(table);
}

static void note_missing(struct pool_sim *sim)
{
	for (size_t i = 0; i < sim->trial_count; i++) {
		const struct pool_replay_result *result = &sim->trials[i].result;

		if (result->refused)
			cli_note(sim->cli, "%s refused %zu requests", sim->trials[i].name,
				 result->refused);
		if (result->stuck)
			cli_note(sim->cli, "%s left %zu requests in line that no worker could take",
				 sim->trials[i].name, result->stuck);
	}
}

static int make_curve(struct pool_sim *sim, const struct trial *trial, struct svg_series *ret_curve)
{
	enum { BINS = 200 };
	struct cli *cli = sim->cli;
	struct series curve, mean;
	int rc = series_make(trial->result.jobs, trial->result.job_count, SERIES_WAITING,
			     &cli->arena, &curve, &cli->err);

	if (rc == 0)
		rc = series_average(&curve, BINS, &cli->arena, &mean, &cli->err);
	if (rc == 0)
		*ret_curve = (struct svg_series){ trial->name, mean.x, mean.y, mean.count };
	return rc;
}

static int draw_page(struct pool_sim *sim, const struct svg_series *waiting, struct buf *buf)
{
	static const char *const groups[] = { "mean response", "p99 response", "max wait",
					      "user mean wait", "user p90 wait" };
	enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };
	struct cli *cli = sim->cli;
	size_t count = sim->trial_count;
	double values[GROUPS * TRIALS_MAX];
	const char *names[TRIALS_MAX];

	for (size_t i = 0; i < count; i++) {
		const struct metrics *metrics = &sim->trials[i].metrics;
		const double row[GROUPS] = { metrics->mean_resp_s, metrics->p99_resp_s,
					     metrics->max_wait_s, metrics->user_mean_wait_s,
					     metrics->user_p90_wait_s };

		names[i] = sim->trials[i].name;
		for (size_t group = 0; group < GROUPS; group++)
			values[group * count + i] = row[group];
	}
	struct svg_lines lines = { .title = "Tasks waiting",
				   .x = { "time", SVG_TIME },
				   .y = { "tasks" },
				   .series = waiting,
				   .series_count = count,
				   .steps = true };
	struct svg_bars bars = { .title = "Response and wait",
				 .y = { "s", SVG_LOG },
				 .groups = groups,
				 .group_count = GROUPS,
				 .series = names,
				 .series_count = count,
				 .values = values };

	return svg_add_page(buf, (struct svg_panel[]){ { .lines = &lines }, { .bars = &bars } }, 2,
			    &cli->arena, &cli->err);
}

static int write_plot(struct pool_sim *sim)
{
	struct cli *cli = sim->cli;
	struct svg_series waiting[TRIALS_MAX];
	struct buf buf;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sim->trial_count; i++)
		rc = make_curve(sim, &sim->trials[i], &waiting[i]);
	if (rc)
		return rc;
	buf_init(&buf, &cli->memory, 0);
	rc = draw_page(sim, waiting, &buf);
	if (rc == 0)
		rc = buf_check(&buf, &cli->err);
	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, sim->options->plot, buf.text,
				    buf.length, 0644, &cli->err);
	buf_fini(&buf);
	return rc;
}

static int simulate(struct pool_sim *sim, const char *path)
{
	int rc = read_policies(sim);

	if (rc == 0)
		rc = name_trials(sim);
	if (rc == 0)
		rc = path ? read_trace(sim, path) : read_history(sim);
	if (rc)
		return rc;
	if (sim->options->trace)
		rc = run_traced(sim);
	for (size_t i = path ? 0 : 1; rc == 0 && !sim->options->trace && i < sim->trial_count; i++)
		rc = run_trial(sim, &sim->trials[i]);
	if (rc == 0 && sim->options->plot)
		rc = write_plot(sim);
	if (rc)
		return rc;
	if (sim->cli->globals.json)
		return print_json(sim);
	note_missing(sim);
	return print_table(sim);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct pool_sim *sim = strata_arena_get(&cli->arena, sizeof(*sim));

	if (!sim)
		return strata_fail_memory(&cli->err);
	sim->cli = cli;
	sim->options = conf;
	int rc = check_options(sim, operand_count == 1);

	return rc ? rc : simulate(sim, operand_count ? operands[0] : NULL);
}

const struct cli_command cli_sim_pool = {
	.name = "sim pool",
	.operands = "TRACE.csv[.gz] | --history",
	.summary = "replay a trace of generation requests under policies and measure them",
	.about = "The trace is a table with the columns arrival_s and exec_s, and perhaps user, "
		 "account, "
		 "model, shape, steps, priority,\n"
		 "deadline_s, memory_mib, cost_s; plain or compressed; - reads it from standard "
		 "input. "
		 "The same decisions as in a service\n"
		 "are made on a virtual clock. `strata classes policy` lists the policies.\n"
		 "\n"
		 "MEAN RESP, P50 and P99 are responses (wait and work) of all tasks, MAX WAIT the "
		 "longest wait; USER WAIT is the mean over\n"
		 "users of each one's mean wait and P90 what nine tenths of the users do not "
		 "exceed; FAIR "
		 "is Jain's index of the users' mean\n"
		 "slowdowns (1: all fare alike).\n"
		 "\n"
		 "--history asks the service for the tasks of a model that were drawn to their end: "
		 "what each needed is what its worker\n"
		 "reported. The first row is how it went.",
	.examples = "  strata sim pool requests.csv.gz --policy fifo,shortest,fair --workers 4 "
		    "--load 0.9\n"
		    "  strata sim pool requests.csv --policy fair:within=shortest --json\n"
		    "  strata sim pool requests.csv --policy shortest:bound=0,shortest --plot "
		    "wait.svg\n"
		    "  strata sim pool requests.csv --policy fair --workers 2 --trace pool.json\n"
		    "  strata sim pool --history --since 7d --policy fifo,fair,shortest --workers 2",
	.options = &pool_schema,
	.operands_min = 0,
	.operands_max = 1,
	.run = run,
};
