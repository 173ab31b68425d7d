/*
 * What goes between operators while a model runs: a tensor with its contents, a sequence of them, or an optional one. Contents are in
 * buffers that count their users, so that a view of a tensor (Reshape, Identity, an output that becomes the next call's input) costs nothing.
 */
#ifndef ENGINE_VALUE_H
#define ENGINE_VALUE_H

#include "engine/engine_heap.h"
#include "formats/onnx/onnx_model.h"

struct engine_buffer;

struct engine_value {
	enum onnx_kind kind; /* TENSOR, SEQUENCE, OPTIONAL; UNKNOWN: not made yet */
	int dtype;           /* TENSOR: enum onnx_dtype; of others, of what is in them */
	uint32_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	void *data; /* elements in order, 64-byte aligned if made here; texts: const char * each */
	struct engine_buffer *buffer; /* holds data; NULL: borrowed from elsewhere */
	struct engine_value *items;   /* SEQUENCE, OPTIONAL: in the buffer */
	size_t item_count;
};

/* Product of the dimensions. */
int64_t engine_value_elements(const struct engine_value *value);
/* Bytes of its elements; of texts, of the pointers to them. */
size_t engine_value_bytes(const struct engine_value *value);
size_t engine_dtype_bytes(int dtype); /* of one element in memory; 0: not one that is computed with */
const char *engine_dtype_name(int dtype); /* "float32" */

/* A tensor with room for its elements, which are not set. -E2BIG when the shape has too many, -ENOMEM. */
int engine_value_make(struct engine_heap *heap, int dtype, size_t rank, const int64_t *dims,
		      struct engine_value *ret_value, struct strata_error *err);
/* The same out of the memory that was planned for what goes between operators. */
int engine_value_make_planned(struct engine_heap *heap, int dtype, size_t rank, const int64_t *dims,
			      struct engine_value *ret_value, struct strata_error *err);
/* A tensor of texts, copied. */
int engine_value_texts(struct engine_heap *heap, size_t rank, const int64_t *dims,
		       const char *const *texts, struct engine_value *ret_value,
		       struct strata_error *err);
/* Texts that were copied from another tensor as pointers become the tensor's own; others and other types stay as they are. */
int engine_value_own_texts(struct engine_heap *heap, struct engine_value *value,
			   struct strata_error *err);
/* A sequence (or an optional) of copies of these values, which keep their own contents. */
int engine_value_list(struct engine_heap *heap, enum onnx_kind kind, int dtype,
		      const struct engine_value *items, size_t item_count,
		      struct engine_value *ret_value, struct strata_error *err);
/* One more user of the same contents. A borrowed one stays borrowed. */
struct engine_value engine_value_share(const struct engine_value *value);
/* Of the block that holds its contents, with what is in front of them; 0: borrowed. */
size_t engine_value_block_bytes(const struct engine_value *value);
/* The contents are the caller's alone: they may be changed. */
bool engine_value_alone(const struct engine_value *value);
/* The user goes; the last one frees. The value is empty afterwards. */
void engine_value_drop(struct engine_value *value);

/* An initializer or a constant of the file, read in full. The bytes at `raw` stand for its contents if given (a streamed weight);
 * `directory` is where files of external data are. float16 and bfloat16 become float32 with `widen`. */
int engine_value_of_tensor(struct engine_heap *heap, const struct onnx_tensor *tensor,
			   const char *directory, bool widen, struct engine_value *ret_value,
			   struct strata_error *err);

/* The same elements as another type, as Cast has it: float to integer cuts, to bool is "not 0". */
int engine_value_cast(struct engine_heap *heap, const struct engine_value *value, int dtype,
		      struct engine_value *ret_value, struct strata_error *err);

#endif
