/* One request over a Unix socket; local_socket.h says why. A connection of its own for each: the other end is on this machine. */
#include "client/local_socket.h"

#include "client/reply.h"

#include <strata/text.h>

#include "core/env.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct exchange {
	const struct local_request *request;
	int fd;
	int64_t end_ns; /* INT64_MAX: never */
	struct reply reply;
	bool stopped; /* the other end reads no more: it may have answered all the same */
};

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	int code = errno;

	close(fd);
	return -code;
}

/* Until one of these events; 0, -ETIMEDOUT or another code. */
static int wait_for(const struct exchange *exchange, short events, short *ret_events)
{
	struct pollfd waiting = { exchange->fd, events, 0 };
	int64_t left_ns = exchange->end_ns - env_now_ns(env_system(), ENV_MONOTONIC);
	int wait_ms = exchange->end_ns == INT64_MAX ? -1 : (int)(left_ns / STRATA_MS_NS) + 1;

	if (exchange->end_ns != INT64_MAX && left_ns <= 0)
		return -ETIMEDOUT;
	int rc = poll(&waiting, 1, wait_ms);

	*ret_events = waiting.revents;
	return rc < 0 && errno != EINTR ? -errno : 0;
}

/* Takes in what is there. 0: go on. */
static int receive(struct exchange *exchange)
{
	char bytes[1 << 16];
	ssize_t got = recv(exchange->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	const char *at = bytes, *body;
	size_t length;
	int rc = 0;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -ECONNRESET;
	if (got == 0)
		return reply_end(&exchange->reply) ? 0 : -ECONNRESET;
	while (rc == 0 && at < bytes + got) {
		size_t taken = reply_feed(&exchange->reply, at, (size_t)(bytes + got - at), &body,
					  &length);

		if (length)
			rc = exchange->request->take(exchange->request->context,
						     exchange->reply.status, body, length);
		if (taken == 0)
			break; /* complete, or broken */
		at += taken;
	}
	return rc ? rc : exchange->reply.state == REPLY_BROKEN ? -ECONNRESET : 0;
}

/* Sends bytes, and looks for an answer that comes before its end, as when it is too long. */
static int send_bytes(struct exchange *exchange, const char *bytes, size_t left)
{
	while (left && !exchange->stopped && exchange->reply.state != REPLY_COMPLETE) {
		ssize_t done = send(exchange->fd, bytes, left, MSG_NOSIGNAL | MSG_DONTWAIT);
		short events;

		if (done > 0) {
			bytes += done;
			left -= (size_t)done;
			continue;
		}
		if (errno == EPIPE || errno == ECONNRESET) {
			exchange->stopped = true;
			break;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -ECONNRESET;
		int rc = wait_for(exchange, POLLIN | POLLOUT, &events);

		if (rc == 0 && (events & POLLIN))
			rc = receive(exchange);
		if (rc)
			return rc;
	}
	return 0;
}

int local_ask(const struct local_request *request, int *ret_status)
{
	struct exchange exchange = { .request = request, .end_ns = INT64_MAX };
	int rc;

	exchange.fd = connect_to(request->socket);
	if (exchange.fd < 0)
		return exchange.fd;
	if (request->timeout_ns)
		exchange.end_ns = env_now_ns(env_system(), ENV_MONOTONIC) + request->timeout_ns;
	reply_init(&exchange.reply);
	rc = send_bytes(&exchange, request->head, strlen(request->head));
	if (rc == 0 && request->body)
		rc = send_bytes(&exchange, request->body, request->body_bytes);
	while (rc == 0 && exchange.reply.state != REPLY_COMPLETE) {
		short events;

		rc = wait_for(&exchange, POLLIN, &events);
		if (rc == 0 && events)
			rc = receive(&exchange);
	}
	close(exchange.fd);
	if (rc == 0)
		*ret_status = exchange.reply.status;
	return rc;
}
