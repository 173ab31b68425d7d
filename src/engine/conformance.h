/*
 * ONNX's conformance data: directories with a model.onnx and test_data_set_0 …, in which input_0.pb … and output_0.pb … are what goes in and what
 * must come out.
 */
#ifndef ENGINE_CONFORMANCE_H
#define ENGINE_CONFORMANCE_H

#include <strata/engine.h>

#include <stdint.h>

enum conformance {
	CONFORMANCE_RIGHT,
	CONFORMANCE_WRONG,   /* ran, and a result differs */
	CONFORMANCE_REFUSED, /* did not run; the sentence says why */
};

/* Runs all data sets of one directory. ret_why says what was wrong or refused. Differences up to 1e-7 + 1e-3·|expected| are rounding
 * (one unit in the last place of bfloat16). Of a model that draws random numbers only kinds, types and shapes are compared. */
enum conformance engine_conformance_run(struct strata_engine *engine, const char *directory,
					struct strata_error *ret_why);

/* A number made of every bit of the results of all data sets: equal where two runs (by other threads) agree to the bit. */
int engine_conformance_digest(struct strata_engine *engine, const char *directory,
			      uint64_t *ret_digest, struct strata_error *err);

#endif
