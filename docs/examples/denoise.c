/* Draws numbers from two normal distributions around -1 and 1 by denoising, with a model that is exact.
 *	cc denoise.c $(pkg-config --cflags --libs strata) -lm && ./a.out euler_ancestral torch 42 */
#include <strata/solver.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 10000, STEPS = 20 };
static float sample[COUNT], output[COUNT], noise[COUNT];

/* The noise in x = alpha·clean + sigma·noise, as a model that was trained on such numbers expects it. */
static float predict_noise(double x, double alpha, double sigma, double deviation)
{
	double spread = alpha * alpha * deviation * deviation + sigma * sigma;
	double side = tanh(alpha * x / spread); /* where it comes from: -1 … 1 */

	return (float)(sigma / spread * (x - alpha * side));
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "dpmpp_2m:use_karras_sigmas=true";
	const char *source = argc > 2 ? argv[2] : "torch";
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 42;
	const struct strata_solver_request request = { .steps = STEPS };
	const struct strata_solver_how how = { STRATA_F32, strata_isa_best(), NULL };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_registry *solvers, *sources;
	struct strata_spec spec, noise_spec;
	struct strata_solver_noise draws;
	struct strata_solver_table *table;
	struct strata_error err;
	double square = 0;

	strata_arena_init(&arena, &memory, 0);
	if (strata_registry_new(&strata_solver_kind, &memory, &solvers, &err) ||
	    strata_spec_read(solvers, name, strlen(name), &arena, &spec, &err) ||
	    strata_registry_new(&strata_noise_kind, &memory, &sources, &err) ||
	    strata_spec_read(sources, source, strlen(source), &arena, &noise_spec, &err) ||
	    strata_solver_noise_init(&draws, &noise_spec, seed, 1, COUNT, &arena, &err) ||
	    strata_solver_compile((const struct strata_solver_class *)spec.cls, spec.conf, &request,
				  &memory, &table, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	void *slots[STRATA_SOLVER_SLOTS_MAX];
	void *block = malloc(strata_solver_slots_bytes(table->slot_count, COUNT, STRATA_F32));

	strata_solver_slots_init(block, table->slot_count, COUNT, STRATA_F32, slots);
	strata_solver_noise_fill(&draws, 0, noise);
	strata_solver_begin(table, NULL, noise, COUNT, STRATA_F32, sample);
	for (size_t r = 0; r < table->row_count; r++) {
		const struct strata_solver_row *row = strata_solver_row_at(table, r);
		struct strata_solver_item item = { row, sample, output, sample, slots, noise };

		for (int i = 0; i < COUNT; i++)
			output[i] = predict_noise(sample[i], row->alpha, row->sigma, 0.2);
		if (row->flags & STRATA_ROW_NOISE)
			strata_solver_noise_fill(&draws, strata_solver_tensor_of(table, r), noise);
		strata_solver_apply(&item, 1, COUNT, &how);
	}
	for (int i = 0; i < COUNT; i++)
		square += pow(fabs((double)sample[i]) - 1, 2) / COUNT;
	printf("%zu calls of the model; deviation from -1 or 1: %.3f, and it should be 0.200\n",
	       table->row_count, sqrt(square));
	free(block);
	strata_solver_table_free(table, &memory);
	strata_registry_free(solvers);
	strata_registry_free(sources);
	strata_arena_fini(&arena);
	return 0;
}
