/*
 * Keys and certificates, by GnuTLS. What is made is small: an ECDSA key on P-256 and a certificate
 * that it signs itself. Its clients know it by its pin, so that who signed it does not matter.
 */
#include "server/tls_pair.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <string.h>
#include <time.h>

#define GOOD_FOR_S (10 * 365 * 86400L)
#define BEFORE_S 86400L /* clocks differ */
enum { SERIAL_BYTES = 16 };

static int fail(struct strata_error *err, const char *what, int code)
{
	if (code == GNUTLS_E_MEMORY_ERROR)
		return strata_fail_memory(err);
	return strata_fail(err, -EINVAL, "%s: %s", what, gnutls_strerror(code));
}

/* ---- reading ---- */

static gnutls_datum_t datum(const char *text)
{
	return (gnutls_datum_t){ (unsigned char *)(uintptr_t)text, (unsigned)strlen(text) };
}

static int read_chain(const char *text, struct tls_pair *pair, struct strata_error *err)
{
	gnutls_datum_t pem = datum(text);
	int code = gnutls_x509_crt_list_import2(&pair->chain, &pair->chain_length, &pem,
						GNUTLS_X509_FMT_PEM,
						GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);

	if (code < 0) {
		pair->chain = NULL;
		pair->chain_length = 0;
		return fail(err, "the certificate cannot be used", code);
	}
	if (pair->chain_length > STRATA_TLS_CHAIN_MAX)
		return strata_fail(err, -EINVAL,
				   "there are %u certificates in the file; expected at most %d",
				   pair->chain_length, STRATA_TLS_CHAIN_MAX);
	return 0;
}

static int read_key(const char *text, struct tls_pair *pair, struct strata_error *err)
{
	gnutls_datum_t pem = datum(text);
	int code = gnutls_x509_privkey_init(&pair->key);

	if (code)
		return fail(err, "the key cannot be used", code);
	code = gnutls_x509_privkey_import2(pair->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
	return code ? fail(err, "the key cannot be used (one with a password cannot)", code) : 0;
}

static int check_match(const struct tls_pair *pair, struct strata_error *err)
{
	unsigned char of_key[64], of_certificate[64];
	size_t lengths[] = { sizeof(of_key), sizeof(of_certificate) };
	int code = gnutls_x509_privkey_get_key_id(pair->key, GNUTLS_KEYID_USE_SHA256, of_key,
						  &lengths[0]);

	if (code == 0)
		code = gnutls_x509_crt_get_key_id(pair->chain[0], GNUTLS_KEYID_USE_SHA256,
						  of_certificate, &lengths[1]);
	if (code)
		return fail(err, "the certificate cannot be used", code);
	if (lengths[0] != lengths[1] || memcmp(of_key, of_certificate, lengths[0]) != 0)
		return strata_fail(err, -EINVAL,
				   "the key is not that of the (first) certificate");
	return 0;
}

int tls_pair_read(const char *certificates, const char *key, struct tls_pair *ret_pair,
		  struct strata_error *err)
{
	struct tls_pair pair = { 0 };
	int rc = read_chain(certificates, &pair, err);

	if (rc == 0)
		rc = read_key(key, &pair, err);
	if (rc == 0)
		rc = check_match(&pair, err);
	if (rc) {
		tls_pair_free(&pair);
		return rc;
	}
	*ret_pair = pair;
	return 0;
}

void tls_pair_free(struct tls_pair *pair)
{
	for (unsigned i = 0; i < pair->chain_length; i++)
		gnutls_x509_crt_deinit(pair->chain[i]);
	gnutls_free(pair->chain);
	if (pair->key)
		gnutls_x509_privkey_deinit(pair->key);
	*pair = (struct tls_pair){ 0 };
}

int64_t tls_pair_ends_ns(const struct tls_pair *pair)
{
	return gnutls_x509_crt_get_expiration_time(pair->chain[0]) * STRATA_SECOND_NS;
}

/* ---- making ---- */

static int add_name(gnutls_x509_crt_t certificate, const char *name)
{
	unsigned char address[sizeof(struct in6_addr)];

	if (inet_pton(AF_INET, name, address) == 1)
		return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS,
							    address, sizeof(struct in_addr),
							    GNUTLS_FSAN_APPEND);
	if (inet_pton(AF_INET6, name, address) == 1)
		return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS,
							    address, sizeof(struct in6_addr),
							    GNUTLS_FSAN_APPEND);
	return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, name,
						    (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
}

static int fill(gnutls_x509_crt_t certificate, const char *const *names, size_t name_count,
		gnutls_x509_privkey_t key, int64_t now_ns)
{
	static const char *const own[] = { "localhost", "127.0.0.1", "::1" };
	static const char subject[] = "strata";
	unsigned char serial[SERIAL_BYTES];
	time_t now = (time_t)(now_ns / STRATA_SECOND_NS);
	int code = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));

	serial[0] &= 0x7f; /* positive */
	if (code == 0)
		code = gnutls_x509_crt_set_version(certificate, 3);
	if (code == 0)
		code = gnutls_x509_crt_set_serial(certificate, serial, sizeof(serial));
	if (code == 0)
		code = gnutls_x509_crt_set_activation_time(certificate, now - BEFORE_S);
	if (code == 0)
		code = gnutls_x509_crt_set_expiration_time(certificate, now + GOOD_FOR_S);
	if (code == 0)
		code = gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
						     subject, sizeof(subject) - 1);
	for (size_t i = 0; code == 0 && i < sizeof(own) / sizeof(own[0]); i++)
		code = add_name(certificate, own[i]);
	for (size_t i = 0; code == 0 && i < name_count; i++)
		code = add_name(certificate, names[i]);
	if (code == 0)
		code = gnutls_x509_crt_set_key(certificate, key);
	if (code == 0)
		code = gnutls_x509_crt_set_basic_constraints(certificate, 0, -1);
	if (code == 0)
		code = gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE);
	if (code == 0)
		code = gnutls_x509_crt_set_key_purpose_oid(certificate, GNUTLS_KP_TLS_WWW_SERVER,
							   0);
	return code ? code
		    : gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
}

static int print_pair(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key,
		      struct strata_arena *arena, char **ret_pem, struct strata_error *err)
{
	gnutls_datum_t texts[2] = { 0 };
	int code = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL,
						     GNUTLS_PKCS_PLAIN, &texts[0]);

	if (code == 0)
		code = gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &texts[1]);
	char *pem = code ? NULL
			 : strata_arena_printf(arena, "%.*s%.*s", (int)texts[0].size,
					       (char *)texts[0].data, (int)texts[1].size,
					       (char *)texts[1].data);

	if (texts[0].data)
		gnutls_memset(texts[0].data, 0, texts[0].size);
	gnutls_free(texts[0].data);
	gnutls_free(texts[1].data);
	if (code)
		return fail(err, "the key pair cannot be printed", code);
	if (!pem)
		return strata_fail_memory(err);
	*ret_pem = pem;
	return 0;
}

int tls_pair_make(const char *const *names, size_t name_count, gnutls_x509_privkey_t key,
		  int64_t now_ns, struct strata_arena *arena, char **ret_pem,
		  struct strata_error *err)
{
	gnutls_x509_privkey_t made = NULL;
	gnutls_x509_crt_t certificate = NULL;
	int code = gnutls_x509_crt_init(&certificate), rc;

	if (code == 0 && !key) {
		code = gnutls_x509_privkey_init(&made);
		if (code == 0)
			code = gnutls_x509_privkey_generate(
				made, GNUTLS_PK_ECDSA,
				GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	}
	if (code == 0)
		code = fill(certificate, names, name_count, key ? key : made, now_ns);
	rc = code ? fail(err, "no key pair can be made", code)
		  : print_pair(certificate, key ? key : made, arena, ret_pem, err);
	if (made)
		gnutls_x509_privkey_deinit(made);
	if (certificate)
		gnutls_x509_crt_deinit(certificate);
	return rc;
}
