/*
 * flux: even steps, shifted towards noise by as much as the size of the picture asks for, as FLUX.1-dev was made to be sampled. For flows, whose
 * range ends at 1; the same as dynamic shifting with this mu.
 */
#include "solver/schedule.h"

#include <math.h>

struct flux_conf {
	int64_t image_seq_len;
	double base_shift, max_shift;
};

static const struct strata_option flux_options[] = {
	{ "image_seq_len", STRATA_INT, offsetof(struct flux_conf, image_seq_len),
	  .integer = { 4096, 1, 1 << 20 },
	  .help = "tokens of the picture: width / 16 times height / 16" },
	{ "base_shift", STRATA_REAL, offsetof(struct flux_conf, base_shift),
	  .real = { 0.5, -10, 10 }, .help = "mu of 256 tokens" },
	{ "max_shift", STRATA_REAL, offsetof(struct flux_conf, max_shift),
	  .real = { 1.15, -10, 10 },
	  .help = "mu of 4096 tokens; others lie on the line through both" },
	{ 0 }
};

static int flux_fill(const void *conf_any, const struct strata_schedule_range *range, size_t count,
		     double *ret_sigmas, struct strata_error *err)
{
	const struct flux_conf *conf = conf_any;
	double place = fmin((double)(conf->image_seq_len - 256) / (4096 - 256), 10);
	double shift = exp(conf->base_shift + place * (conf->max_shift - conf->base_shift));

	(void)err;
	for (size_t i = 0; i < count; i++) {
		double t = 1 - (double)i / (double)count;

		ret_sigmas[i] = range->sigma_max * shift / (shift + (1 / t - 1));
	}
	return 0;
}

const struct strata_schedule_class strata_schedule_flux = {
	.base = {
		.name = "flux",
		.summary = "even steps of a flow, shifted by the size of the picture",
		.conf_size = sizeof(struct flux_conf),
		.options = flux_options,
	},
	.fill = flux_fill,
};
