/*
 * turnaround: who has waited long for what is soon done goes first, and nobody is passed for ever.
 *
 * The key is time x size^s / wait, by logarithms, with the time that a job is predicted to run. It
 * is what slowdown is made of, so the mean of that is low; the price of such orders is the longest
 * wait, and the bound is there for it: a job that has waited for so long goes before all that have
 * not, the longest wait first. From then on nobody who was submitted later goes before it, except
 * jobs that backfill starts because they do not delay it. Room for many processors takes long to
 * find, so a job's bound is the shorter the more of the cluster it asks for.
 */
#include <strata/cluster.h>

#include "core/real.h"

struct turnaround_conf {
	double size, large;
	int64_t bound_ns;
};

static const struct strata_option turnaround_options[] = {
	{ "size", STRATA_REAL, offsetof(struct turnaround_conf, size), .real = { 0.5, 0, 10 },
	  .help = "power of the size; that of the run time is 1" },
	{ "bound", STRATA_DURATION, offsetof(struct turnaround_conf, bound_ns),
	  .integer = { INT64_C(4) * 86400 * 1000000000, 1, INT64_MAX }, .unit = "s",
	  .help = "how long a job may wait before it goes ahead of all that wait less" },
	{ "large", STRATA_REAL, offsetof(struct turnaround_conf, large), .real = { 0.3, 0, 1 },
	  .help = "part by which the bound of a job that asks for the whole cluster is shorter" },
	{ 0 }
};

/* Below all keys of jobs within their bounds, and still precise to less than a microsecond. */
#define OVERDUE 1e9

static double turnaround_key(const void *conf_any, const struct strata_order_job *job)
{
	const struct turnaround_conf *conf = conf_any;
	double wait_ns = (double)job->now_ns - (double)job->submit_ns;
	double part = job->cluster_size > job->size ? job->size / job->cluster_size : 1;

	if (wait_ns >= (double)conf->bound_ns * (1 - conf->large * part))
		return -OVERDUE - wait_ns / 1e9;
	return real_log2((double)job->predicted_ns / 1e9 + 1) +
	       conf->size * real_log2(job->size > 1 ? job->size : 1) -
	       real_log2(wait_ns / 1e9 + 1);
}

const struct strata_order_class strata_order_turnaround = {
	.base = {
		.name = "turnaround",
		.summary = "small and short jobs first, none passed for longer than a bound",
		.conf_size = sizeof(struct turnaround_conf),
		.options = turnaround_options,
	},
	.changes_with_time = true,
	.key = turnaround_key,
};
