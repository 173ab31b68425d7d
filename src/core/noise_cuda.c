/*
 * cuda: torch.randn(n, device="cuda"), Philox under torch's offsets. The same numbers as a GPU's for tensors of up to
 * `threads` elements; above that they depend on the GPU, as torch's do.
 */
#include <strata/noise.h>
#include <strata/rng.h>

struct cuda_conf {
	int64_t threads;
};

static const struct strata_option cuda_options[] = {
	{ "threads", STRATA_INT, offsetof(struct cuda_conf, threads),
	  .integer = { (int64_t)STRATA_CUDA_THREADS, 0, INT64_MAX },
	  .help = "threads that share a call: SMs x threads per SM; 0: one per element, as A1111's "
		  "NV noise" },
	{ 0 }
};

static void cuda_start(const void *conf_any, uint64_t seed, void *state)
{
	const struct cuda_conf *conf = conf_any;

	strata_cuda_init(state, seed,
			 conf->threads ? (uint64_t)conf->threads : STRATA_CUDA_THREADS_ANY);
}

static void cuda_normal(void *state, float *ret_values, size_t count)
{
	strata_cuda_normal(state, ret_values, count);
}

/* Each tensor takes as many blocks of a thread as the first. */
static void cuda_seek(void *state, uint64_t tensor, size_t count)
{
	struct strata_cuda *cuda = state;

	cuda->call = 0;
	strata_cuda_next(cuda, count);
	cuda->call *= tensor;
}

const struct strata_noise_class strata_noise_cuda = {
	.base = {
		.name = "cuda",
		.aliases = "torch_cuda, nv, gpu",
		.summary = "torch.randn on a CUDA device",
		.conf_size = sizeof(struct cuda_conf),
		.options = cuda_options,
	},
	.state_size = sizeof(struct strata_cuda),
	.start = cuda_start,
	.normal = cuda_normal,
	.seek = cuda_seek,
};
