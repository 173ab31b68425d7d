/*
 * philox: element k of tensor n depends on the seed, n and k alone, so a picture is the same whatever batch it was
 * made in and however long its neighbours are.
 */
#include <strata/noise.h>
#include <strata/rng.h>

static void philox_start(const void *conf, uint64_t seed, void *state)
{
	(void)conf;
	*(struct strata_noise *)state = (struct strata_noise){ .seed = seed };
}

static void philox_normal(void *state, float *ret_values, size_t count)
{
	strata_noise_normal(state, ret_values, count);
}

static void philox_seek(void *state, uint64_t tensor, size_t count)
{
	(void)count;
	((struct strata_noise *)state)->step = tensor;
}

const struct strata_noise_class strata_noise_philox = {
	.base = {
		.name = "philox",
		.aliases = "independent, batch_independent",
		.summary = "numbers that do not depend on the batch",
	},
	.state_size = sizeof(struct strata_noise),
	.start = philox_start,
	.normal = philox_normal,
	.seek = philox_seek,
	.independent = true,
};
