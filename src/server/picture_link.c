/* Signed links: see picture_link.h. The hash is HMAC-SHA-256. */
#include "server/picture_link.h"

#include <strata/text.h>

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static void sign(const unsigned char key[JOB_TOKEN_KEY_BYTES], const char *text,
		 char ret_hex[2 * crypto_auth_hmacsha256_BYTES + 1])
{
	static const unsigned char use[] = "strata: links to pictures";
	unsigned char own[crypto_auth_hmacsha256_KEYBYTES], mac[crypto_auth_hmacsha256_BYTES];

	crypto_generichash(own, sizeof(own), use, sizeof(use), key, JOB_TOKEN_KEY_BYTES);
	crypto_auth_hmacsha256(mac, (const unsigned char *)text, strlen(text), own);
	sodium_memzero(own, sizeof(own));
	sodium_bin2hex(ret_hex, 2 * sizeof(mac) + 1, mac, sizeof(mac));
}

char *picture_link_make(const unsigned char key[JOB_TOKEN_KEY_BYTES], int64_t task, int64_t number,
			int64_t expires_s, char ret_path[PICTURE_LINK_BYTES])
{
	char text[PICTURE_LINK_BYTES], hex[2 * crypto_auth_hmacsha256_BYTES + 1];

	snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64 "/%" PRId64, task, number, expires_s);
	sign(key, text, hex);
	int length = snprintf(ret_path, PICTURE_LINK_BYTES, PICTURE_LINK_PREFIX "%s/", text);

	memcpy(ret_path + length, hex, sizeof(hex)); /* three numbers and it fit */
	return ret_path;
}

bool picture_link_read(const unsigned char key[JOB_TOKEN_KEY_BYTES], const char *const parts[4],
		       int64_t *ret_task, int64_t *ret_number, int64_t *ret_expires_s)
{
	char want[PICTURE_LINK_BYTES], got[PICTURE_LINK_BYTES];
	int64_t task, number, expires_s;

	if (strata_int_parse(parts[0], STRATA_TEXT_NUL, 1, INT64_MAX, &task, NULL) ||
	    strata_int_parse(parts[1], STRATA_TEXT_NUL, 0, INT32_MAX, &number, NULL) ||
	    strata_int_parse(parts[2], STRATA_TEXT_NUL, 0, INT64_MAX, &expires_s, NULL))
		return false;
	picture_link_make(key, task, number, expires_s, want);
	/* the very same text: one link has one spelling */
	int length = snprintf(got, sizeof(got), PICTURE_LINK_PREFIX "%.20s/%.20s/%.20s/%.64s",
			      parts[0], parts[1], parts[2], parts[3]);

	if ((size_t)length != strlen(want) || strlen(parts[3]) != 64 ||
	    sodium_memcmp(want, got, (size_t)length) != 0)
		return false;
	*ret_task = task;
	*ret_number = number;
	*ret_expires_s = expires_s;
	return true;
}
