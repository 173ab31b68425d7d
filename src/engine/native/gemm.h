/*
 * Matrix products in float32 whose bits do not depend on the size of the matrix, on threads, or on the instruction set: an element is
 * Σ a[i][k]·b[k][j], fused multiply-adds in the order of k within blocks of GEMM_BLOCK, the blocks added in order. A library's product has other bits
 * for one row than for four (oneDNN's jit kernels for K = 320 and 2048, for example), which would make a picture depend on what it is
 * batched with. That is why this one is our own.
 *
 * The right-hand side is packed first: panels of sixteen columns, row by row, the last one filled up with zeros. Weights that stay are packed once.
 */
#ifndef ENGINE_NATIVE_GEMM_H
#define ENGINE_NATIVE_GEMM_H

#include "engine/team.h"

enum { GEMM_BLOCK = 256, GEMM_COLUMNS = 16 };

/* A matrix by the steps between its rows and its columns. */
struct gemm_matrix {
	const float *at;
	int64_t row_step, column_step;
};

/* How many floats the packed form of k × n takes. */
int64_t gemm_packed_count(int64_t k, int64_t n);
void gemm_pack(struct engine_team *team, struct gemm_matrix b, int64_t k, int64_t n,
	       float *ret_packed);

/* What happens to a result when its sum is complete: c = scale · sum + bias. */
struct gemm_finish {
	float scale;
	const float *bias;    /* one for each column; NULL: none */
	const float *row_bias; /* one for each row; NULL: none */
};

/* c = a·b for m × n, with rows of c at steps of c_step. finish may be NULL. */
void gemm_run(struct engine_team *team, int64_t m, int64_t n, int64_t k, struct gemm_matrix a,
	      const float *packed_b, float *c, int64_t c_step, const struct gemm_finish *finish);

/* The same with b as it is, for small ones that are read by few rows of a: n must be a multiple of GEMM_COLUMNS, b's columns next to each other. */
void gemm_run_flat(struct engine_team *team, int64_t m, int64_t n, int64_t k, struct gemm_matrix a,
		   const float *b, int64_t b_step, float *c, int64_t c_step,
		   const struct gemm_finish *finish);

/* The same for a few rows (one token, one embedding) with b as it is: packing would cost more than the product. b's columns must be next to each other. */
void gemm_run_thin(struct engine_team *team, int64_t m, int64_t n, int64_t k, struct gemm_matrix a,
		   const float *b, int64_t b_step, float *c, int64_t c_step,
		   const struct gemm_finish *finish);

/*
 * The same with b as whole numbers of eight bits and a scale for each column: a quarter of the bytes to read, and a result that is off by up to half a percent
 * of the largest element of a column. Its bits depend on as little as those of gemm_run.
 */
struct gemm_int8 {
	int8_t *at;    /* as many as gemm_packed_count says */
	float *scales; /* one for each column */
};
void gemm_pack_int8(struct engine_team *team, struct gemm_matrix b, int64_t k, int64_t n,
		    const struct gemm_int8 *packed);
void gemm_run_int8(struct engine_team *team, int64_t m, int64_t n, int64_t k, struct gemm_matrix a,
		   const struct gemm_int8 *packed_b, float *c, int64_t c_step,
		   const struct gemm_finish *finish);

#endif
