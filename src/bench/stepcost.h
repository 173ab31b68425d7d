/*
 * What one step of a solver costs: the CPU time of applying a row, beside that of a plain loop which somebody wrote by hand for
 * just this row, on the same buffers in the same run. Ratios carry over to other machines; times do not.
 */
#ifndef BENCH_STEPCOST_H
#define BENCH_STEPCOST_H

#include <strata/solver.h>

/* The hand-written loop of a row, where there is one: what DDIM, Euler, DPM++ 2M and UniPC do in the middle of a schedule. */
enum plain_kind { PLAIN_NONE, PLAIN_ONE, PLAIN_TWO, PLAIN_THREE };

struct plain {
	enum plain_kind kind;
	float p, q;        /* y = p·x + q·m */
	float next[4];     /* factors of the new sample's terms */
	float written[4];  /* and of what a slot gets */
	uint32_t slots[3]; /* which slots, in the order of the factors */
};

/* PLAIN_NONE for any other row. */
void plain_of(const struct strata_solver_row *row, struct plain *ret_plain);

/* In place. The loop is compiled for the instruction set, as the kernel is. */
void plain_run(const struct plain *plain, enum strata_isa isa, float *sample, const float *output,
	       void *const *slots, size_t count);

struct stepcost_conf {
	const struct strata_solver_row *row;
	uint32_t slot_count;
	size_t element_count;
	enum strata_element element;
	enum strata_isa isa;
	int64_t budget_ns; /* of CPU time, for measuring; each thing is measured three times at least */
};

struct stepcost {
	unsigned reads, writes; /* tensors of one step */
	double step_ns;         /* least of all measurements */
	double plain_ns;        /* the same of the plain loop; NAN where there is none */
	double ratio;           /* of the two, measured side by side; NAN alike */
	double fixed_ns;        /* of a step on 16 elements: what does not grow with the latent */
};

int stepcost_measure(const struct stepcost_conf *conf, struct strata_memory *memory,
		     struct stepcost *ret_cost, struct strata_error *err);

#endif
