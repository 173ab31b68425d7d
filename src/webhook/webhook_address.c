/* Addresses of webhooks: see webhook_address.h. */
#include "webhook/webhook_address.h"

#include <strata/text.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

enum { ADDRESS_BITS = 128, IPV4_BITS = 96 }; /* IPv4 is behind so many bits of IPv6's form */

static const uint8_t ipv4_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

/* ---- ranges ---- */

static bool in_range(const uint8_t address[16], const uint8_t range[16], unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(address, range, whole) != 0)
		return false;
	return rest == 0 || ((address[whole] ^ range[whole]) & (0xff00u >> rest)) == 0;
}

static int read_range(const char *text, size_t length, struct webhook_range *range,
		      struct strata_error *err)
{
	char address[INET6_ADDRSTRLEN + 1];
	const char *slash = memchr(text, '/', length);
	size_t span = slash ? (size_t)(slash - text) : length;
	int64_t bits = -1;

	if (span >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, span);
	address[span] = '\0';
	bool ipv4 = inet_pton(AF_INET, address, range->bytes + 12) == 1;

	if (ipv4)
		memcpy(range->bytes, ipv4_prefix, sizeof(ipv4_prefix));
	else if (inet_pton(AF_INET6, address, range->bytes) != 1)
		return -EINVAL;
	if (slash && strata_int_parse(slash + 1, length - span - 1, 0, ipv4 ? 32 : ADDRESS_BITS, &bits,
				      err))
		return -EINVAL;
	range->bits = bits < 0 ? ADDRESS_BITS : (unsigned)bits + (ipv4 ? IPV4_BITS : 0);
	return 0;
}

int webhook_allowed_read(const char *text, struct webhook_allowed *ret_allowed,
			 struct strata_error *err)
{
	*ret_allowed = (struct webhook_allowed){ 0 };
	while (text && *text) {
		size_t length = strcspn(text, ",");

		if (ret_allowed->count == STRATA_WEBHOOK_ALLOWED_MAX)
			return strata_fail(err, -E2BIG, "there are more than %d ranges of addresses",
					   STRATA_WEBHOOK_ALLOWED_MAX);
		if (read_range(text, length, &ret_allowed->ranges[ret_allowed->count], err))
			return strata_fail(err, -EINVAL,
					   "'%.*s' is no range of addresses; expected 127.0.0.1 or "
					   "10.0.0.0/8",
					   (int)(length < 60 ? length : 60), text);
		ret_allowed->count++;
		text += length + (text[length] == ',');
	}
	return 0;
}

/* ---- addresses ---- */

/* Where only those who are already on this machine, or beside it, should be able to connect. */
static bool is_closed(const uint8_t address[16])
{
	static const struct webhook_range closed[] = {
		/* this network */
		{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0 }, IPV4_BITS + 8 },
		{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127 }, IPV4_BITS + 8 }, /* loopback */
		{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 169, 254 },
		  IPV4_BITS + 16 }, /* link-local */
		{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 224 },
		  IPV4_BITS + 3 },	    /* multicast, reserved, broadcast */
		{ { 0 }, IPV4_BITS },       /* ::, ::1, and IPv4 in an old form */
		{ { 0, 0x64, 0xff, 0x9b }, 32 }, /* IPv4 by translation: any of the above */
		{ { 0x20, 0x02 }, 16 },     /* the same by 6to4 */
		{ { 0xfe, 0x80 }, 10 },     /* link-local */
		{ { 0xff }, 8 },            /* multicast */
	};

	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		if (in_range(address, closed[i].bytes, closed[i].bits))
			return true;
	return false;
}

bool webhook_address_fits(const struct sockaddr *address, const struct webhook_allowed *allowed)
{
	uint8_t bytes[16];

	if (address->sa_family == AF_INET) {
		memcpy(bytes, ipv4_prefix, sizeof(ipv4_prefix));
		memcpy(bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
	} else if (address->sa_family == AF_INET6) {
		memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
	} else {
		return false;
	}
	for (size_t i = 0; i < allowed->count; i++)
		if (in_range(bytes, allowed->ranges[i].bytes, allowed->ranges[i].bits))
			return true;
	return !is_closed(bytes);
}

/* ---- URLs ---- */

int webhook_url_check(const char *url, struct strata_error *err)
{
	size_t length = strlen(url);
	size_t scheme = strncmp(url, "http://", 7) == 0    ? 7
			: strncmp(url, "https://", 8) == 0 ? 8
							   : 0;

	if (length > STRATA_WEBHOOK_URL_BYTES_MAX)
		return strata_fail(err, -EINVAL, "the URL has %zu bytes; expected at most %d", length,
				   STRATA_WEBHOOK_URL_BYTES_MAX);
	if (!scheme)
		return strata_fail(err, -EINVAL, "'%.80s' is no URL that a message can be sent to; "
						 "expected http://… or https://…",
				   url);
	for (size_t i = 0; i < length; i++)
		if (url[i] <= ' ' || url[i] > '~' || strchr("\"<>\\^`{|}", url[i]))
			return strata_fail(err, -EINVAL, "'%.80s' is no URL: byte %zu has to be "
							 "escaped, as in %%20",
					   url, i + 1);
	size_t host = strcspn(url + scheme, "/?#");

	if (host == 0 || url[scheme] == ':')
		return strata_fail(err, -EINVAL, "'%.80s' names no host", url);
	if (memchr(url + scheme, '@', host))
		return strata_fail(err, -EINVAL,
				   "the URL has a user or a password in it; messages are signed, so "
				   "none is needed");
	return 0;
}
