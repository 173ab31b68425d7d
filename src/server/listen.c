/* Sockets to listen on: see listen.h. */
#include "server/listen.h"

#include <strata/text.h>

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Who connects waits for those before him in the line. At the socket it is short: a caller who
 * finds it full waits for a place in it, each in his turn, while one who opens thousands would
 * fill a long one. By TCP it is long, since there a full one means to try again after a second. */
enum { SOCKET_BACKLOG = 128, TCP_BACKLOG = 4096 };

/* Removes a socket that nobody listens on any more, and nothing else. */
static int remove_left(const char *path, struct strata_error *err)
{
	struct stat info;

	if (lstat(path, &info) < 0)
		return errno == ENOENT ? 0
				       : strata_fail_at(err, -errno, "socket",
							"cannot look at the socket %s: %s", path,
							strerror(errno));
	if (!S_ISSOCK(info.st_mode))
		return strata_fail_at(err, -EEXIST, "socket",
				      "%s is not a socket, and it is left as it is; name another "
				      "path",
				      path);
	return unlink(path) < 0 ? strata_fail_at(err, -errno, "socket", "cannot replace %s: %s",
						 path, strerror(errno))
				: 0;
}

int listen_unix(const char *path, int *ret_fd, struct strata_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return strata_fail(err, -errno, "no socket: %s", strerror(errno));
	if (strlen(path) >= sizeof(address.sun_path)) {
		close(fd);
		return strata_fail_at(err, -ENAMETOOLONG, "socket",
				      "the socket's path has %zu bytes; expected at most %zu",
				      strlen(path), sizeof(address.sun_path) - 1);
	}
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
		close(fd);
		return strata_fail_at(err, -EADDRINUSE, "socket", "a service listens on %s already",
				      path);
	}
	close(fd);
	int rc = remove_left(path, err);

	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || chmod(path, 0666) ||
	    listen(fd, SOCKET_BACKLOG)) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return strata_fail_at(err, code, "socket", "cannot listen on %s: %s", path,
				      strerror(-code));
	}
	*ret_fd = fd;
	return 0;
}

/* "HOST:PORT", "[HOST]:PORT" */
static int split(const char *address, char host[256], char port[16], struct strata_error *err)
{
	const char *colon = strrchr(address, ':');
	size_t length = colon ? (size_t)(colon - address) : 0;
	bool bracketed = length >= 2 && address[0] == '[' && colon[-1] == ']';
	int64_t number;

	if (bracketed)
		address++, length -= 2;
	if (length == 0 || length >= 256 ||
	    strata_int_parse(colon + 1, STRATA_TEXT_NUL, 0, 65535, &number, NULL))
		return strata_fail_at(err, -EINVAL, "listen",
				      "%.100s is no address to listen on; expected HOST:PORT, as "
				      "in 127.0.0.1:8470",
				      address);
	memcpy(host, address, length);
	host[length] = '\0';
	snprintf(port, 16, "%d", (int)number);
	return 0;
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int bind_to(const struct addrinfo *place, const char *address, bool encrypted, int *ret_fd,
		   int *ret_port, struct strata_error *err)
{
	struct sockaddr_storage own = { 0 };
	socklen_t length = sizeof(own);
	int one = 1, fd;
	in_port_t port;

	if (!encrypted && !is_loopback(place->ai_addr))
		return strata_fail_at(err, -EPERM, "listen",
				      "%s can be reached from outside, and nothing is encrypted; "
				      "add `--tls auto` (or --tls-cert and --tls-key), or listen "
				      "on 127.0.0.1 and let ssh carry it further",
				      address);
	fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, place->ai_addr, place->ai_addrlen) || listen(fd, TCP_BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&own, &length)) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return strata_fail_at(err, code, "listen", "cannot listen on %s: %s", address,
				      strerror(-code));
	}
	*ret_fd = fd;
	/* the port is at the same place in both families */
	memcpy(&port, (const char *)&own + offsetof(struct sockaddr_in, sin_port), sizeof(port));
	*ret_port = ntohs(port);
	return 0;
}

int listen_tcp(const char *address, bool encrypted, int *ret_fd, int *ret_port,
	       struct strata_error *err)
{
	static const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
					       .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char host[256] = "", port[16] = "";
	int rc = split(address, host, port, err);

	if (rc)
		return rc;
	int code = getaddrinfo(host, port, &hints, &found);

	if (code)
		return strata_fail_at(err, -EINVAL, "listen", "there is no address %s: %s", host,
				      gai_strerror(code));
	rc = bind_to(found, address, encrypted, ret_fd, ret_port, err);
	freeaddrinfo(found);
	return rc;
}
