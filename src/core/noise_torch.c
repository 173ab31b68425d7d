/* torch: torch.manual_seed(seed); torch.randn(n) on the CPU, to the bit. */
#include <strata/noise.h>
#include <strata/rng.h>

static void torch_start(const void *conf, uint64_t seed, void *state)
{
	(void)conf;
	strata_torch_init(state, seed);
}

static void torch_normal(void *state, float *ret_values, size_t count)
{
	strata_torch_normal_f32(state, ret_values, count);
}

const struct strata_noise_class strata_noise_torch = {
	.base = {
		.name = "torch",
		.aliases = "torch_cpu, cpu",
		.summary = "torch.randn on the CPU",
	},
	.state_size = sizeof(struct strata_torch),
	.start = torch_start,
	.normal = torch_normal,
};
