/* most_free: the node with the most free GPU, then the most free CPU: what is left is as balanced
 * as can be. */
#include <strata/cluster.h>

static double most_free_score(const void *conf, void *state, const struct strata_candidate *node,
			      const struct strata_need *need, uint32_t *ret_gpu)
{
	(void)conf, (void)state, (void)need, (void)ret_gpu;
	double gpu_milli = 0;

	for (uint32_t i = 0; i < node->gpu_count; i++)
		gpu_milli += node->room->gpu_milli[i];
	return -(gpu_milli * 1e6 + (double)node->room->cpu_milli / 1e3);
}

const struct strata_placement_class strata_placement_most_free = {
	.base = {
		.name = "most_free",
		.aliases = "mostfree, worst_fit",
		.summary = "the node with the most free GPUs",
	},
	.ignores_need = true,
	.keeps_together = true,
	.score = most_free_score,
};
