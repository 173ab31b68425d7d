/* .npy files: what is read must lie in the file and be as large as its shape says. */
#include "formats/npy.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_error err = { 0 };
	struct npy npy;

	if (npy_read(data, size, &npy, &err)) {
		assert(err.text[0]);
		return 0;
	}
	size_t bytes = (size_t)strata_dtype_bytes(npy.dtype);

	for (uint32_t i = 0; i < npy.rank; i++)
		bytes *= (size_t)npy.dims[i];
	assert(bytes == npy.data_bytes && (const uint8_t *)npy.data + bytes <= data + size);
	return 0;
}
