/*
 * priority: the higher one first, equal ones as they came, with aging in a key that never changes:
 * the time a task came, less `aging` for each step of its priority. Waiting makes up for priority
 * at that rate, so
 *
 *	a later task goes before an earlier one only if it came less than
 *	aging · (difference of their priorities) after it
 *
 * and whoever waits longer than aging · (the whole range) is overtaken by nobody new. Without aging
 * the higher one always goes first.
 */
#include <strata/pool.h>

#include <strata/text.h>

struct priority_conf {
	int64_t aging_ns;
};

static const struct strata_option priority_options[] = {
	{ "aging", STRATA_DURATION, offsetof(struct priority_conf, aging_ns),
	  .integer = { STRATA_MINUTE_NS, 0, 30 * STRATA_DAY_NS }, .unit = "s",
	  .help = "waiting so long makes up for one step of priority (0s: never)" },
	{ 0 }
};

static int64_t priority_key(const void *conf_any, const struct strata_policy_task *task)
{
	const struct priority_conf *conf = conf_any;

	return conf->aging_ns ? task->added_ns - conf->aging_ns * task->priority : -task->priority;
}

const struct strata_policy_class strata_policy_priority = {
	.base = {
		.name = "priority",
		.summary = "the higher priority first, waiting counts",
		.conf_size = sizeof(struct priority_conf),
		.options = priority_options,
	},
	.key = priority_key,
};
