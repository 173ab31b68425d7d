/* What the files of strata sim cluster share: cmd_sim_cluster.c reads and runs, sim_report.c shows
 * what came of it. */
#ifndef CLI_SIM_CLUSTER_H
#define CLI_SIM_CLUSTER_H

#include "cli/cli.h"

#include "sim/machine.h"
#include "sim/metrics.h"
#include "sim/gantt.h"
#include "sim/windows.h"

struct sim_conf {
	int64_t procs, checkpoint_ns;
	bool bands, history, advise, details;
	double wait_limit;
	const char *since, *nodes, *order, *placement, *backfill, *predict, *preempt, *compare,
		*windows, *starts, *plot, *trace;
};

enum {
	SIM_COMPARE_MAX = 8,
	SIM_NAMED_MAX = 20, /* impossible jobs that are named */
};

/* One combination of classes and what came of it. */
struct sim_trial {
	const char *order, *backfill, *prediction, *placement;
	struct strata_cluster_conf classes;
	struct metrics_job *jobs; /* of the last window */
	size_t *indices;          /* of their arrivals, from the window's first on */
	size_t job_count;
	size_t impossible_count;           /* of all windows */
	int64_t impossible[SIM_NAMED_MAX]; /* numbers of the first of them */
	struct metrics metrics;            /* means over windows, where there are several */
	double gpu_fragmentation;
	uint64_t preemptions; /* of all windows, as the next two */
	size_t cancelled;
	double lost_hours;
	double window_bsld[WINDOWS_MAX];
	double wall_ms;
	uint64_t passes;
};

struct sim {
	struct cli *cli;
	const struct sim_conf *conf;
	struct machine machine;
	struct strata_swf_arrival *arrivals;
	const struct swf_demand **demands; /* of each arrival; NULL: none has */
	enum strata_band *bands;           /* likewise; NULL: all are normal */
	size_t arrival_count, left_out;
	struct windows windows;
	struct sim_trial trials[SIM_COMPARE_MAX];
	size_t trial_count;
	struct sim_trial *real; /* what the service did; NULL: the trace is no history of it */
	struct gantt *gantt;    /* NULL: none is wanted */
	struct cli_progress progress;
	size_t progress_calls;
};

/* cmd_sim_cluster.c: reads the classes that a trial names. */
int sim_trial_read(struct sim *sim, struct sim_trial *trial);
/* Replays one stretch of the trace; what is not in the metrics is added to the trial. */
int sim_run_stretch(struct sim *sim, struct sim_trial *trial, size_t from, size_t count,
		    struct metrics *ret_metrics);

/* sim_advise.c: tries policies on the first half of the trace and shows the best on the second. */
int sim_advise(struct sim *sim);

/* sim_history.c: the trace and the machine from the service's own history, and how it really
 * went. */
int sim_history_read(struct sim *sim, struct strata_swf *ret_swf);
int sim_history_measure(struct sim *sim, const struct strata_swf *swf);

/* sim_report.c: the measures on stdout, as a table or as JSON; jobs that were left out on
 * stderr. */
int sim_report_print(struct sim *sim);
/* sim_details.c: what plots of a trial are made from, into its JSON. */
void sim_details_add(const struct sim *sim, const struct sim_trial *trial, json_t *json);
/* When each job started, as CSV, and the curves over time, as SVG. */
int sim_report_starts(struct sim *sim);
int sim_report_plot(struct sim *sim);

#endif
