/*
 * Files of solver cases to be gone through again: "solver-golden-1", trajectories of diffusers' schedulers, and
 * "kdiffusion-golden-1", those of k-diffusion's samplers. Both come with a bank.json of inputs, which as a file of its own
 * has no cases. "betas-golden-1" has how much of the signal is left at some timesteps. Keys that are not known are passed
 * over.
 *
 * A reader fills plain structs on the arena; running a case is src/sim/trajectory.c's.
 */
#ifndef FORMATS_GOLDEN_H
#define FORMATS_GOLDEN_H

#include <strata/solver.h>

struct golden_numbers {
	double *values; /* in the arena */
	size_t count;
};

/* The inputs that all cases of a file share. */
struct golden_bank {
	size_t element_count; /* of each tensor below */
	size_t batch;         /* members, one after the other */
	struct golden_numbers init, clean, add;
	struct golden_numbers *noise; /* noise_count tensors */
	size_t noise_count;
};

struct golden_case {
	const char *name;
	const char *solver; /* a name that users know; NULL: the configuration's _class_name */
	const char *config; /* scheduler_config.json with the arguments of set_timesteps and step */
	struct strata_solver_request request;
	bool denoiser;           /* the model of k-diffusion's file: clean sample from (x, sigma) */
	double init_noise_sigma; /* NAN: the table's own */
	/* Lists of the whole schedule, where the table's first row stands at start_index. */
	size_t start_index;
	struct golden_numbers timesteps;
	struct golden_numbers sigmas;
	struct golden_numbers scale;    /* one for all, or one per call; none: not said */
	struct golden_numbers noise;    /* per call, an index in the bank or -1; none: in order */
	struct golden_numbers sample0;  /* none: init · init_noise_sigma */
	struct golden_numbers x0_first; /* the first clean sample's first values; none: not said */
	/* Calls (steps, with a denoiser) after which samples were kept, and those. */
	struct golden_numbers at;
	struct golden_numbers *samples;
	/* Signal left (alphas_cumprod) at the request's timesteps, as floats and exactly; none: a trajectory. */
	struct golden_numbers alphas, alphas_exact;
	double tolerance; /* of the samples, relative to the largest magnitude wanted */
};

struct golden_file {
	struct golden_case *cases;
	size_t case_count;
};

int golden_read_bank(const char *json, size_t length, struct strata_arena *arena,
		     struct golden_bank *ret_bank, struct strata_error *err);

/* `bank` is the file's, read before: every index and every tensor is checked against it. */
int golden_read(const char *json, size_t length, const struct golden_bank *bank,
		struct strata_arena *arena, struct golden_file *ret_file, struct strata_error *err);

#endif
