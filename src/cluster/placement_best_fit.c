/* best_fit: the node that is left with least, a GPU counting as much as 16 cores: free CPU after
 * the job + 16 x free GPU after it, both in thousandths. Large jobs then find nodes that are
 * still empty. */
#include <strata/cluster.h>

static double best_fit_score(const void *conf, void *state, const struct strata_candidate *node,
			     const struct strata_need *need, uint32_t *ret_gpu)
{
	(void)conf, (void)state, (void)need, (void)ret_gpu;
	int64_t gpu_milli = 0;

	for (uint32_t i = 0; i < node->gpu_count; i++)
		gpu_milli += node->room->gpu_milli[i];
	return (double)(node->room->cpu_milli +
			16 * gpu_milli); /* less what the job takes, which is the same everywhere */
}

const struct strata_placement_class strata_placement_best_fit = {
	.base = {
		.name = "best_fit",
		.aliases = "bestfit, bfd",
		.summary = "the node that is left with least",
	},
	.ignores_need = true,
	.keeps_together = true,
	.score = best_fit_score,
};
