/* strata sim cluster: replays a trace of jobs through the cluster level and measures what came of
 * it. */
#include "cli/sim_cluster.h"

#include "core/env.h"
#include "sim/input.h"
#include "sim/replay.h"
#include "slurm/sacct_log.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

static const struct strata_option sim_options[] = {
	{ "history", STRATA_BOOL, offsetof(struct sim_conf, history),
	  .help = "the service's own history and nodes instead of a trace" },
	{ "since", STRATA_TEXT, offsetof(struct sim_conf, since), .value = "TIME",
	  .help = "of --history: only jobs submitted since: 7d (ago), or a time" },
	{ "procs", STRATA_INT, offsetof(struct sim_conf, procs), .integer = { 0, 0, INT32_MAX },
	  .help = "processors of the machine; the trace's own number when left out" },
	{ "nodes", STRATA_TEXT, offsetof(struct sim_conf, nodes), .value = "FILE",
	  .help = "CSV of nodes (sn, cpu_milli, memory_mib, gpu, model) instead of one flat pool" },
	{ "bands", STRATA_BOOL, offsetof(struct sim_conf, bands),
	  .help = "queues that the trace's header calls low, normal and high are bands" },
	{ "order", STRATA_TEXT, offsetof(struct sim_conf, order), .text = { "fifo" },
	  .value = "SPEC", .help = "order of the queue" },
	{ "placement", STRATA_TEXT, offsetof(struct sim_conf, placement), .text = { "best_fit" },
	  .value = "SPEC", .help = "choice of nodes" },
	{ "backfill", STRATA_TEXT, offsetof(struct sim_conf, backfill), .text = { "easy" },
	  .value = "SPEC", .help = "who may start out of order" },
	{ "predict", STRATA_TEXT, offsetof(struct sim_conf, predict), .text = { "requested" },
	  .value = "SPEC", .aliases = "prediction", .help = "how long jobs are taken to run" },
	{ "preempt", STRATA_TEXT, offsetof(struct sim_conf, preempt), .value = "SPEC",
	  .help = "whom to stop for jobs of a higher band (see --bands); nobody when left out" },
	{ "checkpoint", STRATA_DURATION, offsetof(struct sim_conf, checkpoint_ns), .unit = "s",
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX },
	  .help = "how often jobs save their work; when left out, who is stopped begins anew" },
	{ "compare", STRATA_TEXT, offsetof(struct sim_conf, compare), .value = "O/B/R,…",
	  .help = "several order/backfill/prediction/placement side by side; what is left out is "
		  "as the options "
		  "say" },
	{ "advise", STRATA_BOOL, offsetof(struct sim_conf, advise),
	  .help = "try what is worth trying on the first half, show the best on the second" },
	{ "wait_limit", STRATA_REAL, offsetof(struct sim_conf, wait_limit), .real = { 1.25, 0, 1e6 },
	  .help = "of --advise: most that the longest wait may be, in times of fifo/easy's" },
	{ "windows", STRATA_TEXT, offsetof(struct sim_conf, windows), .value = "I,I,…:N",
	  .help = "windows of N jobs from these indices, each on an empty machine" },
	{ "details", STRATA_BOOL, offsetof(struct sim_conf, details),
	  .help = "with --json: waits of all jobs, by user and by size, jobs waiting over time, and "
		  "how it really was" },
	{ "starts", STRATA_TEXT, offsetof(struct sim_conf, starts), .value = "FILE",
	  .help = "write job_id,start as CSV" },
	{ "plot", STRATA_TEXT, offsetof(struct sim_conf, plot), .value = "FILE",
	  .help = "write a plot as SVG" },
	{ "trace", STRATA_TEXT, offsetof(struct sim_conf, trace), .value = "FILE",
	  .help = "write a timeline as JSON, for ui.perfetto.dev" },
	{ 0 }
};
static const struct strata_schema sim_schema = { "sim cluster", NULL, sizeof(struct sim_conf),
						 sim_options };

/* Parts of a trial's name, in their order there. */
enum { ORDER, BACKFILL, PREDICTION, PLACEMENT, PART_COUNT };

int sim_trial_read(struct sim *sim, struct sim_trial *trial)
{
	struct strata_cluster_conf *classes = &trial->classes;
	int rc = cli_spec_read(sim->cli, &strata_order_kind, trial->order, &classes->order);

	if (rc == 0)
		rc = cli_spec_read(sim->cli, &strata_placement_kind, trial->placement,
				   &classes->placement);
	if (rc == 0)
		rc = cli_spec_read(sim->cli, &strata_backfill_kind, trial->backfill,
				   &classes->backfill);
	if (rc == 0)
		rc = cli_spec_read(sim->cli, &strata_prediction_kind, trial->prediction,
				   &classes->prediction);
	if (rc == 0 && sim->conf->preempt)
		rc = cli_spec_read(sim->cli, &strata_victims_kind, sim->conf->preempt,
				   &classes->victims);
	return rc;
}

static int add_trial(struct sim *sim, const char *const parts[PART_COUNT])
{
	struct sim_trial *trial = &sim->trials[sim->trial_count++];

	trial->order = parts[ORDER];
	trial->backfill = parts[BACKFILL];
	trial->prediction = parts[PREDICTION];
	trial->placement = parts[PLACEMENT];
	return sim_trial_read(sim, trial);
}

/* "fifo/easy/requested,fifo/easy_sjbf/user_last2,///fgd"; an empty part is what the option says. */
static int read_compare(struct sim *sim)
{
	const struct sim_conf *conf = sim->conf;
	const char *const defaults[PART_COUNT] = { conf->order, conf->backfill, conf->predict,
						   conf->placement };
	int rc = 0;

	if (!conf->compare)
		return add_trial(sim, defaults);
	for (const char *at = conf->compare; rc == 0 && *at; at += *at == ',') {
		const char *parts[PART_COUNT];

		memcpy(parts, defaults, sizeof(parts));
		if (sim->trial_count == SIM_COMPARE_MAX)
			return strata_fail(&sim->cli->err, -EINVAL,
					   "--compare has more than %d entries", SIM_COMPARE_MAX);
		for (int i = 0; i < PART_COUNT; i++) {
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
			return strata_fail(&sim->cli->err, -EINVAL,
					   "--compare is '%.60s'; expected "
					   "ORDER/BACKFILL/PREDICTION/PLACEMENT,…",
					   conf->compare);
		rc = add_trial(sim, parts);
	}
	return rc;
}

/* Where the machine has nodes, demands count, and with one a job needs no processors to be one. */
static int load_demands(struct sim *sim, const struct strata_swf *swf)
{
	struct cli *cli = sim->cli;
	struct swf_demand *demands;
	size_t demand_count, kept = 0;
	int rc = swf_demand_read(swf, &cli->arena, &demands, &demand_count, &cli->err);

	if (rc || demand_count == 0)
		return rc;
	if (!sim->windows.count)
		rc = strata_swf_load(swf, STRATA_SWF_DEMANDS, &cli->arena, &sim->arrivals,
				     &sim->arrival_count, &sim->left_out, &cli->err);
	if (rc)
		return rc;
	sim->demands = strata_arena_array(&cli->arena, sim->arrival_count, sizeof(*sim->demands));
	if (!sim->demands)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < sim->arrival_count; i++) {
		const struct swf_demand *demand = swf_demand_find(
			demands, demand_count, swf->jobs[sim->arrivals[i].job].executable);

		if (!demand && sim->arrivals[i].procs < 1)
			continue;
		sim->arrivals[kept] = sim->arrivals[i];
		sim->demands[kept++] = demand;
	}
	sim->left_out += sim->arrival_count - kept;
	sim->arrival_count = kept;
	return 0;
}

static int read_file(struct sim *sim, const char *path, struct strata_swf *ret_swf)
{
	struct cli *cli = sim->cli;
	const char *text;
	size_t length;
	int rc = input_read(env_system(), path, STRATA_INPUT_BYTES_MAX, &cli->arena, &text, &length,
			    &cli->err);

	if (rc == 0 && sacct_is(text, length))
		return sacct_read(text, length, &cli->arena, ret_swf, NULL, &cli->err);
	return rc ? rc : strata_swf_read(text, length, &cli->arena, ret_swf, &cli->err);
}

static int read_trace(struct sim *sim, const char *path, struct strata_swf *ret_swf)
{
	struct cli *cli = sim->cli;
	bool history = sim->conf->history;
	int rc = history ? sim_history_read(sim, ret_swf) : read_file(sim, path, ret_swf);

	if (rc == 0)
		rc = strata_swf_load(ret_swf,
				     sim->windows.count ? STRATA_SWF_WINDOWS : STRATA_SWF_PLAIN,
				     &cli->arena, &sim->arrivals, &sim->arrival_count,
				     &sim->left_out, &cli->err);
	if (rc == 0 && (sim->conf->nodes || history))
		rc = load_demands(sim, ret_swf);
	if (rc == 0 && (sim->conf->bands || history))
		rc = machine_bands(ret_swf, sim->arrivals, sim->arrival_count, &cli->arena,
				   &sim->bands, &cli->err);
	if (rc == 0)
		rc = windows_fit(&sim->windows, sim->arrival_count, &cli->err);
	if (rc == 0 && sim->arrival_count == 0)
		rc = strata_fail(&cli->err, -EINVAL, "%s has no job that can be replayed",
				 history ? "the history" : path);
	return rc;
}

static int make_machine(struct sim *sim, const struct strata_swf *swf)
{
	struct cli *cli = sim->cli;
	int64_t procs = sim->conf->procs ? sim->conf->procs : strata_swf_procs(swf);
	struct openb_node *rows;
	const char *text;
	size_t length, count;

	if (!sim->conf->nodes && procs < 1)
		return strata_fail(&cli->err, -EINVAL,
				   "the trace does not say how many processors its machine had; "
				   "give --procs N");
	if (!sim->conf->nodes)
		return machine_init_flat(&sim->machine, procs, &cli->arena, &cli->err);
	int rc = input_read(env_system(), sim->conf->nodes, STRATA_INPUT_BYTES_MAX, &cli->arena,
			    &text, &length, &cli->err);

	if (rc == 0)
		rc = openb_read_nodes(text, length, &cli->arena, &rows, &count, &cli->err);
	return rc ? rc : machine_init_nodes(&sim->machine, rows, count, &cli->arena, &cli->err);
}

static bool show_progress(void *context, size_t ended, size_t total)
{
	struct sim *sim = context;

	(void)total;
	if (sim->progress_calls++ % 256 == 0)
		cli_progress_show(&sim->progress, (double)ended);
	return true;
}

int sim_run_stretch(struct sim *sim, struct sim_trial *trial, size_t from, size_t count,
		    struct metrics *ret_metrics)
{
	struct cli *cli = sim->cli;
	struct replay_conf conf = {
		.cluster = trial->classes,
		.machine = &sim->machine,
		.arrivals = sim->arrivals + from,
		.arrival_count = count,
		.demands = sim->demands ? sim->demands + from : NULL,
		.bands = sim->bands ? sim->bands + from : NULL,
		.checkpoint_ns = sim->conf->checkpoint_ns,
		.gantt = sim->gantt,
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
	trial->indices = result.indices;
	trial->job_count = result.job_count;
	for (size_t i = 0; i < result.impossible_count; i++, trial->impossible_count++)
		if (trial->impossible_count < SIM_NAMED_MAX)
			trial->impossible[trial->impossible_count] =
				conf.arrivals[result.impossible[i]].number;
	trial->passes += result.passes;
	trial->preemptions += result.preemptions;
	trial->cancelled += result.cancelled;
	trial->lost_hours += result.lost_hours;
	trial->gpu_fragmentation += result.gpu_fragmentation /
				    (double)(sim->windows.count ? sim->windows.count : 1);
	return metrics_measure(result.jobs, result.job_count, sim->machine.capacity, &cli->arena,
			       ret_metrics, &cli->err);
}

static int run_trial(struct sim *sim, struct sim_trial *trial)
{
	int64_t start_ns = env_now_ns(env_system(), ENV_MONOTONIC);
	struct metrics *total = &trial->metrics;
	int rc = 0;

	if (!sim->windows.count)
		rc = sim_run_stretch(sim, trial, 0, sim->arrival_count, total);
	for (size_t i = 0; rc == 0 && i < sim->windows.count; i++) {
		struct metrics one;

		rc = sim_run_stretch(sim, trial, sim->windows.starts[i],
				     sim->windows.length, &one);
		if (rc)
			break;
		trial->window_bsld[i] = one.avg_bsld;
		windows_add(&sim->windows, &one, total);
	}
	trial->wall_ms = (double)(env_now_ns(env_system(), ENV_MONOTONIC) - start_ns) / 1e6;
	return rc;
}

/* The only trial, with a timeline that is in its place when all went well. */
static int run_traced(struct sim *sim)
{
	struct cli *cli = sim->cli;
	struct env_draft draft;
	struct strata_trace_sink sink = cli_draft_sink(&draft);
	int rc = env_draft_open(&draft, env_system(), AT_FDCWD, sim->conf->trace, &cli->err);

	if (rc)
		return rc;
	rc = gantt_open(&cli->memory, &sim->machine, &sink, &sim->gantt, &cli->err);
	if (rc == 0)
		rc = run_trial(sim, &sim->trials[0]);
	int closed = gantt_close(sim->gantt, rc ? NULL : &cli->err);

	sim->gantt = NULL;
	return cli_draft_end(cli, &draft, rc ? rc : closed);
}

/* Nothing that can be known before is found out after minutes. */
static int check_options(struct sim *sim)
{
	bool one = !sim->conf->windows && !sim->conf->compare;

	if (sim->conf->history && (sim->conf->procs || sim->conf->nodes || sim->conf->windows))
		return strata_fail(&sim->cli->err, -EINVAL,
				   "--history has nodes of its own and is replayed whole: --procs, "
				   "--nodes and --windows do not go with it");
	if (!sim->conf->history && sim->conf->since)
		return strata_fail(&sim->cli->err, -EINVAL, "--since goes with --history");
	if (sim->conf->details && (sim->conf->windows || !sim->cli->globals.json))
		return strata_fail(&sim->cli->err, -EINVAL,
				   "--details goes with --json, and not with --windows");
	if (sim->conf->procs && sim->conf->nodes)
		return strata_fail(&sim->cli->err, -EINVAL,
				   "--procs and --nodes are two machines; expected one of them");
	if (sim->conf->advise && (!one || sim->conf->starts || sim->conf->trace || sim->conf->plot))
		return strata_fail(&sim->cli->err, -EINVAL,
				   "--advise makes a comparison of its own: --compare, --windows, "
				   "--starts, --plot and --trace do not go with it");
	if (!one && (sim->conf->starts || sim->conf->trace))
		return strata_fail(&sim->cli->err, -EINVAL,
				   "--%s goes with one run over the whole trace, not with "
				   "--windows or --compare",
				   sim->conf->starts ? "starts" : "trace");
	return 0;
}

static int check_jobs(struct sim *sim)
{
	const struct sim_trial *trial = &sim->trials[0];

	if (trial->metrics.jobs > 0)
		return 0;
	return strata_fail(&sim->cli->err, -EINVAL,
			   "none of the trace's %zu jobs fits on this machine",
			   trial->impossible_count);
}

static int simulate(struct sim *sim, const char *path)
{
	struct strata_swf swf;
	int rc = check_options(sim);

	if (rc == 0)
		rc = read_compare(sim);
	if (rc == 0 && sim->conf->windows)
		rc = windows_parse(sim->conf->windows, &sim->windows, &sim->cli->err);
	if (rc == 0)
		rc = read_trace(sim, path, &swf);
	if (rc == 0 && !sim->conf->history)
		rc = make_machine(sim, &swf);
	if (rc == 0 && (sim->conf->history || sim->conf->details))
		rc = sim_history_measure(sim, &swf);
	if (rc || sim->conf->advise)
		return rc ? rc : sim_advise(sim);
	if (sim->conf->trace)
		rc = run_traced(sim);
	for (size_t i = 0; rc == 0 && !sim->conf->trace && i < sim->trial_count; i++)
		rc = run_trial(sim, &sim->trials[i]);
	if (rc == 0)
		rc = check_jobs(sim);
	if (rc == 0 && sim->conf->starts)
		rc = sim_report_starts(sim);
	if (rc == 0 && sim->conf->plot)
		rc = sim_report_plot(sim);
	return rc ? rc : sim_report_print(sim);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct sim *sim = strata_arena_get(&cli->arena, sizeof(*sim));

	if (!sim)
		return strata_fail_memory(&cli->err);
	sim->cli = cli;
	sim->conf = conf;
	int rc = sim->conf->history == (operand_count == 1)
			 ? strata_fail(&cli->err, -EINVAL,
				       "expected a trace or --history, one of them")
			 : simulate(sim, operand_count ? operands[0] : NULL);

	return rc;
}

const struct cli_command cli_sim_cluster = {
	.name = "sim cluster",
	.operands = "TRACE.swf[.gz] | SACCT[.gz] | --history",
	.summary = "replay a trace of jobs under a policy and measure it",
	.about =
		"The trace is in the Standard Workload Format, or what `sacct -a -X -P -o "
		"JobIDRaw,Submit,Start,End,Timelimit,\n"
		"State,AllocCPUS,AllocNodes,AllocTRES,User,Account,Partition` prints; plain or "
		"compressed; - reads it from standard input. The same\n"
		"decisions as in the service are made on a virtual clock. Orders, placements, "
		"backfills and predictions are\n"
		"classes: `strata classes order` lists them.\n"
		"\n"
		"Without --nodes the machine is one flat pool. With nodes, jobs ask for what the "
		"trace's Demand comments say (GPUs,\n"
		"shares of them, CPUs, memory), or else for one GPU or CPU per processor. Jobs "
		"that no node could take are counted\n"
		"as impossible and left out. FAIR is Jain's index of the users' mean slowdowns (1: "
		"all fare alike), WORST USER the\n"
		"largest of them; FRAGMENTED is the part of free GPU capacity that the typical job "
		"cannot use, over time.\n"
		"\n"
		"--history asks the service for the jobs that have ended and for its nodes, and "
		"replays them as another policy would\n"
		"have them; the first line is how it really went.",
	.examples =
		"  strata sim cluster kth.swf.gz --backfill easy\n"
		"  strata sim cluster kth.swf.gz --compare "
		"fifo/none,fifo/easy,fifo/easy_sjbf/learned --plot kth.svg\n"
		"  strata sim cluster philly.swf.gz --procs 512 --order sjf --json\n"
		"  sacct -a -X -P -S 2026-01-01 -o … | strata sim cluster - --procs 512 --compare "
		"fifo/easy,fair_share/easy\n"
		"  strata sim cluster gpu.swf --nodes nodes.csv --placement fgd --trace gpu.json\n"
		"  strata sim cluster gpu.swf --nodes nodes.csv --compare ///best_fit,///fgd\n"
		"  strata sim cluster --history --since 7d --compare fifo,sjf,fair_share",
	.options = &sim_schema,
	.operands_max = 1,
	.run = run,
};
