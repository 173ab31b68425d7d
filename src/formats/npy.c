/*
 * .npy: "\x93NUMPY", a version, the length of a header, the header, the elements. The header is a literal of Python with three keys; it is read as
 * numpy writes it, in any order of the keys.
 */
#include "formats/npy.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, START_BYTES = 10, START_2_BYTES = 12, ALIGN = 64 };

static const struct {
	const char *descr;
	enum strata_dtype dtype;
} types[] = {
	{ "<f4", STRATA_DTYPE_F32 }, { "<f8", STRATA_DTYPE_F64 }, { "<f2", STRATA_DTYPE_F16 },
	{ "<i8", STRATA_DTYPE_I64 }, { "<i4", STRATA_DTYPE_I32 }, { "<i2", STRATA_DTYPE_I16 },
	{ "|i1", STRATA_DTYPE_I8 },  { "<u8", STRATA_DTYPE_U64 }, { "<u4", STRATA_DTYPE_U32 },
	{ "<u2", STRATA_DTYPE_U16 }, { "|u1", STRATA_DTYPE_U8 },  { "|b1", STRATA_DTYPE_BOOL },
};

struct header {
	const char *descr;
	size_t descr_length;
	bool has_order, fortran, has_shape;
	uint32_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX];
};

static int fail_header(const struct scan *scan, struct strata_error *err)
{
	char shown[TEXT_EXCERPT_BYTES];

	return strata_fail(err, -EBADMSG,
			   "the header of the .npy file is \"%s\"; expected {'descr': …, "
			   "'fortran_order': …, 'shape': …}",
			   text_excerpt(scan->start, (size_t)(scan->end - scan->start), shown));
}

static bool read_quoted(struct scan *scan, const char **ret_text, size_t *ret_length)
{
	if (!scan_char(scan, '\''))
		return false;
	const char *end = memchr(scan->at, '\'', (size_t)(scan->end - scan->at));

	if (!end)
		return false;
	*ret_text = scan->at;
	*ret_length = (size_t)(end - scan->at);
	scan->at = end + 1;
	return true;
}

/* (), (3,), (2, 3) */
static int read_shape(struct scan *scan, struct header *header, struct strata_error *err)
{
	uint64_t size;

	if (!scan_char(scan, '('))
		return fail_header(scan, err);
	for (scan_blanks(scan); !scan_char(scan, ')'); scan_blanks(scan)) {
		if (header->rank == STRATA_TENSOR_RANK_MAX)
			return strata_fail(err, -E2BIG, "the .npy file has more than %d dimensions",
					   STRATA_TENSOR_RANK_MAX);
		if (!scan_digits(scan, 1, 20, &size) || size > INT64_MAX)
			return fail_header(scan, err);
		header->dims[header->rank++] = (int64_t)size;
		scan_blanks(scan);
		if (!scan_char(scan, ',') && (scan_ended(scan) || *scan->at != ')'))
			return fail_header(scan, err);
	}
	header->has_shape = true;
	return 0;
}

static int read_value(struct scan *scan, const char *key, size_t length, struct header *header,
		      struct strata_error *err)
{
	if (text_same(key, length, "descr"))
		return read_quoted(scan, &header->descr, &header->descr_length)
			       ? 0
			       : fail_header(scan, err);
	if (text_same(key, length, "shape") && !header->has_shape)
		return read_shape(scan, header, err);
	if (!text_same(key, length, "fortran_order"))
		return fail_header(scan, err);
	header->has_order = true;
	if (scan_word(scan, "True"))
		header->fortran = true;
	else if (!scan_word(scan, "False"))
		return fail_header(scan, err);
	return 0;
}

static int read_header(struct scan *scan, struct header *header, struct strata_error *err)
{
	const char *key;
	size_t length;

	if (!scan_char(scan, '{'))
		return fail_header(scan, err);
	for (scan_blanks(scan); !scan_char(scan, '}'); scan_blanks(scan)) {
		if (!read_quoted(scan, &key, &length))
			return fail_header(scan, err);
		scan_blanks(scan);
		if (!scan_char(scan, ':'))
			return fail_header(scan, err);
		scan_blanks(scan);
		int rc = read_value(scan, key, length, header, err);

		if (rc)
			return rc;
		scan_blanks(scan);
		if (!scan_char(scan, ',') && (scan_ended(scan) || *scan->at != '}'))
			return fail_header(scan, err);
	}
	return header->descr && header->has_order && header->has_shape ? 0 : fail_header(scan, err);
}

static int check_type(const struct header *header, enum strata_dtype *ret_dtype,
		      struct strata_error *err)
{
	char shown[TEXT_EXCERPT_BYTES];

	if (header->fortran)
		return strata_fail(err, -ENOTSUP,
				   "the .npy file is in Fortran order; numpy.ascontiguousarray "
				   "puts it into C order");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (header->descr_length == strlen(types[i].descr) &&
		    memcmp(header->descr, types[i].descr, header->descr_length) == 0) {
			*ret_dtype = types[i].dtype;
			return 0;
		}
	return strata_fail(err, -ENOTSUP,
			   "the .npy file's type is '%s'; expected numbers or truth values, little "
			   "endian, such as '<f4'",
			   text_excerpt(header->descr, header->descr_length, shown));
}

/* The product of the dimensions and the size of an element. */
static int count_bytes(const struct header *header, enum strata_dtype dtype, size_t *ret_bytes,
		       struct strata_error *err)
{
	size_t bytes = (size_t)strata_dtype_bytes(dtype);

	for (uint32_t i = 0; i < header->rank; i++)
		if (__builtin_mul_overflow(bytes, (size_t)header->dims[i], &bytes))
			return strata_fail(err, -E2BIG,
					   "the .npy file's shape has too many elements");
	*ret_bytes = bytes;
	return 0;
}

int npy_read(const void *bytes, size_t length, struct npy *ret_npy, struct strata_error *err)
{
	const unsigned char *at = bytes;
	struct header header = { 0 };
	struct scan scan;
	size_t start = START_BYTES, header_bytes;

	if (length < START_2_BYTES || memcmp(bytes, magic, MAGIC_BYTES) != 0)
		return strata_fail(err, -EBADMSG, "it is not a .npy file");
	if (at[6] < 1 || at[6] > 3)
		return strata_fail(err, -ENOTSUP,
				   "the .npy file is of version %u; versions 1 to 3 are known",
				   at[6]);
	header_bytes = at[8] | (size_t)at[9] << 8;
	if (at[6] > 1) {
		header_bytes |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
		start = START_2_BYTES;
	}
	if (header_bytes > STRATA_NPY_HEADER_BYTES_MAX)
		return strata_fail(err, -E2BIG,
				   "the header of the .npy file has %zu bytes; at most %d",
				   header_bytes, STRATA_NPY_HEADER_BYTES_MAX);
	if (header_bytes > length - start)
		return strata_fail(err, -EBADMSG, "the .npy file ends in its header");
	scan_init(&scan, (const char *)bytes + start, header_bytes);
	struct npy npy = { .data = at + start + header_bytes };
	int rc = read_header(&scan, &header, err);

	if (rc == 0)
		rc = check_type(&header, &npy.dtype, err);
	if (rc == 0)
		rc = count_bytes(&header, npy.dtype, &npy.data_bytes, err);
	if (rc)
		return rc;
	if (npy.data_bytes > length - start - header_bytes)
		return strata_fail(err, -EBADMSG,
				   "the .npy file has %zu bytes of elements; its shape needs %zu",
				   length - start - header_bytes, npy.data_bytes);
	npy.rank = header.rank;
	memcpy(npy.dims, header.dims, sizeof(npy.dims));
	*ret_npy = npy;
	return 0;
}

static const char *descr_of(enum strata_dtype dtype)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].dtype == dtype)
			return types[i].descr;
	return "<V2"; /* bfloat16, which numpy has no name for: its bits */
}

void npy_write(struct buf *buf, enum strata_dtype dtype, size_t rank, const int64_t *dims,
	       const void *data)
{
	size_t start = buf->length, bytes = (size_t)strata_dtype_bytes(dtype);

	buf_add_bytes(buf, "\x93NUMPY\1\0..", START_BYTES);
	buf_printf(buf, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(dtype));
	for (size_t i = 0; i < rank; i++) {
		buf_printf(buf, "%lld%s", (long long)dims[i], rank == 1 || i + 1 < rank ? "," : "");
		if (i + 1 < rank)
			buf_add_char(buf, ' ');
		bytes *= (size_t)dims[i];
	}
	buf_add(buf, "), }");
	buf_add_repeat(buf, ' ', ALIGN - 1 - (buf->length - start) % ALIGN);
	buf_add_char(buf, '\n');
	if (!buf->failed) {
		size_t header = buf->length - start - START_BYTES;

		buf->text[start + 8] = (char)(header & 0xFF);
		buf->text[start + 9] = (char)(header >> 8);
	}
	buf_add_bytes(buf, data, bytes);
}
