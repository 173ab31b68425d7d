/* Which URLs and addresses messages go to. */
#include "test.h"

#include "webhook/webhook_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

static bool fits(const char *text, const char *allow)
{
	struct sockaddr_in ipv4 = { .sin_family = AF_INET };
	struct sockaddr_in6 ipv6 = { .sin6_family = AF_INET6 };
	struct webhook_allowed allowed;
	struct strata_error err = { 0 };

	CHECK_OK(webhook_allowed_read(allow, &allowed, &err));
	if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1)
		return webhook_address_fits((struct sockaddr *)&ipv4, &allowed);
	CHECK_INT(inet_pton(AF_INET6, text, &ipv6.sin6_addr), 1);
	return webhook_address_fits((struct sockaddr *)&ipv6, &allowed);
}

TEST(addresses_of_this_machine_and_its_links_are_closed)
{
	static const char *const closed[] = {
		"127.0.0.1", "127.255.255.255", "0.0.0.0",     "0.1.2.3",          "169.254.169.254",
		"224.0.0.1", "255.255.255.255", "::",          "::1",              "::ffff:127.0.0.1",
		"::127.0.0.1", "fe80::1",       "febf::1",     "ff02::1",          "64:ff9b::7f00:1",
		"2002:7f00:1::",
	};
	static const char *const open[] = {
		"10.0.0.1",	   "192.168.1.1", "172.16.0.1",	    "8.8.8.8",	  "128.0.0.1",
		"126.255.255.255", "169.253.1.1", "223.255.255.255", "2001:db8::1", "fec0::1",
		"fd00::1",
	};

	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		CHECK(!fits(closed[i], NULL));
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		CHECK(fits(open[i], ""));
}

TEST(what_an_operator_lists_is_open)
{
	const char *list = "127.0.0.1,169.254.7.0/24,::1,fe80::/17";

	CHECK(fits("127.0.0.1", list));
	CHECK(!fits("127.0.0.2", list));
	CHECK(fits("::ffff:127.0.0.1", list));
	CHECK(fits("169.254.7.255", list));
	CHECK(!fits("169.254.8.0", list));
	CHECK(fits("::1", list));
	CHECK(fits("fe80:7fff::1", list));
	CHECK(!fits("fe80:8000::1", list));
	CHECK(fits("127.9.9.9", "0.0.0.0/0"));
	CHECK(!fits("fe80::1", "0.0.0.0/0"));
	CHECK(fits("fe80::1", "::/0"));
	const struct sockaddr other = { .sa_family = AF_UNIX };
	const struct webhook_allowed none = { 0 };

	CHECK(!webhook_address_fits(&other, &none));
}

TEST(odd_ranges_are_refused)
{
	static const char *const odd[] = { "localhost", "127.0.0.1/33", "::1/129", "127.0.0.1/", "1.2.3",
					   "127.0.0.1,,10.0.0.1", ",", "127.0.0.1/-1", "/8",
					   "0123456789012345678901234567890123456789012345678901234567" };
	struct webhook_allowed allowed;
	struct strata_error err = { 0 };
	char many[16 * (STRATA_WEBHOOK_ALLOWED_MAX + 1)] = "";

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		CHECK_ERROR(webhook_allowed_read(odd[i], &allowed, &err), -EINVAL,
			    "is no range of addresses");
	for (int i = 0; i < STRATA_WEBHOOK_ALLOWED_MAX; i++)
		strcat(many, i ? ",10.0.0.1" : "10.0.0.1");
	CHECK_OK(webhook_allowed_read(many, &allowed, &err));
	CHECK_INT(allowed.count, STRATA_WEBHOOK_ALLOWED_MAX);
	strcat(many, ",10.0.0.1");
	CHECK_ERROR(webhook_allowed_read(many, &allowed, &err), -E2BIG, "more than 64");
}

TEST(urls_have_a_scheme_and_a_host_and_no_password)
{
	struct strata_error err = { 0 };
	char url[STRATA_WEBHOOK_URL_BYTES_MAX + 2];

	CHECK_OK(webhook_url_check("http://host", &err));
	CHECK_OK(webhook_url_check("https://host:8443/a/b?c=d%20e#f", &err));
	CHECK_OK(webhook_url_check("http://[::1]:80/", &err));
	CHECK_OK(webhook_url_check("http://host/user@place", &err));
	CHECK_ERROR(webhook_url_check("", &err), -EINVAL, "expected http://… or https://…");
	CHECK_ERROR(webhook_url_check("HTTP://host", &err), -EINVAL, "expected http://");
	CHECK_ERROR(webhook_url_check("http://", &err), -EINVAL, "names no host");
	CHECK_ERROR(webhook_url_check("http://?x", &err), -EINVAL, "names no host");
	CHECK_ERROR(webhook_url_check("http://:80/", &err), -EINVAL, "names no host");
	CHECK_ERROR(webhook_url_check("http://a:b@host/", &err), -EINVAL, "a password in it");
	CHECK_ERROR(webhook_url_check("http://host/a b", &err), -EINVAL, "byte 14 has to be escaped");
	CHECK_ERROR(webhook_url_check("http://host/\177", &err), -EINVAL, "escaped");
	CHECK_ERROR(webhook_url_check("http://host\\x", &err), -EINVAL, "escaped");
	memset(url, 'x', sizeof(url));
	memcpy(url, "http://", 7);
	url[STRATA_WEBHOOK_URL_BYTES_MAX] = '\0';
	CHECK_OK(webhook_url_check(url, &err));
	url[STRATA_WEBHOOK_URL_BYTES_MAX] = 'x';
	url[STRATA_WEBHOOK_URL_BYTES_MAX + 1] = '\0';
	CHECK_ERROR(webhook_url_check(url, &err), -EINVAL, "has 2049 bytes; expected at most 2048");
}
