/*
 * Certificates, as far as trust in a server needs them. A pin is of the key and not of the
 * certificate, so that a service may renew the one and keep the other. Parsing is GnuTLS's.
 */
#include "client/certificate.h"

#include <strata/text.h>

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <string.h>

#define PIN_PREFIX "sha256//"
enum { HASH_BYTES = 32, HASH_TEXT_BYTES = 44 };

static int fail(struct strata_error *err, int code)
{
	if (code == GNUTLS_E_MEMORY_ERROR)
		return strata_fail_memory(err);
	return strata_fail(err, -EBADMSG, "the certificate cannot be read: %s",
			   gnutls_strerror(code));
}

static int export_key(gnutls_x509_crt_t certificate, gnutls_datum_t *ret_der)
{
	gnutls_pubkey_t key;
	int code = gnutls_pubkey_init(&key);

	if (code)
		return code;
	code = gnutls_pubkey_import_x509(key, certificate, 0);
	if (code == 0)
		code = gnutls_pubkey_export2(key, GNUTLS_X509_FMT_DER, ret_der);
	gnutls_pubkey_deinit(key);
	return code;
}

int certificate_pin(gnutls_x509_crt_t certificate, char ret_pin[CERTIFICATE_PIN_BYTES],
		    struct strata_error *err)
{
	unsigned char hash[HASH_BYTES];
	gnutls_datum_t der = { 0 }, text = { 0 };
	int code = export_key(certificate, &der);

	if (code == 0)
		code = gnutls_hash_fast(GNUTLS_DIG_SHA256, der.data, der.size, hash);
	if (code == 0)
		code = gnutls_base64_encode2(&(gnutls_datum_t){ hash, sizeof(hash) }, &text);
	if (code == 0) {
		memcpy(ret_pin, PIN_PREFIX, strlen(PIN_PREFIX));
		memcpy(ret_pin + strlen(PIN_PREFIX), text.data, HASH_TEXT_BYTES);
		ret_pin[CERTIFICATE_PIN_BYTES - 1] = '\0';
	}
	gnutls_free(der.data);
	gnutls_free(text.data);
	return code ? fail(err, code) : 0;
}

int certificate_read(const char *pem, size_t length, char ret_pin[CERTIFICATE_PIN_BYTES],
		     int64_t *ret_ends_ns, struct strata_error *err)
{
	gnutls_datum_t text = { (unsigned char *)(uintptr_t)pem, (unsigned)length };
	gnutls_x509_crt_t certificate;
	int code = gnutls_x509_crt_init(&certificate);

	if (code)
		return fail(err, code);
	code = gnutls_x509_crt_import(certificate, &text, GNUTLS_X509_FMT_PEM);
	int rc = code ? fail(err, code) : certificate_pin(certificate, ret_pin, err);

	if (rc == 0)
		*ret_ends_ns =
			gnutls_x509_crt_get_expiration_time(certificate) * STRATA_SECOND_NS;
	gnutls_x509_crt_deinit(certificate);
	return rc;
}
