/*
 * A tensor of a model's file as a value. Contents are raw bytes of the file, numbers one by one in a field, texts, or an extent of another
 * file beside it; in each case all of them are read, into memory that is aligned. Sixteen-bit floats may be widened on the way.
 */
#include "engine/value.h"

#include "core/half.h"
#include "formats/onnx/onnx_graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_file(int fd, const char *path, int64_t offset, void *to, size_t bytes,
		     struct strata_error *err)
{
	char *at = to;

	while (bytes > 0) {
		ssize_t got = pread(fd, at, bytes, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return strata_fail(err, -errno, "%s: %s", path, strerror(errno));
		if (got == 0)
			return strata_fail(err, -ENODATA,
					   "%s ends %zu bytes before its weights do", path, bytes);
		at += got;
		offset += got;
		bytes -= (size_t)got;
	}
	return 0;
}

static int read_external(const struct onnx_tensor *tensor, const char *directory, void *to,
			 struct strata_error *err)
{
	char path[4096];
	struct stat about;
	int rc = onnx_check_location(tensor->location, err);

	if (rc)
		return rc;
	if (snprintf(path, sizeof(path), "%s%s%s", directory, directory[0] ? "/" : "",
		     tensor->location) >= (int)sizeof(path))
		return strata_fail(err, -ENAMETOOLONG, "%.64s…: the path is too long", path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return strata_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &about) == 0 && !S_ISREG(about.st_mode))
		rc = strata_fail(err, -EINVAL, "%s is not a file", path);
	else
		rc = read_file(fd, path, tensor->offset_bytes, to, (size_t)tensor->bytes, err);
	close(fd);
	return rc;
}

/* Numbers one by one: read as the widest type and cast to their own. */
static int read_typed(struct engine_heap *heap, const struct onnx_tensor *tensor,
		      struct engine_value *to, struct strata_error *err)
{
	bool real = onnx_dtype_real(tensor->dtype);
	struct engine_value wide = { 0 }, narrow = { 0 };
	int rc = engine_value_make(heap, real ? ONNX_DOUBLE : ONNX_INT64, tensor->rank,
				   tensor->dims, &wide, err);

	if (rc)
		return rc;
	rc = real ? onnx_tensor_reals(tensor, wide.data, err)
		  : onnx_tensor_integers(tensor, wide.data, err);
	if (rc == 0)
		rc = engine_value_cast(heap, &wide, tensor->dtype, &narrow, err);
	if (rc == 0)
		memcpy(to->data, narrow.data, engine_value_bytes(to));
	engine_value_drop(&wide);
	engine_value_drop(&narrow);
	return rc;
}

/* Field 6 of TensorProto, one text each. */
static int read_texts(struct engine_heap *heap, const struct onnx_tensor *tensor,
		      struct engine_value *ret_value, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(tensor->message);
	struct onnx_field field;
	int64_t count = 0;
	size_t room = (size_t)tensor->elements * (sizeof(char *) + 1) + (size_t)tensor->bytes + 1;
	int rc = 0;

	if (tensor->elements > (int64_t)tensor->message.length || tensor->location)
		return strata_fail(err, -EINVAL, "tensor '%.64s' has fewer texts than its shape",
				   tensor->name);
	const char **texts = malloc(room);
	char *at = (char *)(texts + tensor->elements);

	if (!texts)
		return strata_fail_memory(err);
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		if (field.number != 6 || !field.nested || count == tensor->elements)
			continue;
		memcpy(at, field.bytes.at, field.bytes.length);
		at[field.bytes.length] = 0;
		texts[count++] = at;
		at += field.bytes.length + 1;
	}
	if (rc == 0 && count != tensor->elements)
		rc = strata_fail(err, -EINVAL, "tensor '%.64s' has %lld texts; its shape needs %lld",
				 tensor->name, (long long)count, (long long)tensor->elements);
	if (rc == 0)
		rc = engine_value_texts(heap, tensor->rank, tensor->dims, texts, ret_value, err);
	free(texts);
	return rc;
}

static int widen_value(struct engine_heap *heap, struct engine_value *value,
		       struct strata_error *err)
{
	struct engine_value wide;
	int rc = engine_value_cast(heap, value, ONNX_FLOAT, &wide, err);

	engine_value_drop(value);
	if (rc == 0)
		*value = wide;
	return rc;
}

int engine_value_of_tensor(struct engine_heap *heap, const struct onnx_tensor *tensor,
			   const char *directory, bool widen, struct engine_value *ret_value,
			   struct strata_error *err)
{
	struct engine_value value = { 0 };
	int rc;

	if (tensor->sparse)
		return strata_fail(err, -ENOTSUP, "tensor '%.64s' is sparse, which cannot be run",
				   tensor->name);
	if (tensor->dtype == ONNX_STRING)
		return read_texts(heap, tensor, ret_value, err);
	if (!tensor->location && !tensor->raw.at &&
	    tensor->elements > (int64_t)tensor->message.length)
		return strata_fail(err, -EINVAL, "tensor '%.64s' has fewer numbers than its shape",
				   tensor->name);
	rc = engine_value_make(heap, tensor->dtype, tensor->rank, tensor->dims, &value, err);
	if (rc)
		return rc;
	if (tensor->location)
		rc = read_external(tensor, directory, value.data, err);
	else if (tensor->raw.at)
		memcpy(value.data, tensor->raw.at, engine_value_bytes(&value));
	else
		rc = read_typed(heap, tensor, &value, err);
	if (rc == 0 && widen && (tensor->dtype == ONNX_FLOAT16 || tensor->dtype == ONNX_BFLOAT16))
		rc = widen_value(heap, &value, err);
	if (rc) {
		engine_value_drop(&value);
		return rc;
	}
	*ret_value = value;
	return 0;
}
