/* What is read off a certificate: the pin of its key, and until when it is good. */
#ifndef CLIENT_CERTIFICATE_H
#define CLIENT_CERTIFICATE_H

#include <strata/error.h>

#include <gnutls/x509.h>
#include <stddef.h>
#include <stdint.h>

/* "sha256//" and 44 characters of base64, as curl has it: the hash of the public key, which stays
 * when a certificate is made anew for the same key. */
enum { CERTIFICATE_PIN_BYTES = 8 + 44 + 1 };

int certificate_pin(gnutls_x509_crt_t certificate, char ret_pin[CERTIFICATE_PIN_BYTES],
		    struct strata_error *err);

/* The first certificate of a PEM text: its pin and the time it ends at. */
int certificate_read(const char *pem, size_t length, char ret_pin[CERTIFICATE_PIN_BYTES],
		     int64_t *ret_ends_ns, struct strata_error *err);

#endif
