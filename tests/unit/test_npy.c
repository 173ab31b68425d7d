#include "test.h"

#include "formats/npy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;
static struct npy npy;
static char file[1 << 17];

/* A file with this header and so many bytes behind it. */
static int read_header(const char *header, size_t data_bytes)
{
	size_t length = strlen(header);

	memset(file, 0, sizeof(file));
	memcpy(file, "\x93NUMPY\1\0", 8);
	file[8] = (char)length;
	file[9] = (char)(length >> 8);
	memcpy(file + 10, header, length);
	return npy_read(file, 10 + length + data_bytes, &npy, &err);
}

TEST(what_is_written_is_read)
{
	const float values[6] = { 1, -2, 3.5F, 0, 5, 6 };
	const int64_t dims[3] = { 1, 2, 3 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	for (size_t rank = 0; rank <= 3; rank++) {
		buf.length = 0;
		npy_write(&buf, STRATA_DTYPE_F32, rank, dims, values);
		CHECK_OK(buf_check(&buf, &err));
		CHECK_OK(npy_read(buf.text, buf.length, &npy, &err));
		CHECK_INT(npy.dtype, STRATA_DTYPE_F32);
		CHECK_INT(npy.rank, rank);
		CHECK_INT(((const char *)npy.data - buf.text) % 64, 0);
		CHECK_INT(npy.data_bytes, rank < 2 ? 4 : rank < 3 ? 8 : 24);
		CHECK_BYTES(npy.data, values, npy.data_bytes);
	}
	CHECK_INT(npy.dims[2], 3);
	CHECK_ERROR(npy_read(buf.text, buf.length - 1, &npy, &err), -EBADMSG, "24");
	buf_fini(&buf);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(headers_come_in_any_order)
{
	CHECK_OK(read_header("{'shape':(2,),'descr':'|u1','fortran_order':False}", 2));
	CHECK_INT(npy.dtype, STRATA_DTYPE_U8);
	CHECK_INT(npy.dims[0], 2);
	CHECK_OK(read_header("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 7), }\n", 0));
	CHECK_INT(npy.data_bytes, 0);
}

TEST(what_is_not_read_is_refused)
{
	CHECK_ERROR(npy_read("PK\3\4........", 12, &npy, &err), -EBADMSG, "not a .npy");
	CHECK_ERROR(npy_read("\x93NUMPY", 6, &npy, &err), -EBADMSG, "not a .npy");
	CHECK_ERROR(npy_read("\x93NUMPY\4\0\0\0\0\0", 12, &npy, &err), -ENOTSUP, "version 4");
	CHECK_ERROR(npy_read("\x93NUMPY\1\0\x7f\0\0\0", 12, &npy, &err), -EBADMSG, "ends in");
	CHECK_ERROR(read_header("{'descr':'<f4','fortran_order':True,'shape':()}", 4), -ENOTSUP,
		    "Fortran");
	CHECK_ERROR(read_header("{'descr':'>f4','fortran_order':False,'shape':()}", 4), -ENOTSUP,
		    "'>f4'");
	CHECK_ERROR(read_header("{'descr':'<f4','shape':()}", 4), -EBADMSG, "fortran_order");
	CHECK_ERROR(read_header("{'descr':'<f4','fortran_order':False,'shape':(-1,)}", 4), -EBADMSG,
		    "header");
	CHECK_ERROR(read_header("{'descr':'<f4','fortran_order':False,'shape':(4294967296,"
				"4294967296)}",
				4),
		    -E2BIG, "elements");
	CHECK_ERROR(read_header("{'descr':'<f4','fortran_order':False,'shape':(2,)}", 4), -EBADMSG,
		    "needs 8");
	CHECK_ERROR(read_header("{'what':1}", 4), -EBADMSG, "header");
	CHECK_ERROR(read_header("", 4), -EBADMSG, "header");
}

TEST(dimensions_and_headers_are_bounded)
{
	CHECK_OK(read_header("{'descr':'|b1','fortran_order':False,'shape':(1,1,1,1,1,1,1,1,1,1,1,"
			     "1,1,1,1,1)}",
			     1));
	CHECK_INT(npy.rank, STRATA_TENSOR_RANK_MAX);
	CHECK_ERROR(read_header("{'descr':'|b1','fortran_order':False,'shape':(1,1,1,1,1,1,1,1,1,1,"
				"1,1,1,1,1,1,1)}",
				1),
		    -E2BIG, "16");
	memset(file, ' ', sizeof(file));
	memcpy(file, "\x93NUMPY\2\0\0\0\1\0", 12); /* 65536 */
	memcpy(file + 12, "{'descr':'|b1','fortran_order':False,'shape':()}", 48);
	CHECK_OK(npy_read(file, sizeof(file), &npy, &err));
	file[8] = 1;
	CHECK_ERROR(npy_read(file, sizeof(file), &npy, &err), -E2BIG, "65537");
}
