/*
 * What a browser is believed. A page of somebody else can make a browser ask us, under a name of
 * that page (DNS rebinding) or across origins; what its Host and Origin say tells such requests
 * from those of our own page.
 */
#ifndef SERVER_WEB_GUARD_H
#define SERVER_WEB_GUARD_H

#include "server/request.h"

#include <stdbool.h>

enum { WEB_HOST_BYTES_MAX = 256 };

/* Is this the Host of a request to us? Names of the loopback are, and those of the list "a, b",
 * with any port, since a tunnel may have another. NULL as `allowed`: no more. */
bool web_guard_host(const char *host, const char *allowed);
/* Is the origin that of a page from this Host? One that came without TLS is not ours where we
 * speak TLS: who is in between could have written it. Where we do not, a proxy may. */
bool web_guard_origin(const char *origin, const char *host, bool encrypted);
/* The port that a Host names; 80 when it names none. */
unsigned web_guard_port(const char *host);

/* Answers a request for the page, for sessions or of one that did not come from our page. HTTP
 * threads. */
bool web_guard_refuses(struct request *request);

#endif
