/*
 * numpy's .npy files: one array with its type and shape. Little endian and C order only, which is what every export of today writes; elements stay
 * where they are in the file's bytes.
 */
#ifndef FORMATS_NPY_H
#define FORMATS_NPY_H

#include "core/buf.h"

#include <strata/place.h>

struct npy {
	enum strata_dtype dtype;
	uint32_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	const void *data; /* in the bytes that were read; aligned as they are */
	size_t data_bytes;
};

/* -EBADMSG for what is no such file or is cut off, -ENOTSUP for Fortran order, big endian and types that models do not have, -E2BIG past the limits. */
int npy_read(const void *bytes, size_t length, struct npy *ret_npy, struct strata_error *err);

/* Adds a whole file to the buffer. */
void npy_write(struct buf *buf, enum strata_dtype dtype, size_t rank, const int64_t *dims,
	       const void *data);

#endif
