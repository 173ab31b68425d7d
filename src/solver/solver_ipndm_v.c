/*
 * iPNDM-v: iPNDM's multistep formula of up to fourth order on the levels of any schedule, with weights that go by how uneven they are
 * (zju-pi's diff-sampler; ComfyUI). The published weight of the second difference is exact for even steps only, so that on others
 * the fourth order is a third; LMS is the exact formula. One call per step.
 */
#include "solver/k.h"

#include <math.h>

enum { IPNDM_V_ORDER_MAX = 4, SLOTS = IPNDM_V_ORDER_MAX - 1 };

struct ipndm_v_conf {
	struct solver_conf common;
	int64_t max_order;
};

static const struct strata_option ipndm_v_options[] = {
	CONF_ON_SIGMAS,
	CONF_K_DIFFUSION,
	{ "max_order", STRATA_INT, offsetof(struct ipndm_v_conf, max_order),
	  .integer = { IPNDM_V_ORDER_MAX, 1, IPNDM_V_ORDER_MAX }, .help = "slopes that take part" },
	{ 0 }
};

/* Weights of the slopes at level i and before it, the newest first: the slope now, its first difference over half a step, then the published
 * shares of the second and the third difference, each spread over the slopes that it is made of. */
static void weigh(const double *sigmas, size_t i, size_t order, double *ret_weights)
{
	double h = sigmas[i + 1] - sigmas[i];

	ret_weights[0] = 1;
	if (order > 1) {
		double half = h / (sigmas[i] - sigmas[i - 1]) / 2;

		ret_weights[0] += half;
		ret_weights[1] = -half;
	}
	if (order > 2) {
		double h1 = sigmas[i] - sigmas[i - 1], h2 = sigmas[i - 1] - sigmas[i - 2];
		double ratio = h1 / h2, second = (1 - h * h / (3 * h1 * (h1 + h2))) / 2;

		ret_weights[0] += second;
		ret_weights[1] -= (1 + ratio) * second;
		ret_weights[2] = ratio * second;
	}
	if (order > 3) {
		double h1 = sigmas[i] - sigmas[i - 1], h2 = sigmas[i - 1] - sigmas[i - 2];
		double h3 = sigmas[i - 2] - sigmas[i - 3], ratio = h1 / h2;
		double far = h1 * (h1 + h2) / (h2 * (h2 + h3));
		double third = (1 - h / (3 * (h + h1))) / 2 +
			       (1 - h / (2 * (h + h1))) * h / (6 * (h + h1 + h2));

		third *= h * (h + h1) * (h + h1 + h2) / (h1 * (h1 + h2) * (h1 + h2 + h3));
		ret_weights[0] += third;
		ret_weights[1] -= (1 + ratio + far) * third;
		ret_weights[2] += (ratio + far * (1 + h2 / h3)) * third;
		ret_weights[3] = -far * ratio * third;
	}
}

static int ipndm_v_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	size_t order_max = (size_t)((const struct ipndm_v_conf *)run->conf)->max_order;
	const double *sigmas = run->levels.sigmas;
	size_t done = i - run->levels.first, order = done + 1 < order_max ? done + 1 : order_max;
	double weights[IPNDM_V_ORDER_MAX], h = sigmas[i + 1] - sigmas[i];
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigmas[i], &row);

	if (rc)
		return rc;
	if (sigmas[i + 1] == 0)
		order = 1;
	weigh(sigmas, i, order, weights);
	row->next.a = 1;
	k_slope(&row->next, sigmas[i], h * weights[0]);
	for (size_t k = 1; k < order; k++)
		row->next.c[(done - k) % SLOTS] = h * weights[k];
	k_slope(draft_write(row, (uint32_t)(done % SLOTS)), sigmas[i], 1);
	return 0;
}

static int ipndm_v_compile(const void *conf, const struct strata_solver_request *request,
			   struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, ipndm_v_step, draft, err);
}

const struct strata_solver_class strata_solver_ipndm_v = {
	.base = {
		.name = "ipndm_v",
		.aliases = "iPNDM-v, sample_ipndm_v",
		.summary = "iPNDM's multistep formula for uneven steps; one call",
		.conf_size = sizeof(struct ipndm_v_conf),
		.options = ipndm_v_options,
	},
	.compile = ipndm_v_compile,
};
