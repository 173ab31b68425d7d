/*
 * A replay as a picture for ui.perfetto.dev: a group of tracks per node, or per user where the machine is a flat pool, in it a slice
 * per job while it runs, and curves of the queue and of what is in use. It is written as the replay goes on; what stays
 * in memory is who runs where, so months of jobs take no more of it than a day.
 *
 * A slice has the job's number as its flow, which ties the nodes of one job together and to other traces of it.
 */
#ifndef SIM_GANTT_H
#define SIM_GANTT_H

#include "sim/machine.h"

#include <strata/trace.h>

struct gantt;

struct gantt_job {
	uint64_t id;    /* not 0; no two that run at once have the same */
	int64_t number; /* as people know it */
	int64_t user;
	int64_t submit_ns, start_ns;
	bool again;                        /* it has run before: its flow goes on */
	const struct strata_piece *pieces; /* where it runs */
	size_t piece_count;
};

/* Begins the file. The machine and the sink are borrowed until gantt_close. */
int gantt_open(struct strata_memory *memory, const struct machine *machine,
	       const struct strata_trace_sink *sink, struct gantt **ret_gantt,
	       struct strata_error *err);

/* Gives a job tracks to run on. */
int gantt_start(struct gantt *gantt, const struct gantt_job *job, struct strata_error *err);
/* It stopped, for good or for now: its slices are written and the tracks are free. The job is as it was at its start. */
void gantt_end(struct gantt *gantt, const struct gantt_job *job, int64_t now_ns);
/* How things stand at this moment. */
void gantt_count(struct gantt *gantt, const struct strata_cluster_metrics *stats, int64_t now_ns);

/* Ends the file: what is wrong with it, if anything is. The chart is gone either way; NULL is nothing. */
int gantt_close(struct gantt *gantt, struct strata_error *err);

#endif
