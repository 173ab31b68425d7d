/* A server that plays an API server by a script: each connection is the next step of it. */
#ifndef KUBE_SERVER_H
#define KUBE_SERVER_H

#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct kube_step {
	const char *status; /* "200 OK" and, after \r\n, more headers */
	const char *body;
	bool hold; /* the connection stays until the server is stopped, or the client leaves */
};

enum { KUBE_REQUESTS_MAX = 32 };

struct kube_server {
	const struct kube_step *steps;
	size_t count;
	int listener, stop[2];
	char url[64];
	pthread_t thread;
	char *requests[KUBE_REQUESTS_MAX]; /* head and body; up to `taken`, once it has stopped */
	size_t taken;
};

static inline size_t kube_server_body(const char *text)
{
	const char *length = strcasestr(text, "content-length:"), *end = strstr(text, "\r\n\r\n");

	return !end ? (size_t)-1
		    : (size_t)(end + 4 - text) +
			       (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
}

static inline char *kube_server_read(int fd)
{
	size_t room = 1 << 16, have = 0;
	char *text = calloc(1, room);

	while (have + 1 < room && have < kube_server_body(text)) {
		ssize_t got = recv(fd, text + have, room - 1 - have, 0);

		if (got <= 0)
			break;
		have += (size_t)got;
		text[have] = '\0';
	}
	return text;
}

static inline void kube_server_step(struct kube_server *server, const struct kube_step *step,
				    int fd)
{
	char head[512];

	server->requests[server->taken++] = kube_server_read(fd);
	snprintf(head, sizeof(head),
		 "HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
		 step->status);
	send(fd, head, strlen(head), MSG_NOSIGNAL);
	send(fd, step->body, strlen(step->body), MSG_NOSIGNAL);
	if (step->hold) {
		struct pollfd both[] = { { fd, POLLIN, 0 }, { server->stop[0], POLLIN, 0 } };

		poll(both, 2, -1);
	}
	close(fd);
}

static inline void *kube_server_run(void *context)
{
	struct kube_server *server = context;

	for (size_t i = 0; i < server->count; i++) {
		struct pollfd both[] = { { server->listener, POLLIN, 0 },
					 { server->stop[0], POLLIN, 0 } };

		poll(both, 2, -1);
		if (both[1].revents)
			break;
		int fd = accept(server->listener, NULL, NULL);

		if (fd >= 0)
			kube_server_step(server, &server->steps[i], fd);
	}
	close(server->listener); /* nobody else is answered */
	server->listener = -1;
	return NULL;
}

static inline void kube_server_start(struct kube_server *server, const struct kube_step *steps,
				     size_t count)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	*server = (struct kube_server){ .steps = steps, .count = count };
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(server->listener, (struct sockaddr *)&address, size), 0);
	CHECK_INT(listen(server->listener, 8), 0);
	CHECK_INT(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
	CHECK_INT(pipe(server->stop), 0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	CHECK_INT(pthread_create(&server->thread, NULL, kube_server_run, server), 0);
}

/* Waits for what it is at; the requests may be read until forget. */
static inline void kube_server_stop(struct kube_server *server)
{
	CHECK_INT(write(server->stop[1], "x", 1), 1);
	pthread_join(server->thread, NULL);
	if (server->listener >= 0)
		close(server->listener);
	close(server->stop[0]);
	close(server->stop[1]);
}

static inline void kube_server_forget(struct kube_server *server)
{
	for (size_t i = 0; i < server->taken; i++)
		free(server->requests[i]);
}

#endif
