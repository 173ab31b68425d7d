/* OpenBLAS by dlopen; the numbers are those of its C interface. */
#include "stream/blas.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };

static bool find(void *library, const char *name, void *slot)
{
	void *symbol = dlsym(library, name);

	memcpy(slot, &symbol, sizeof(symbol)); /* an object pointer where a function pointer is */
	return symbol;
}

int blas_open(struct blas *blas, const char *name, struct strata_error *err)
{
	name = name ? name : "libopenblas.so.0";
	*blas = (struct blas){ .library = dlopen(name, RTLD_NOW | RTLD_LOCAL) };
	if (!blas->library)
		return strata_fail(
			err, -ENOENT,
			"multiplying needs OpenBLAS (Debian: libopenblas0-pthread): %.150s",
			dlerror());
	if (find(blas->library, "cblas_sgemm", &blas->sgemm) &&
	    find(blas->library, "openblas_set_num_threads", &blas->set_threads))
		return 0;
	int rc = strata_fail(err, -ENOENT, "%.100s is not OpenBLAS: %.150s", name, dlerror());

	blas_close(blas);
	return rc;
}

void blas_close(struct blas *blas)
{
	if (blas->library)
		dlclose(blas->library);
	*blas = (struct blas){ 0 };
}

void blas_linear(const struct blas *blas, int m, int n, int k, const float *x, const void *w,
		 float *y)
{
	blas->sgemm(ROW_MAJOR, AS_IT_IS, TRANSPOSED, m, n, k, 1, x, k, w, k, 0, y, n);
}
