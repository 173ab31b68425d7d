/* first_fit: every node is as good as any other, so the lowest row wins. */
#include <strata/cluster.h>

static double first_fit_score(const void *conf, void *state, const struct strata_candidate *node,
			      const struct strata_need *need, uint32_t *ret_gpu)
{
	(void)conf, (void)state, (void)need, (void)ret_gpu, (void)node;
	return 0;
}

const struct strata_placement_class strata_placement_first_fit = {
	.base = {
		.name = "first_fit",
		.aliases = "firstfit",
		.summary = "the first node that has room",
	},
	.ignores_need = true,
	.score = first_fit_score,
};
