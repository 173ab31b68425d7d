/*
 * What `strata report` tells of the history: how long jobs waited, by class, and what they asked
 * for against what they used. Jobs are added one by one, in bounded memory for each class and user;
 * time is an argument. What reads the store is api_report.c.
 */
#ifndef SERVER_HISTORY_REPORT_H
#define SERVER_HISTORY_REPORT_H

#include "core/map.h"
#include "server/day_sketch.h"
#include "store/store.h"

#include <jansson.h>

/* Asked for and used, of jobs of which both are known. */
struct report_part {
	uint64_t jobs;
	double asked, used;
};

struct report_waste {
	struct report_part cpu;    /* hours of cores */
	struct report_part memory; /* hours of GiB, by the most it had */
	struct report_part time;   /* hours of time limits, of jobs that ended by themselves */
};

struct report {
	struct strata_memory *memory;
	int64_t now_ns;
	struct map_text classes; /* of struct report_class: waits by partition or band */
	struct map_text users;   /* of struct report_waste */
	struct report_waste all;
	uint64_t jobs, failed; /* that ended; of them those that did not end well by themselves */
	uint64_t preempted;    /* times that jobs gave way to others */
	/* what waits now, at most as long as it asked for */
	uint64_t waiting;
	double waiting_gpu_hours, waiting_cpu_hours;
};

void report_init(struct report *report, struct strata_memory *memory, int64_t now_ns);
void report_fini(struct report *report);
/* A job of the time that is reported on. */
int report_add(struct report *report, const struct store_job *job, struct strata_error *err);
/* A job that waits, whenever it was submitted. */
void report_add_waiting(struct report *report, const struct store_job *job);
/* NULL: no memory. */
json_t *report_view(const struct report *report);

#endif
