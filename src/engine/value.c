/* Values: making, sharing and dropping them. Reading them from files is in value_read.c, changing their type in value_cast.c. */
#include "engine/value.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

struct engine_buffer {
	_Atomic uint32_t users;
	struct engine_heap *heap;
	size_t bytes;      /* of the whole block, this header included */
	size_t item_count; /* values in it, which it holds */
};

/* The contents begin a line behind the header. */
enum { HEADER_BYTES = ENGINE_ALIGN };
_Static_assert(sizeof(struct engine_buffer) <= HEADER_BYTES, "the header fits in front");

static const struct {
	uint8_t bytes;
	const char *name;
} dtypes[ONNX_DTYPE_COUNT] = {
	[ONNX_NONE] = { 0, "nothing" },
	[ONNX_FLOAT] = { 4, "float32" },
	[ONNX_UINT8] = { 1, "uint8" },
	[ONNX_INT8] = { 1, "int8" },
	[ONNX_UINT16] = { 2, "uint16" },
	[ONNX_INT16] = { 2, "int16" },
	[ONNX_INT32] = { 4, "int32" },
	[ONNX_INT64] = { 8, "int64" },
	[ONNX_STRING] = { sizeof(char *), "text" },
	[ONNX_BOOL] = { 1, "bool" },
	[ONNX_FLOAT16] = { 2, "float16" },
	[ONNX_DOUBLE] = { 8, "float64" },
	[ONNX_UINT32] = { 4, "uint32" },
	[ONNX_UINT64] = { 8, "uint64" },
	[ONNX_COMPLEX64] = { 0, "complex64" },
	[ONNX_COMPLEX128] = { 0, "complex128" },
	[ONNX_BFLOAT16] = { 2, "bfloat16" },
	[ONNX_FLOAT8E4M3FN] = { 0, "float8e4m3fn" },
	[ONNX_FLOAT8E4M3FNUZ] = { 0, "float8e4m3fnuz" },
	[ONNX_FLOAT8E5M2] = { 0, "float8e5m2" },
	[ONNX_FLOAT8E5M2FNUZ] = { 0, "float8e5m2fnuz" },
	[ONNX_UINT4] = { 0, "uint4" },
	[ONNX_INT4] = { 0, "int4" },
	[ONNX_FLOAT4E2M1] = { 0, "float4e2m1" },
};

size_t engine_dtype_bytes(int dtype)
{
	return dtype > 0 && dtype < ONNX_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

const char *engine_dtype_name(int dtype)
{
	return dtype >= 0 && dtype < ONNX_DTYPE_COUNT ? dtypes[dtype].name : "an unknown type";
}

int64_t engine_value_elements(const struct engine_value *value)
{
	int64_t count = 1;

	for (uint32_t i = 0; i < value->rank; i++)
		count *= value->dims[i];
	return count;
}

size_t engine_value_bytes(const struct engine_value *value)
{
	return (size_t)engine_value_elements(value) * engine_dtype_bytes(value->dtype);
}

/* Bytes for a shape; false when it has a dimension below 0 or is larger than any memory. */
static bool shape_bytes(int dtype, size_t rank, const int64_t *dims, size_t *ret_bytes)
{
	size_t bytes = engine_dtype_bytes(dtype);
	bool empty = false;

	for (size_t i = 0; i < rank; i++) {
		if (dims[i] < 0)
			return false;
		empty |= dims[i] == 0;
	}
	for (size_t i = 0; i < rank; i++) /* of an empty one too: parts of it are counted */
		if (dims[i] && (__builtin_mul_overflow(bytes, (size_t)dims[i], &bytes) ||
				bytes > SIZE_MAX / 4))
			return false;
	*ret_bytes = empty ? 0 : bytes;
	return true;
}

static struct engine_buffer *buffer_new(struct engine_heap *heap, size_t bytes, bool planned)
{
	struct engine_buffer *buffer = planned ? engine_heap_get_planned(heap, HEADER_BYTES + bytes)
					       : engine_heap_get(heap, HEADER_BYTES + bytes);

	if (!buffer)
		return NULL;
	atomic_init(&buffer->users, 1);
	buffer->heap = heap;
	buffer->bytes = HEADER_BYTES + bytes;
	buffer->item_count = 0;
	return buffer;
}

static void *contents(struct engine_buffer *buffer)
{
	return (char *)buffer + HEADER_BYTES;
}

static int fail_size(size_t rank, const int64_t *dims, struct strata_error *err)
{
	for (size_t i = 0; i < rank; i++)
		if (dims[i] < 0)
			return strata_fail(err, -EINVAL, "a tensor has the dimension %lld",
					   (long long)dims[i]);
	return strata_fail(err, -E2BIG, "a tensor of %lld × … elements is larger than any memory",
			   rank ? (long long)dims[0] : 1);
}

static int make(struct engine_heap *heap, bool planned, int dtype, size_t rank, const int64_t *dims,
		struct engine_value *ret_value, struct strata_error *err)
{
	struct engine_value value = { .kind = ONNX_TENSOR, .dtype = dtype, .rank = (uint32_t)rank };
	size_t bytes;

	if (engine_dtype_bytes(dtype) == 0)
		return strata_fail(err, -ENOTSUP, "elements of type %s cannot be computed with",
				   engine_dtype_name(dtype));
	if (rank > STRATA_TENSOR_RANK_MAX)
		return strata_fail(err, -E2BIG, "a tensor has %zu dimensions; expected at most %d",
				   rank, STRATA_TENSOR_RANK_MAX);
	if (!shape_bytes(dtype, rank, dims, &bytes))
		return fail_size(rank, dims, err);
	value.buffer = buffer_new(heap, bytes, planned);
	if (!value.buffer)
		return strata_fail(err, -ENOMEM, "no memory for a tensor of %zu bytes", bytes);
	value.data = contents(value.buffer);
	for (size_t i = 0; i < rank; i++)
		value.dims[i] = dims[i];
	*ret_value = value;
	return 0;
}

int engine_value_make(struct engine_heap *heap, int dtype, size_t rank, const int64_t *dims,
		      struct engine_value *ret_value, struct strata_error *err)
{
	return make(heap, false, dtype, rank, dims, ret_value, err);
}

int engine_value_make_planned(struct engine_heap *heap, int dtype, size_t rank, const int64_t *dims,
			      struct engine_value *ret_value, struct strata_error *err)
{
	return make(heap, true, dtype, rank, dims, ret_value, err);
}

int engine_value_texts(struct engine_heap *heap, size_t rank, const int64_t *dims,
		       const char *const *texts, struct engine_value *ret_value,
		       struct strata_error *err)
{
	struct engine_value value = { .kind = ONNX_TENSOR,
				      .dtype = ONNX_STRING,
				      .rank = (uint32_t)rank };
	size_t pointers, bytes, count;

	if (!shape_bytes(ONNX_STRING, rank, dims, &pointers))
		return fail_size(rank, dims, err);
	bytes = pointers;
	count = pointers / sizeof(char *);
	for (size_t i = 0; i < count; i++)
		bytes += strlen(texts[i]) + 1;
	value.buffer = buffer_new(heap, bytes, false);
	if (!value.buffer)
		return strata_fail_memory(err);
	value.data = contents(value.buffer);
	char *at = (char *)value.data + pointers;

	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(texts[i]) + 1;

		memcpy(at, texts[i], length);
		((char **)value.data)[i] = at;
		at += length;
	}
	for (size_t i = 0; i < rank; i++)
		value.dims[i] = dims[i];
	*ret_value = value;
	return 0;
}

int engine_value_own_texts(struct engine_heap *heap, struct engine_value *value,
			   struct strata_error *err)
{
	if (value->kind != ONNX_TENSOR || value->dtype != ONNX_STRING || !value->buffer)
		return 0;
	const char *first = (const char *)value->buffer, *past = first + value->buffer->bytes;
	int64_t count = engine_value_elements(value);
	bool own = true;

	for (int64_t i = 0; own && i < count; i++) {
		const char *text = ((char *const *)value->data)[i];

		own = text >= first && text < past;
	}
	if (own)
		return 0;
	struct engine_value copy;
	int rc = engine_value_texts(heap, value->rank, value->dims, value->data, &copy, err);

	if (rc)
		return rc;
	engine_value_drop(value);
	*value = copy;
	return 0;
}

int engine_value_list(struct engine_heap *heap, enum onnx_kind kind, int dtype,
		      const struct engine_value *items, size_t item_count,
		      struct engine_value *ret_value, struct strata_error *err)
{
	struct engine_value value = { .kind = kind, .dtype = dtype, .item_count = item_count };

	value.buffer = buffer_new(heap, item_count * sizeof(*items), false);
	if (!value.buffer)
		return strata_fail_memory(err);
	value.items = contents(value.buffer);
	value.buffer->item_count = item_count;
	for (size_t i = 0; i < item_count; i++)
		value.items[i] = engine_value_share(&items[i]);
	*ret_value = value;
	return 0;
}

struct engine_value engine_value_share(const struct engine_value *value)
{
	if (value->buffer)
		atomic_fetch_add_explicit(&value->buffer->users, 1, memory_order_relaxed);
	return *value;
}

size_t engine_value_block_bytes(const struct engine_value *value)
{
	return value->buffer ? value->buffer->bytes : 0;
}

bool engine_value_alone(const struct engine_value *value)
{
	return value->buffer &&
	       atomic_load_explicit(&value->buffer->users, memory_order_acquire) == 1;
}

static void buffer_drop(struct engine_buffer *buffer)
{
	if (!buffer || atomic_fetch_sub_explicit(&buffer->users, 1, memory_order_acq_rel) != 1)
		return;
	struct engine_value *items = contents(buffer);

	for (size_t i = 0; i < buffer->item_count; i++) /* nesting is bounded by the model's types */
		engine_value_drop(&items[i]);
	engine_heap_put(buffer->heap, buffer, buffer->bytes);
}

void engine_value_drop(struct engine_value *value)
{
	buffer_drop(value->buffer);
	*value = (struct engine_value){ 0 };
}
