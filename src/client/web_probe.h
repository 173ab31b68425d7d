/* What a server shows of itself before it is trusted. */
#ifndef CLIENT_WEB_PROBE_H
#define CLIENT_WEB_PROBE_H

#include "client/certificate.h"

#include <stdbool.h>

struct web_probe {
	char pin[CERTIFICATE_PIN_BYTES]; /* of its key */
	int64_t ends_ns;                 /* its certificate ends then */
	bool vouched;  /* an authority that this machine trusts vouches for it, and for the name */
};

/* A handshake with https://…; nothing is sent. -ECONNREFUSED, -ECONNRESET, -EPROTO: no TLS there. */
int web_probe(const char *url, struct web_probe *ret_probe, struct strata_error *err);

#endif
