/* Every kind of class in the library, one line each, in the order of the documents. */
#include <strata/class.h>
#include <strata/cluster.h>
#include <strata/detector.h>
#include <strata/noise.h>
#include <strata/place.h>
#include <strata/pool.h>
#include <strata/solver.h>
#include <strata/stage.h>

#include <string.h>

/* clang-format off */
static const struct strata_kind *const kinds[] = {
	&strata_order_kind,
	&strata_placement_kind,
	&strata_backfill_kind,
	&strata_prediction_kind,
	&strata_victims_kind,
	&strata_policy_kind,
	&strata_strategy_kind,
	&strata_cost_kind,
	&strata_detector_kind,
	&strata_planner_kind,
	&strata_noise_kind,
	&strata_solver_kind,
	&strata_schedule_kind,
};
/* clang-format on */

const struct strata_kind *strata_kind_at(size_t index)
{
	return index < sizeof(kinds) / sizeof(kinds[0]) ? kinds[index] : NULL;
}

const struct strata_kind *strata_kind_find(const char *name)
{
	const struct strata_kind *kind;

	for (size_t i = 0; (kind = strata_kind_at(i)); i++)
		if (strcmp(kind->name, name) == 0)
			return kind;
	return NULL;
}
