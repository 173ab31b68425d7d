/* Hashes, by GnuTLS: SHA-256, which is what a copy is held against; MD5 only because S3's ETags are
 * that, to tell a part that is there from one that is not. */
#include "s3/s3_digest.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct running {
	gnutls_hash_hd_t sha256, md5;
};

static int begin(struct running *running, struct strata_error *err)
{
	if (gnutls_hash_init(&running->sha256, GNUTLS_DIG_SHA256))
		return strata_fail_memory(err);
	/* no secret: also where MD5 is off for those */
	GNUTLS_FIPS140_SET_LAX_MODE();
	int code = gnutls_hash_init(&running->md5, GNUTLS_DIG_MD5);

	GNUTLS_FIPS140_SET_STRICT_MODE();
	if (code == 0)
		return 0;
	gnutls_hash_deinit(running->sha256, NULL);
	return strata_fail_memory(err);
}

static void add(struct running *running, const void *bytes, size_t count)
{
	gnutls_hash(running->sha256, bytes, count);
	gnutls_hash(running->md5, bytes, count);
}

static void print_hex(const unsigned char *bytes, size_t count, char *text)
{
	for (size_t i = 0; i < count; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static int end(struct running *running, struct digest *ret_digest, struct strata_error *err)
{
	unsigned char sha256[32], md5[16];
	gnutls_datum_t text = { 0 };

	gnutls_hash_deinit(running->sha256, sha256);
	gnutls_hash_deinit(running->md5, md5);
	if (gnutls_base64_encode2(&(gnutls_datum_t){ sha256, sizeof(sha256) }, &text))
		return strata_fail_memory(err);
	print_hex(sha256, sizeof(sha256), ret_digest->sha256_hex);
	print_hex(md5, sizeof(md5), ret_digest->md5_hex);
	snprintf(ret_digest->sha256_base64, DIGEST_BASE64_BYTES, "%.*s", (int)text.size, text.data);
	gnutls_free(text.data);
	return 0;
}

int digest_file(int fd, int64_t offset, int64_t size_bytes, struct digest *ret_digest,
		struct strata_error *err)
{
	enum { BUFFER_BYTES = 1 << 16 };
	char buffer[BUFFER_BYTES];
	struct running running;
	struct digest unused;
	int rc = begin(&running, err), code = 0;

	if (rc)
		return rc;
	while (size_bytes > 0) {
		size_t want = size_bytes < BUFFER_BYTES ? (size_t)size_bytes : BUFFER_BYTES;
		ssize_t count = pread(fd, buffer, want, offset);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0) {
			code = count < 0 ? -errno : -ESTALE;
			break;
		}
		add(&running, buffer, (size_t)count);
		offset += count;
		size_bytes -= count;
	}
	rc = end(&running, code ? &unused : ret_digest, err);
	return code ? strata_fail(err, code, "cannot read the checkpoint: %s",
				  code == -ESTALE ? "it became shorter" : strerror(-code))
		    : rc;
}

int digest_bytes(const void *bytes, size_t count, struct digest *ret_digest,
		 struct strata_error *err)
{
	struct running running;
	int rc = begin(&running, err);

	if (rc)
		return rc;
	add(&running, bytes, count);
	return end(&running, ret_digest, err);
}
