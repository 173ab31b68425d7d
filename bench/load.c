/* The clients of load.h: plain sockets and epoll. An answer is known by its Content-Length, which the service always gives. */
#include "load.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct client {
	int fd;
	size_t sent;
	char answer[8192];
	size_t got;
};

int64_t load_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0)
		give_up("socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The length of the whole answer in these bytes, head included; 0: the head is not there yet. */
static size_t answer_bytes(const char *text, size_t length, size_t *ret_head)
{
	const char *end = memmem(text, length, "\r\n\r\n", 4);
	const char *field = end ? memmem(text, length, "Content-Length: ", 16) : NULL;

	if (!end)
		return 0;
	*ret_head = (size_t)(end - text) + 4;
	return *ret_head + (field && field < end ? strtoul(field + 16, NULL, 10) : 0);
}

/* ---- many ---- */

static void send_some(struct client *client, const char *request, size_t length)
{
	ssize_t done =
		send(client->fd, request + client->sent, length - client->sent, MSG_NOSIGNAL);

	if (done < 0)
		give_up("send");
	client->sent += (size_t)done;
}

/* True when an answer is complete. */
static bool receive_some(struct client *client, int *ret_status)
{
	ssize_t got = recv(client->fd, client->answer + client->got,
			   sizeof(client->answer) - client->got - 1, 0);
	size_t head;

	if (got <= 0)
		give_up("receive");
	client->got += (size_t)got;
	size_t whole = answer_bytes(client->answer, client->got, &head);

	if (!whole || client->got < whole)
		return false;
	*ret_status = atoi(client->answer + 9);
	return true;
}

long load_run(const char *socket_path, const char *request, int clients, int64_t duration_ns,
	      int status)
{
	struct client *all = calloc((size_t)clients, sizeof(*all));
	struct epoll_event events[64];
	int epoll = epoll_create1(EPOLL_CLOEXEC), open = clients;
	size_t length = strlen(request);
	int64_t end_ns = load_now_ns() + duration_ns;
	long count = 0;

	for (int i = 0; i < clients; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = &all[i] };

		all[i].fd = connect_to(socket_path);
		if (all[i].fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &event) < 0)
			give_up("connect");
		send_some(&all[i], request, length);
	}
	while (open > 0) {
		int ready = epoll_wait(epoll, events, 64, -1);

		for (int i = 0; i < ready; i++) {
			struct client *client = events[i].data.ptr;
			int got = 0;

			if (!receive_some(client, &got))
				continue;
			if (got != status) {
				fprintf(stderr, "bench: %.300s\n", client->answer);
				exit(1);
			}
			count++;
			client->got = client->sent = 0;
			if (load_now_ns() < end_ns) {
				send_some(client, request, length);
				continue;
			}
			close(client->fd);
			open--;
		}
	}
	close(epoll);
	free(all);
	return count;
}

/* ---- one ---- */

char *load_ask(const char *socket_path, const char *method, const char *path, const char *body,
	       size_t *ret_length, int *ret_status)
{
	char head[512];
	int fd = connect_to(socket_path);
	size_t room = 1 << 16, got = 0, whole = 0, head_bytes = 0;
	char *text = malloc(room);

	*ret_status = 0;
	if (fd < 0 || !text) {
		free(text);
		return NULL;
	}
	int length = snprintf(head, sizeof(head),
			      "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
			      method, path, body ? strlen(body) : 0);
	bool ok = send(fd, head, (size_t)length, MSG_NOSIGNAL) == length;

	for (size_t sent = 0, all = body ? strlen(body) : 0; ok && sent < all;) {
		ssize_t done = send(fd, body + sent, all - sent, MSG_NOSIGNAL);

		ok = done > 0;
		sent += ok ? (size_t)done : 0;
	}
	while (ok && (!whole || got < whole)) {
		if (got + 1 >= room)
			text = realloc(text, room *= 4);
		if (!text)
			give_up("memory");
		ssize_t count = recv(fd, text + got, room - got - 1, 0);

		ok = count > 0;
		got += ok ? (size_t)count : 0;
		if (!whole)
			whole = answer_bytes(text, got, &head_bytes);
	}
	close(fd);
	if (!ok) {
		free(text);
		return NULL;
	}
	*ret_status = atoi(text + 9);
	*ret_length = got - head_bytes;
	memmove(text, text + head_bytes, *ret_length);
	text[*ret_length] = '\0';
	return text;
}
