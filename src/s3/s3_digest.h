/* Hashes of what is sent and of what comes. */
#ifndef S3_S3_DIGEST_H
#define S3_S3_DIGEST_H

#include <strata/error.h>

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_HEX_BYTES = 65, DIGEST_BASE64_BYTES = 45, DIGEST_MD5_HEX_BYTES = 33 };

/* The hash of bytes, in the three ways that S3 wants. */
struct digest {
	char sha256_hex[DIGEST_HEX_BYTES], sha256_base64[DIGEST_BASE64_BYTES];
	char md5_hex[DIGEST_MD5_HEX_BYTES]; /* what an ETag is, mostly */
};

/* A range of an open file; -EIO, -ESTALE: it is shorter than that. */
int digest_file(int fd, int64_t offset, int64_t size_bytes, struct digest *ret_digest,
		struct strata_error *err);
int digest_bytes(const void *bytes, size_t count, struct digest *ret_digest,
		 struct strata_error *err);

#endif
