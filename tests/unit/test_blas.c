#include "test.h"

#include "stream/blas.h"

#include <errno.h>

static struct strata_error err;

TEST(rows_are_multiplied_with_rows)
{
	static const float x[2][3] = { { 1, 2, 3 }, { 0, -1, 4 } };
	static const float w[4][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 1, 1, 1 }, { 2, -1, .5f } };
	static const float want[2][4] = { { 1, 2, 6, 1.5f }, { 0, -1, 3, 3 } };
	float y[2][4];
	struct blas blas;

	if (blas_open(&blas, NULL, &err))
		test_skip("%s", err.text);
	blas.set_threads(1);
	blas_linear(&blas, 2, 4, 3, &x[0][0], w, &y[0][0]);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 4; k++)
			CHECK_NEAR(y[i][k], want[i][k], 1e-6);
	blas_close(&blas);
}

TEST(a_machine_without_it_is_told_what_to_install)
{
	struct blas blas;

	CHECK_ERROR(blas_open(&blas, "libnone.so.9", &err), -ENOENT, "libopenblas0-pthread");
	CHECK_ERROR(blas_open(&blas, "libm.so.6", &err), -ENOENT, "libm.so.6 is not OpenBLAS");
	blas_close(&blas);
}
