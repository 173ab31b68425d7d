/* OpenBLAS, found at run time: only who multiplies needs it, and it takes longer to load than most commands take to run. */
#ifndef STREAM_BLAS_H
#define STREAM_BLAS_H

#include <strata/error.h>

struct blas {
	void *library;
	void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
		      const float *a, int lda, const float *b, int ldb, float beta, float *c,
		      int ldc);
	void (*set_threads)(int count);
};

/* name: NULL for the usual one. -ENOENT with what to install where there is none. */
int blas_open(struct blas *blas, const char *name, struct strata_error *err);
void blas_close(struct blas *blas);

/* y[m × n] = x[m × k] · w[n × k]ᵀ, all row by row: what a linear layer does with its weights. */
void blas_linear(const struct blas *blas, int m, int n, int k, const float *x, const void *w,
		 float *y);

#endif
