/*
 * A trajectory: a solver's table, where in it a sample stands, and the tensors that its rows keep. It applies the rows one by one,
 * whatever the solver is: of one step, of several, or of several model calls for each step. The caller has the model and the sample:
 *
 *	const struct strata_trajectory_conf conf = {
 *		.solver = "DPM++ 2M Karras", .request = { .steps = 20 },
 *		.element_count = 4 * 64 * 64, .isa = strata_isa_best(), .noise = "torch", .seed = 42,
 *	};
 *
 *	strata_trajectory_new(&conf, &memory, &trajectory, &err);
 *	strata_trajectory_begin(trajectory, NULL, sample);
 *	while ((row = strata_trajectory_row(trajectory))) {
 *		strata_trajectory_scale(trajectory, sample, input);
 *		output = model(input, row->timestep)
 *		strata_trajectory_step(trajectory, output, row->timestep, sample, &err);
 *	}
 *
 * The bits are those of strata_solver_begin and strata_solver_apply on the same rows with the same noise. Image to image is a request
 * with a strength and a clean sample for _begin.
 *
 * A trajectory belongs to one thread at a time. Once made it allocates nothing.
 */
#ifndef STRATA_TRAJECTORY_H
#define STRATA_TRAJECTORY_H

#include <strata/solver.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct strata_trajectory_conf {
	const char *solver; /* what strata_solver_build takes; not read where there is a table */
	struct strata_solver_request request; /* likewise */
	/* Borrowed until _free; NULL: solver and request are compiled. */
	const struct strata_solver_table *table;
	size_t element_count; /* of one member, at least 1 */
	size_t member_count;  /* of the batch, which is in one buffer, member by member; 0: 1 */
	enum strata_element element; /* of samples and outputs */
	enum strata_isa isa;
	/* Borrowed until _free; NULL: in the calling thread. */
	const struct strata_workers *workers;
	const char *noise; /* a built-in source: "torch", "cuda", "philox" */
	uint64_t seed;
};

struct strata_trajectory;

/* -EINVAL for a conf without elements, and what strata_solver_build and strata_spec_build refuse; -ENOMEM. */
int strata_trajectory_new(const struct strata_trajectory_conf *conf, struct strata_memory *memory,
			  struct strata_trajectory **ret_trajectory, struct strata_error *err);
void strata_trajectory_free(struct strata_trajectory *trajectory); /* NULL is nothing */

const struct strata_solver_table *strata_trajectory_table(
	const struct strata_trajectory *trajectory);

/* The timesteps of the model calls, in order; of an adaptive solver only those known beforehand. They live as long as the trajectory. */
const double *strata_trajectory_timesteps(const struct strata_trajectory *trajectory,
					  size_t *ret_count);

/* Fills the first sample and stands before the first model call, however often it is called. With a clean sample it is that one, noised as
 * the request's strength asks for; `clean` and `sample` may be the same buffer. NULL: noise alone. */
void strata_trajectory_begin(struct strata_trajectory *trajectory, const void *clean, void *sample);

/* The row of the next model call: what the model is told (timestep), where the sample stands (alpha, sigma). NULL once all are applied, and
 * before _begin. Valid until the next step. */
const struct strata_solver_row *strata_trajectory_row(const struct strata_trajectory *trajectory);

/* What the model gets: the sample times the row's input_scale. May be the same buffer. There must be a row. */
void strata_trajectory_scale(const struct strata_trajectory *trajectory, const void *sample,
			     void *ret_input);

/* Applies the row to the sample in place, with the model's output for it; rows that need no model call follow at once. The timestep is the
 * row's: -EINVAL for another one, past the end, and for a row that asks for the unguided output too. Nothing has changed then. */
int strata_trajectory_step(struct strata_trajectory *trajectory, const void *output,
			   double timestep, void *sample, struct strata_error *err);

/* The same with the model's output for the empty prompt, which rows of CFG++ solvers ask for (STRATA_ROW_UNGUIDED); others ignore it. */
int strata_trajectory_step_unguided(struct strata_trajectory *trajectory, const void *output,
				    const void *unguided, double timestep, void *sample,
				    struct strata_error *err);

/* A clean sample, noised to where the row nearest to a timestep stands, with noise of the caller's (member by member, float32). */
void strata_trajectory_add_noise(const struct strata_trajectory *trajectory, double timestep,
				 const void *clean, const float *noise, void *ret_sample);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
