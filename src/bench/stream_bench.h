/*
 * Exercises for a stream: computing over the layers of a model, to see what streaming costs and that nothing is lost on the way. A visit
 * multiplies with every matrix of its layer, or takes a given time; either way it ends in a digest of what came out and of every byte that
 * was not multiplied, so that two runs can be compared bit for bit.
 *
 * What a layer's digest is to be comes from the plain way: the layer is read into a buffer of its own, by pread, at the same place within a
 * page of the system, and computed there.
 */
#ifndef BENCH_STREAM_BENCH_H
#define BENCH_STREAM_BENCH_H

#include "stream/blas.h"

#include <strata/stream.h>

struct stream_bench_conf {
	const struct strata_weights *weights; /* borrowed until bench_close */
	int64_t rows;       /* of what weights are multiplied with; 0: takes compute_ns instead */
	int64_t compute_ns; /* of a visit … */
	double ns_per_byte; /* … and for each byte of its tensors */
	int threads;        /* that multiply; 0: as OpenBLAS likes */
	const char *blas;   /* library; NULL: the usual one */
};

struct stream_bench {
	struct stream_bench_conf conf;
	struct strata_memory *memory;
	struct blas blas;
	/* strip: rows of a matrix of another type, as float */
	float *input, *output_block, *output, *strip;
	size_t input_count, output_count, strip_count;
	char *block; /* for a layer read the plain way */
	size_t block_bytes;
	int64_t plain_bytes; /* read the plain way so far */
};

int stream_bench_open(struct stream_bench *stream_bench, const struct stream_bench_conf *conf,
		      struct strata_memory *memory, struct strata_error *err);
void stream_bench_close(struct stream_bench *stream_bench);

/* One visit. tensors: where each is. */
uint64_t stream_bench_compute(const struct stream_bench *stream_bench, uint32_t layer,
			      const void *const *tensors);

/* The same on a layer that was read the plain way; ret_ns (may be NULL): what computing took. */
int stream_bench_compute_plain(struct stream_bench *stream_bench, uint32_t layer,
			       uint64_t *ret_digest, int64_t *ret_ns, struct strata_error *err);

/* What the kernel read from disks for this process so far; -1 where it does not say. */
int64_t stream_bench_disk_bytes(void);

#endif
