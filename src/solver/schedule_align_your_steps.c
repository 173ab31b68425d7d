/*
 * align_your_steps: levels that were optimised for a model (Sabour et al. 2024), eleven published ones, interpolated in
 * the logarithm for other numbers of steps.
 */
#include "solver/schedule.h"

enum { AYS_SD15, AYS_SDXL, AYS_SVD, AYS_POINTS = 11 };

struct align_your_steps_conf {
	int model;
};

static const struct strata_choice models[] = {
	{ "sd15", AYS_SD15, "Stable Diffusion 1.5" },
	{ "sdxl", AYS_SDXL, "Stable Diffusion XL" },
	{ "svd", AYS_SVD, "Stable Video Diffusion" },
	{ 0 },
};

static const struct strata_option align_your_steps_options[] = {
	{ "model", STRATA_ENUM, offsetof(struct align_your_steps_conf, model),
	  .choice = { models, AYS_SD15 }, .help = "what they were optimised for" },
	{ 0 }
};

static const double published[][AYS_POINTS] = {
	[AYS_SD15] = { 14.615, 6.475, 3.861, 2.697, 1.886, 1.396, 0.963, 0.652, 0.399, 0.152,
		       0.029 },
	[AYS_SDXL] = { 14.615, 6.315, 3.771, 2.181, 1.342, 0.862, 0.555, 0.380, 0.234, 0.113,
		       0.029 },
	[AYS_SVD] = { 700, 54.5, 15.886, 7.977, 4.248, 1.789, 0.981, 0.403, 0.173, 0.034, 0.002 },
};

static int align_your_steps_fill(const void *conf_any, const struct strata_schedule_range *range,
				 size_t count, double *ret_sigmas, struct strata_error *err)
{
	const struct align_your_steps_conf *conf = conf_any;

	(void)range;
	(void)err;
	schedule_interpolate(published[conf->model], AYS_POINTS, count, ret_sigmas);
	return 0;
}

const struct strata_schedule_class strata_schedule_align_your_steps = {
	.base = {
		.name = "align_your_steps",
		.aliases = "Align Your Steps, ays",
		.summary = "levels that were optimised for a model",
		.conf_size = sizeof(struct align_your_steps_conf),
		.options = align_your_steps_options,
	},
	.fill = align_your_steps_fill,
};
