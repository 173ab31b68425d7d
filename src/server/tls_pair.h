/* A key and the certificates that speak for it: read from PEM, made, asked. */
#ifndef SERVER_TLS_PAIR_H
#define SERVER_TLS_PAIR_H

#include "core/env.h"

#include <gnutls/abstract.h>

struct tls_pair {
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t *chain; /* that of the key first; gnutls_malloc's */
	unsigned chain_length;
};

/* -EINVAL: no key, no certificate, too many (STRATA_TLS_CHAIN_MAX), or not of each other. The texts
 * may be the same. Freed by tls_pair_free. */
int tls_pair_read(const char *certificates, const char *key, struct tls_pair *ret_pair,
		  struct strata_error *err);
void tls_pair_free(struct tls_pair *pair); /* one that is all zero is nothing */

/* A key, if `key` is NULL, and a certificate for it that it signs itself, for these names and the
 * loopback's; both in one PEM text, in the arena. */
int tls_pair_make(const char *const *names, size_t name_count, gnutls_x509_privkey_t key,
		  int64_t now_ns, struct strata_arena *arena, char **ret_pem,
		  struct strata_error *err);

/* When the certificate ends, since 1970. */
int64_t tls_pair_ends_ns(const struct tls_pair *pair);

#endif
