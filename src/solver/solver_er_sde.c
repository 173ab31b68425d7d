/*
 * ER-SDE: the extended reverse-time SDE, whose noise goes by a function of the level, in up to three stages of finite differences (Cui et al.
 * 2023). One call per step.
 */
#include "solver/k.h"

#include <math.h>

enum { STAGES_MAX = 3, POINTS = 200, SLOTS = 2 };

struct er_sde_conf {
	struct solver_conf common;
	int64_t max_stage;
};

static const struct strata_option er_sde_options[] = {
	CONF_ON_SIGMAS,
	{ "s_noise", STRATA_REAL, CONF_AT(s_noise), .real = { 1, 0, 10 },
	  .help = "scale of the noise (0: none)" },
	CONF_K_DIFFUSION,
	{ "max_stage", STRATA_INT, offsetof(struct er_sde_conf, max_stage),
	  .integer = { STAGES_MAX, 1, STAGES_MAX }, .help = "differences that take part, and one" },
	{ 0 }
};

/* The published choice of how the noise goes. */
static double noise_scale(double sigma)
{
	return sigma * (exp(pow(sigma, 0.3)) + 10);
}

/* Sums over the step of 1 / scale and of (level − start) / scale. */
static void integrate(double from, double to, double *ret_plain, double *ret_moment)
{
	double width = (from - to) / POINTS;

	*ret_plain = *ret_moment = 0;
	for (int k = 0; k < POINTS; k++) {
		double at = to + k * width, scale = noise_scale(at);

		*ret_plain += width / scale;
		*ret_moment += width * (at - from) / scale;
	}
}

/* The clean sample's first difference, and its second, as weights of this and the last two. */
static void add_differences(const double *sigmas, size_t i, size_t stages, double first,
			    double second, struct strata_solver_sum *next, size_t done)
{
	double near = sigmas[i] - sigmas[i - 1];

	if (stages > 2) {
		double far = sigmas[i - 1] - sigmas[i - 2];
		double bend = second * 2 / (sigmas[i] - sigmas[i - 2]);

		next->c[(done - 1) % SLOTS] -= bend / far;
		next->c[(done - 2) % SLOTS] += bend / far;
		first += bend;
	}
	next->b += first / near;
	next->c[(done - 1) % SLOTS] -= first / near;
}

static int er_sde_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	size_t max_stage = (size_t)((const struct er_sde_conf *)run->conf)->max_stage;
	const double *sigmas = run->levels.sigmas;
	size_t done = i - run->levels.first, stages = done + 1 < max_stage ? done + 1 : max_stage;
	double sigma = sigmas[i], to = sigmas[i + 1], plain, moment;
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);

	if (rc)
		return rc;
	draft_write(row, (uint32_t)(done % SLOTS))->b = 1;
	if (to == 0) {
		row->next.b = 1;
		return 0;
	}
	double end = noise_scale(to), r = end / noise_scale(sigma), dt = to - sigma;

	row->next.a = r;
	row->next.b = 1 - r;
	if (stages > 1) {
		integrate(sigma, to, &plain, &moment);
		add_differences(sigmas, i, stages, dt + plain * end, dt * dt / 2 + moment * end,
				&row->next, done);
	}
	if (run->conf->s_noise > 0) {
		row->next.d = run->conf->s_noise * sqrt(fmax(to * to - sigma * sigma * r * r, 0));
		row->flags |= STRATA_ROW_NOISE;
	}
	return 0;
}

static int er_sde_compile(const void *conf, const struct strata_solver_request *request,
			  struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, er_sde_step, draft, err);
}

const struct strata_solver_class strata_solver_er_sde = {
	.base = {
		.name = "er_sde",
		.aliases = "ER SDE, sample_er_sde",
		.summary = "the extended reverse-time SDE in up to three stages; one call",
		.conf_size = sizeof(struct er_sde_conf),
		.options = er_sde_options,
	},
	.compile = er_sde_compile,
};
