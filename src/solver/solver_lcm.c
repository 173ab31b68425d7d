/* LCM: the model jumps to the clean sample, which is noised again to the next timestep (Luo et al. 2023). For models distilled to it. */
#include "solver/distilled.h"

#include <math.h>

static const struct strata_option lcm_options[] = {
	DISTILLED_OPTIONS,
	CONF_THRESHOLDING,
	CONF_CLIP,
	{ "timestep_scaling", STRATA_REAL, DISTILLED_AT(timestep_scaling),
	  .real = { 10, 1e-3, 1e6 }, .help = "how soon the sample itself counts for nothing" },
	{ 0 }
};

/* How much the sample itself counts: all at timestep 0, where it is clean. */
static void boundary(double scaled, double *ret_skip, double *ret_out)
{
	const double data = 0.5;
	double all = scaled * scaled + data * data;

	*ret_skip = data * data / all;
	*ret_out = scaled / sqrt(all);
}

static int lcm_step(void *run_any, size_t i)
{
	struct discrete_run *run = run_any;
	const struct distilled_conf *conf = (const struct distilled_conf *)run->conf;
	bool last = i + 1 == run->timesteps.count;
	double t = run->timesteps.at[i], skip, out;
	bool ends =
		last &&
		!run->first; /* of own timesteps that a strength cuts, the reference does not know the last */
	double to = run->timesteps.at[last ? i : i + 1];
	double then = ends ? 1 : discrete_alpha(run, to, 1);
	struct strata_solver_row *row;
	int rc = discrete_row(run, i, t, discrete_alpha(run, t, 1), &row);

	if (rc)
		return rc;
	boundary(t * conf->timestep_scaling, &skip, &out);
	row->next.b = sqrt(then) * out;
	row->next.a = sqrt(then) * skip;
	row->next.d = sqrt(1 - then);
	row->flags |= ends ? 0 : STRATA_ROW_NOISE;
	return 0;
}

static int lcm_compile(const void *conf, const struct strata_solver_request *request,
		       struct strata_solver_draft *draft, struct strata_error *err)
{
	return distilled_compile(conf, request, lcm_step, draft, err);
}

const struct strata_solver_class strata_solver_lcm = {
	.base = {
		.name = "lcm",
		.aliases = "LCM, k_lcm, LCMScheduler",
		.summary = "jumps to the clean sample and noises it again; for distilled models",
		.conf_size = sizeof(struct distilled_conf),
		.options = lcm_options,
	},
	.compile = lcm_compile,
};
