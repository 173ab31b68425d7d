/* requested: a job will run as long as it asked for. Nothing is learned, so promises hold unless
 * jobs overrun their limit. */
#include <strata/cluster.h>

static int64_t requested_predict(const void *conf, const void *state, const struct strata_run *run)
{
	(void)conf, (void)state;
	return run->requested_ns;
}

const struct strata_prediction_class strata_prediction_requested = {
	.base = {
		.name = "requested",
		.aliases = "limit",
		.summary = "as long as the job asked for",
	},
	.exact = true,
	.predict = requested_predict,
};
