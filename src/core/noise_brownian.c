/*
 * brownian: the first sample as torch.randn on the CPU, and what the rows of an SDE draw from the Brownian tree of the seed, as
 * k-diffusion, A1111 and ComfyUI do for DPM++ SDE and its like. Rows of other solvers draw as torch does.
 */
#include <strata/noise.h>
#include <strata/rng.h>

static void brownian_start(const void *conf, uint64_t seed, void *state)
{
	(void)conf;
	strata_torch_init(state, seed);
}

static void brownian_normal(void *state, float *ret_values, size_t count)
{
	strata_torch_normal_f32(state, ret_values, count);
}

const struct strata_noise_class strata_noise_brownian = {
	.base = {
		.name = "brownian",
		.aliases = "brownian_tree",
		.summary = "torch, with a Brownian tree for the rows of an SDE",
	},
	.state_size = sizeof(struct strata_torch),
	.start = brownian_start,
	.normal = brownian_normal,
	.tree = true,
};
