/* What a browser is believed: see web_guard.h. */
#include "server/web_guard.h"

#include "server/front.h"
#include "server/route.h"
#include "server/session.h"
#include "server/tls.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* How long the name in "NAME:PORT" or "[ADDRESS]:PORT" is. */
static size_t name_length(const char *host)
{
	if (*host == '[') {
		const char *end = strchr(host, ']');

		return end ? (size_t)(end - host) + 1 : strlen(host);
	}
	return strcspn(host, ":");
}

static bool is_digits(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0' && strlen(text) <= 5;
}

static bool same(const char *name, size_t length, const char *other, size_t other_length)
{
	return length == other_length && strncasecmp(name, other, length) == 0;
}

static bool is_listed(const char *name, size_t length, const char *list)
{
	while (list && *list) {
		list += strspn(list, ", ");
		size_t span = strcspn(list, ", ");

		if (span && same(name, length, list, span))
			return true;
		list += span;
	}
	return false;
}

bool web_guard_host(const char *host, const char *allowed)
{
	static const char own[] = "localhost, 127.0.0.1, [::1]";

	if (!host)
		return false;
	size_t length = name_length(host);
	const char *rest = host + length;

	if (*rest && !(*rest == ':' && is_digits(rest + 1)))
		return false;
	return length && (is_listed(host, length, own) || is_listed(host, length, allowed));
}

bool web_guard_origin(const char *origin, const char *host, bool encrypted)
{
	const char *rest = strncmp(origin, "https://", 8) == 0                ? origin + 8
			   : !encrypted && strncmp(origin, "http://", 7) == 0 ? origin + 7
									      : NULL;

	return rest && host && *rest && strcasecmp(rest, host) == 0;
}

unsigned web_guard_port(const char *host)
{
	const char *rest = host ? host + name_length(host) : "";
	unsigned port = 0;

	if (*rest != ':' || !is_digits(rest + 1))
		return 80;
	for (rest++; *rest; rest++)
		port = port * 10 + (unsigned)(*rest - '0');
	return port;
}

static bool is_tcp(const struct request *request)
{
	const union MHD_ConnectionInfo *about =
		MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	int family = AF_UNSPEC;
	socklen_t length = sizeof(family);

	return !about ||
	       getsockopt(about->connect_fd, SOL_SOCKET, SO_DOMAIN, &family, &length) != 0 ||
	       family != AF_UNIX;
}

static bool is_below(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* A name that our certificate holds for is ours: nobody else's page can be shown under it. */
static bool is_certified(const char *host)
{
	size_t length = host ? name_length(host) : 0;
	const char *rest = length ? host + length : "";

	return length && (!*rest || (*rest == ':' && is_digits(rest + 1))) &&
	       tls_has_name(host, length);
}

/* Is it a browser's business: the page itself, signing in, or what is asked with a session? */
static bool is_of_a_page(const struct request *request)
{
	const struct identity *who = &request->who;
	/* asking who one is with a token of one's own, which no page of others has */
	bool asks = *who->token && !who->session && strcmp(request->method, "GET") == 0;

	return who->session || strcmp(request->path, "/") == 0 ||
	       is_below(request->path, "/web/") || (!asks && is_below(request->path, SESSION_PATH));
}

bool web_guard_refuses(struct request *request)
{
	const char *host =
		MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Host");
	const char *origin =
		MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Origin");

	if (!is_of_a_page(request) || !is_tcp(request))
		return false;
	if (!web_guard_host(host, request->front->conf->web_hosts) &&
	    !(request->encrypted && is_certified(host))) {
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "the page is not served as %.80s; ask for localhost, or name it in "
			       "the setting web_hosts",
			       host ? host : "nobody");
		return true;
	}
	if (origin && strcmp(request->method, "GET") != 0 &&
	    !web_guard_origin(origin, host, request->encrypted)) {
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "this comes from a page of %.80s, not from ours", origin);
		return true;
	}
	return false;
}
