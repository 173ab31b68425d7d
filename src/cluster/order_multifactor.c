/*
 * multifactor: a weighted sum of age, fair share, size, partition and quality of service, each from
 * 0 to 1, times the boost of the band, and the finer priority, as sites know it from Slurm's
 * priority/multifactor. The greatest sum goes first.
 */
#include <strata/cluster.h>

struct multifactor_conf {
	double age, fair_share, size, priority, partition, qos;
	int64_t age_max_ns;
	bool small_first;
};

static const struct strata_option multifactor_options[] = {
	{ "age", STRATA_REAL, offsetof(struct multifactor_conf, age), .real = { 1000, 0, 1e9 },
	  .help = "weight of the time in the queue" },
	{ "fair_share", STRATA_REAL, offsetof(struct multifactor_conf, fair_share),
	  .real = { 10000, 0, 1e9 }, .help = "weight of the fair-share factor" },
	{ "size", STRATA_REAL, offsetof(struct multifactor_conf, size), .real = { 1000, 0, 1e9 },
	  .help = "weight of the size" },
	{ "priority", STRATA_REAL, offsetof(struct multifactor_conf, priority),
	  .real = { 1, 0, 1e9 }, .help = "weight of one step of the finer priority" },
	{ "partition", STRATA_REAL, offsetof(struct multifactor_conf, partition),
	  .real = { 1000, 0, 1e9 }, .help = "weight of the partition's priority" },
	{ "qos", STRATA_REAL, offsetof(struct multifactor_conf, qos), .real = { 1000, 0, 1e9 },
	  .help = "weight of the priority of the quality of service" },
	{ "age_max", STRATA_DURATION, offsetof(struct multifactor_conf, age_max_ns),
	  .integer = { INT64_C(7) * 86400 * 1000000000, 1, INT64_MAX }, .unit = "s",
	  .help = "the age that counts in full" },
	{ "small_first", STRATA_BOOL, offsetof(struct multifactor_conf, small_first),
	  .help = "small jobs get the size's weight instead of large ones" },
	{ 0 }
};

static double multifactor_key(const void *conf_any, const struct strata_order_job *job)
{
	const struct multifactor_conf *conf = conf_any;
	double age = (double)(job->now_ns - job->submit_ns) / (double)conf->age_max_ns;
	double size = job->cluster_size > 0 ? job->size / job->cluster_size : 0;

	double sum = conf->age * (age < 1 ? age : 1) + conf->fair_share * job->share_factor +
		     conf->size * (conf->small_first ? 1 - size : size) +
		     conf->partition * job->partition + conf->qos * job->qos;

	return -(sum * job->boost + conf->priority * (double)job->priority);
}

const struct strata_order_class strata_order_multifactor = {
	.base = {
		.name = "multifactor",
		.aliases = "priority/multifactor",
		.summary = "a weighted sum of age, fair share, size, partition, qos and priority",
		.conf_size = sizeof(struct multifactor_conf),
		.options = multifactor_options,
	},
	.changes_with_time = true,
	.wants_share = true,
	.key = multifactor_key,
};
