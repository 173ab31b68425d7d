/*
 * Which URLs and which addresses a message to a webhook may go to: http and https; not loopback,
 * link-local, multicast or no address at all, unless an operator has listed them. Pure.
 */
#ifndef WEBHOOK_WEBHOOK_ADDRESS_H
#define WEBHOOK_WEBHOOK_ADDRESS_H

#include <strata/error.h>
#include <strata/limits.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* A range of addresses; those of IPv4 are in IPv6's form (::ffff:…). */
struct webhook_range {
	uint8_t bytes[16];
	unsigned bits; /* that count, of 128 */
};

struct webhook_allowed {
	struct webhook_range ranges[STRATA_WEBHOOK_ALLOWED_MAX];
	size_t count;
};

/* "127.0.0.1,10.1.0.0/16,::1"; "" and NULL are none. -EINVAL, -E2BIG. */
int webhook_allowed_read(const char *text, struct webhook_allowed *ret_allowed,
			 struct strata_error *err);
/* May a message go there? */
bool webhook_address_fits(const struct sockaddr *address, const struct webhook_allowed *allowed);
/* -EINVAL: it is no http or https URL that a message can be sent to. */
int webhook_url_check(const char *url, struct strata_error *err);

#endif
