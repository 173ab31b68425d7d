/* Draws numbers from two normal distributions around -1 and 1 by denoising, with a model that is exact.
 *	cc denoise.c $(pkg-config --cflags --libs strata) -lm && ./a.out euler_ancestral torch 42 */
#include <strata/trajectory.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 10000, STEPS = 20 };
static float sample[COUNT], output[COUNT];

/* The noise in x = alpha·clean + sigma·noise, as a model that was trained on such numbers expects it. */
static float predict_noise(double x, double alpha, double sigma, double deviation)
{
	double spread = alpha * alpha * deviation * deviation + sigma * sigma;
	double side = tanh(alpha * x / spread); /* where it comes from: -1 … 1 */

	return (float)(sigma / spread * (x - alpha * side));
}

int main(int argc, char **argv)
{
	const struct strata_trajectory_conf conf = {
		.solver = argc > 1 ? argv[1] : "dpmpp_2m:use_karras_sigmas=true",
		.request = { .steps = STEPS },
		.element_count = COUNT,
		.isa = strata_isa_best(),
		.noise = argc > 2 ? argv[2] : "torch",
		.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 42,
	};
	struct strata_memory memory = { 0 };
	struct strata_trajectory *trajectory;
	const struct strata_solver_row *row;
	struct strata_error err;
	double square = 0;
	size_t calls = 0;

	if (strata_trajectory_new(&conf, &memory, &trajectory, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	strata_trajectory_begin(trajectory, NULL, sample);
	for (; (row = strata_trajectory_row(trajectory)); calls++) {
		for (int i = 0; i < COUNT; i++)
			output[i] = predict_noise(sample[i], row->alpha, row->sigma, 0.2);
		if (strata_trajectory_step(trajectory, output, row->timestep, sample, &err))
			return 1;
	}
	for (int i = 0; i < COUNT; i++)
		square += pow(fabs((double)sample[i]) - 1, 2) / COUNT;
	printf("%zu calls of the model; deviation from -1 or 1: %.3f, and it should be 0.200\n",
	       calls, sqrt(square));
	strata_trajectory_free(trajectory);
	return 0;
}
