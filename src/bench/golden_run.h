/*
 * Going through a solver's trajectory again with a made-up model, and comparing it with one that was kept: what shows
 * that a table is right. The models are those that the files of cases were made with.
 */
#ifndef BENCH_GOLDEN_RUN_H
#define BENCH_GOLDEN_RUN_H

#include "formats/golden.h"

struct trajectory_result {
	double worst; /* largest ratio of an error to its tolerance; infinite when there was no trajectory */
	char why[STRATA_ERROR_TEXT_BYTES]; /* of a case that failed; "" */
};

/* Has it passed? NaN has not. */
bool trajectory_passed(const struct trajectory_result *result);

/* Compiles and runs one case with this instruction set. What is wrong with the case goes into the result; returns
 * -ENOMEM only. */
int trajectory_run(const struct golden_case *one, const struct golden_bank *bank,
		   const struct strata_registry *solvers, enum strata_isa isa,
		   struct strata_memory *memory, struct trajectory_result *ret_result,
		   struct strata_error *err);

#endif
