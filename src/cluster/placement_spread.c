/* spread: the node of which the smallest part is in use, whatever its size, so that load and heat
 * are even. */
#include <strata/cluster.h>

static double spread_score(const void *conf, void *state, const struct strata_candidate *node,
			   const struct strata_need *need, uint32_t *ret_gpu)
{
	(void)conf, (void)state, (void)need, (void)ret_gpu;
	double gpu_milli = 0, whole = node->gpu_count * 1000.0, used;

	for (uint32_t i = 0; i < node->gpu_count; i++)
		gpu_milli += node->room->gpu_milli[i];
	used = node->whole->cpu_milli
		       ? 1 - (double)node->room->cpu_milli / (double)node->whole->cpu_milli
		       : 0;
	return used + (whole > 0 ? 1 - gpu_milli / whole : 0);
}

const struct strata_placement_class strata_placement_spread = {
	.base = {
		.name = "spread",
		.aliases = "least_loaded",
		.summary = "the node whose part in use is smallest",
	},
	.ignores_need = true,
	.keeps_together = true,
	.score = spread_score,
};
