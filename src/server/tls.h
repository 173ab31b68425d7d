/*
 * TLS for callers from elsewhere: a pair of key and certificate, which may be exchanged while the
 * service runs. A connection keeps what it was opened with; the next ones get the new pair.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include "client/certificate.h"
#include "core/env.h"
#include "server/settings.h"

#include <gnutls/abstract.h>

/* Versions 1.2 and 1.3, and only ways to agree on a key that nobody can undo who gets ours
 * later. */
#define TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-SHA1:%SERVER_PRECEDENCE"

/* The mode of a file with a key, and what a service takes as one: its own user's or root's, which
 * nobody else can read. -EACCES, -EPERM. */
int tls_check_key_file(const char *path, struct strata_error *err);

/* Loads the pair that the settings name, or makes one (`tls = auto`); none is wanted: 0, and
 * nothing is open. One for a process. */
int tls_open(const struct env *env, const struct server_conf *conf, struct strata_error *err);
void tls_close(void);
bool tls_is_open(void);

/* Reads the files again. What cannot be used changes nothing. Any thread. */
int tls_reload(struct strata_error *err);

/* The pin of the key, for `strata login`; "" when none is open. */
void tls_pin(char ret_pin[CERTIFICATE_PIN_BYTES]);
/* Does the certificate hold for this name, given without a port? Any thread. */
bool tls_has_name(const char *name, size_t length);

/* Hands libmicrohttpd, for one connection, copies of the pair; they are the connection's. */
gnutls_certificate_retrieve_function3 tls_retrieve;

#endif
