/*
 * iPNDM: a linear multistep formula of up to fourth order from the first step on, on a schedule of its own in which the sample turns from noise
 * to signal by an angle.
 */
#include "solver/draft.h"
#include "solver/spacing.h"

#include <errno.h>
#include <math.h>

struct ipndm_conf {
	struct solver_conf common;
};

static const struct strata_option ipndm_options[] = {
	{ "num_train_timesteps", STRATA_INT, CONF_AT(num_train_timesteps),
	  .integer = { 1000, 1, STRATA_TRAIN_STEPS_MAX }, .aliases = "train_timesteps",
	  .help = "timesteps the model was trained with" },
	{ 0 }
};

enum { IPNDM_PAST = 3 };

/* sin² of an even ramp is the noise at step i of n; n is the end, where there is none. */
static double sigma_at(size_t n, size_t i)
{
	double s = sin((double)(n - i) / (double)n * M_PI / 2);

	return s * s;
}

static void ipndm_row(size_t n, size_t i, size_t done, struct strata_solver_row *row)
{
	static const double weights[4][4] = {
		{ 1 },
		{ 3.0 / 2, -1.0 / 2 },
		{ 23.0 / 12, -16.0 / 12, 5.0 / 12 },
		{ 55.0 / 24, -59.0 / 24, 37.0 / 24, -9.0 / 24 },
	};
	size_t order = done < IPNDM_PAST ? done : IPNDM_PAST;
	double sigma = sigma_at(n, i), alpha = sqrt(1 - sigma * sigma);
	double to = sigma_at(n, i + 1), to_alpha = sqrt(1 - to * to);
	double floor = fmax(alpha, 1e-8);
	/* x' = alpha'·(x − sigma·ets) / alpha + sigma'·ets, with ets the noise by the formula */
	double of_ets = to - to_alpha * sigma / floor;
	struct strata_solver_sum noise = { .a = sigma, .e = alpha };

	row->timestep = atan2(sigma, alpha) / (M_PI / 2);
	row->alpha = alpha;
	row->sigma = sigma;
	row->p = alpha;
	row->q = -sigma;
	row->next.a = to_alpha / floor;
	draft_add(&row->next, of_ets * weights[order][0], &noise);
	if (alpha == 0) /* pure noise: the sample is its own prediction */
		row->next = (struct strata_solver_sum){ .a = to };
	for (size_t k = 1; k <= order; k++)
		row->next.c[(done - k) % IPNDM_PAST] = of_ets * weights[order][k];
	*draft_write(row, (uint32_t)(done % IPNDM_PAST)) = noise;
}

static int ipndm_compile(const void *conf, const struct strata_solver_request *request,
			 struct strata_solver_draft *draft, struct strata_error *err)
{
	struct strata_solver_row *row;
	size_t n = (size_t)request->steps, first;

	(void)conf;
	if (request->sigma_count || request->timestep_count || request->schedule)
		return strata_fail_at(
			err, -EINVAL, "sigmas",
			"ipndm has a schedule of its own; expected steps only, or the "
			"solver lms");
	int rc = spacing_first(request, n, &first, err);

	for (size_t i = rc ? 0 : first; rc == 0 && i < n; i++) {
		rc = strata_solver_draft_row(draft, &row, err);
		if (rc)
			break;
		row->step = (uint32_t)(i - first);
		ipndm_row(n, i, i - first, row);
	}
	draft->step_count = rc ? 0 : (uint32_t)(n - first);
	return rc;
}

const struct strata_solver_class strata_solver_ipndm = {
	.base = {
		.name = "ipndm",
		.aliases = "iPNDM, IPNDMScheduler",
		.summary = "a linear multistep formula on an angular schedule; fourth order",
		.conf_size = sizeof(struct ipndm_conf),
		.options = ipndm_options,
	},
	.compile = ipndm_compile,
};
