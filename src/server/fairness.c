/* Shares against use: see fairness.h. */
#include "server/fairness.h"

#include "server/decider.h"

#include <math.h>

#define KEEP_NS (15 * STRATA_SECOND_NS)

struct sums {
	struct decider *decider;
	double weight, gpu_hours;
	struct fairness found;
};

static bool competes(const struct sums *sums, const char *name, struct strata_usage_view *ret_view)
{
	strata_cluster_user(sums->decider->cluster, name, ret_view);
	return ret_view->jobs > 0 || ret_view->waiting > 0;
}

static void add_user(void *context, const char *name)
{
	struct sums *sums = context;
	struct strata_usage_view view;

	if (!competes(sums, name, &view))
		return;
	sums->weight += view.weight;
	sums->gpu_hours += view.gpu_hours;
	sums->found.competing++;
}

static void compare_user(void *context, const char *name)
{
	struct sums *sums = context;
	struct strata_usage_view view;

	if (!competes(sums, name, &view))
		return;
	double entitled = view.weight / sums->weight, had = view.gpu_hours / sums->gpu_hours;

	sums->found.deviation += fabs(had - entitled) / 2;
	if (view.jobs == 0 && had < entitled / 2)
		sums->found.starved++;
}

static void renew(struct decider *decider, int64_t now_ns)
{
	struct sums sums = { .decider = decider };

	strata_cluster_settle(decider->cluster);
	strata_cluster_each_user(decider->cluster, add_user, &sums);
	if (sums.found.competing > 1 && sums.weight > 0 && sums.gpu_hours > 0)
		strata_cluster_each_user(decider->cluster, compare_user, &sums);
	sums.found.known = true;
	sums.found.due_ns = now_ns + KEEP_NS;
	decider->fairness = sums.found;
}

void fairness_print(struct decider *decider, struct buf *buf)
{
	const struct fairness *fairness = &decider->fairness;
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);

	if (!fairness->known || now_ns >= fairness->due_ns)
		renew(decider, now_ns);
	metrics_print_one(buf, "fair_share_deviation", "gauge",
			  "the part of what competing users used that fair shares would have given "
			  "to others",
			  fairness->deviation);
	metrics_print_one(buf, "users_competing", "gauge", "users with jobs that run or wait",
			  fairness->competing);
	metrics_print_one(buf, "users_starved", "gauge",
			  "of them: nothing runs, and they had less than half of their share",
			  fairness->starved);
}
