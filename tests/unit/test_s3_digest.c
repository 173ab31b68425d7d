/* Hashes, against values of the RFCs, and of a part of a file. */
#include "test.h"

#include "s3/s3_digest.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

TEST(hashes_are_those_of_others)
{
	struct strata_error err = { 0 };
	struct digest digest;

	CHECK_OK(digest_bytes("abc", 3, &digest, &err));
	CHECK_TEXT(digest.sha256_hex,
		   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK_TEXT(digest.sha256_base64, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
	CHECK_TEXT(digest.md5_hex, "900150983cd24fb0d6963f7d28e17f72");
	CHECK_OK(digest_bytes("", 0, &digest, &err));
	CHECK_TEXT(digest.md5_hex, "d41d8cd98f00b204e9800998ecf8427e");
}

TEST(a_part_of_a_file_is_a_part)
{
	struct strata_error err = { 0 };
	struct digest digest;
	FILE *file = tmpfile();

	CHECK(fputs("xxabcyy", file) >= 0 && fflush(file) == 0);
	CHECK_OK(digest_file(fileno(file), 2, 3, &digest, &err));
	CHECK_TEXT(digest.md5_hex, "900150983cd24fb0d6963f7d28e17f72");
	CHECK_ERROR(digest_file(fileno(file), 2, 6, &digest, &err), -ESTALE, "became shorter");
	CHECK_TEXT(digest.md5_hex, "900150983cd24fb0d6963f7d28e17f72");
	fclose(file);
}
