/* Looking at who is there: nobody, or somebody who has no TLS. Those who have it are looked at in
 * tests/api/test_tls.py. */
#include "test.h"

#include "client/web_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;

static void *answer_in_clear(void *unused)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	int fd = accept(listener, NULL, NULL);

	(void)unused;
	if (send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) < 0)
		perror("send");
	close(fd);
	return NULL;
}

static void open_port(char url[64])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(listener, (struct sockaddr *)&address, size), 0);
	CHECK_INT(listen(listener, 1), 0);
	CHECK_INT(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	snprintf(url, 64, "https://127.0.0.1:%d", ntohs(address.sin_port));
}

TEST(what_has_no_tls_is_said_so)
{
	struct strata_error err = { 0 };
	struct web_probe probe = { .pin = "as before" };
	pthread_t thread;
	char url[64];

	open_port(url);
	CHECK_INT(pthread_create(&thread, NULL, answer_in_clear, NULL), 0);
	CHECK_ERROR(web_probe(url, &probe, &err), -ECONNRESET, "by TLS 1.2 or 1.3");
	pthread_join(thread, NULL);
	close(listener);
	CHECK_ERROR(web_probe(url, &probe, &err), -ECONNREFUSED, "no server at https://127.0.0.1:");
	CHECK_TEXT(probe.pin, "as before");
}

TEST(nothing_but_https_is_looked_at)
{
	struct strata_error err = { 0 };
	struct web_probe probe;

	CHECK_ERROR(web_probe("http://127.0.0.1:1", &probe, &err), -EINVAL, "not an address");
	CHECK_ERROR(web_probe("file:///etc/passwd", &probe, &err), -EINVAL, "not an address");
}
