/*
 * safetensors: the files that weights of models come in. A length, a JSON header that says of each tensor its type, its shape and where
 * its bytes lie, then the bytes. Readers here take what is in memory already and believe nothing: what comes out has no holes and no
 * overlaps, sizes that fit types and shapes, and an end where the file ends. Everything lives in the caller's arena.
 *
 *	strata_safetensors_begin(first_8_bytes, file_bytes, &header_bytes, &err);
 *	… read header_bytes more …
 *	strata_safetensors_read(header, header_bytes, file_bytes, &arena, &file, &err);
 *
 * A model of several files has an index beside them, model.safetensors.index.json. All functions are thread-safe.
 */
#ifndef STRATA_SAFETENSORS_H
#define STRATA_SAFETENSORS_H

#include <strata/error.h>
#include <strata/memory.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum strata_weight_type {
	STRATA_WEIGHT_BOOL,
	STRATA_WEIGHT_F4, /* two in a byte */
	STRATA_WEIGHT_F6_E2M3,
	STRATA_WEIGHT_F6_E3M2,
	STRATA_WEIGHT_U8,
	STRATA_WEIGHT_I8,
	STRATA_WEIGHT_F8_E5M2,
	STRATA_WEIGHT_F8_E4M3,
	STRATA_WEIGHT_F8_E8M0,
	STRATA_WEIGHT_F8_E4M3FNUZ,
	STRATA_WEIGHT_F8_E5M2FNUZ,
	STRATA_WEIGHT_I16,
	STRATA_WEIGHT_U16,
	STRATA_WEIGHT_F16,
	STRATA_WEIGHT_BF16,
	STRATA_WEIGHT_I32,
	STRATA_WEIGHT_U32,
	STRATA_WEIGHT_F32,
	STRATA_WEIGHT_C64,
	STRATA_WEIGHT_F64,
	STRATA_WEIGHT_I64,
	STRATA_WEIGHT_U64,
};
enum { STRATA_WEIGHT_TYPE_COUNT = STRATA_WEIGHT_U64 + 1 };
const char *strata_weight_type_name(enum strata_weight_type type); /* "BF16", as in the files */
unsigned strata_weight_type_bits(enum strata_weight_type type);    /* of one element: 4 to 64 */

/* A tensor of weights. */
struct strata_weight {
	const char *name;
	enum strata_weight_type type;
	const int64_t *shape; /* rank numbers, none below 0; a rank of 0 is one element */
	size_t rank;
	int64_t offset; /* of its bytes in the file */
	int64_t bytes;  /* 0 where a dimension is */
};

struct strata_safetensors {
	const struct strata_weight *tensors; /* in the order of their bytes */
	size_t tensor_count;
	const char *const *metadata; /* key, value, key, value … */
	size_t metadata_count;       /* of pairs */
};

/* How long the header is, from the first eight bytes of a file of this size. -EBADMSG when it cannot be a safetensors file, -E2BIG for
 * a header past what the format allows (STRATA_SAFETENSORS_HEADER_BYTES_MAX). */
int strata_safetensors_begin(const unsigned char first[8], int64_t file_bytes,
			     size_t *ret_header_bytes, struct strata_error *err);

/* Reads the header, the bytes behind those eight. -EBADMSG names the tensor at fault, and what was expected; -E2BIG for more tensors,
 * dimensions or metadata than the limits allow. */
int strata_safetensors_read(const char *header, size_t header_bytes, int64_t file_bytes,
			    struct strata_arena *arena, struct strata_safetensors *ret_file,
			    struct strata_error *err);

/* Which file each tensor of a model of several files is in. */
struct strata_safetensors_index {
	const char *const *files; /* names without a directory, each once */
	size_t file_count;
	const char *const *tensors;
	const uint32_t *file; /* of each tensor */
	size_t tensor_count;
};
/* -EBADMSG for what is no index, also for a file that would lie elsewhere: "../secret". */
int strata_safetensors_read_index(const char *text, size_t length, struct strata_arena *arena,
				  struct strata_safetensors_index *ret_index,
				  struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
