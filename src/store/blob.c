/*
 * The names of contents: a blob is stored under its BLAKE2b-256, so a script submitted a thousand
 * times is there once, and what comes back can be checked.
 */
#include "store/store.h"

#include <sodium.h>

void store_blob_hash(const void *bytes, size_t size_bytes, char ret_hash[STORE_HASH_BYTES])
{
	unsigned char hash[(STORE_HASH_BYTES - 1) / 2];

	crypto_generichash(hash, sizeof(hash), bytes, size_bytes, NULL, 0);
	sodium_bin2hex(ret_hash, STORE_HASH_BYTES, hash, sizeof(hash));
}
