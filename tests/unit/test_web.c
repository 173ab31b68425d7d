/* The way to a url: headers, answers and what goes wrong. test_client.c has what is the same for both ways. */
#include "test.h"

#include "client/client.h"
#include "client/web.h"

#include <strata/text.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;
static int listener;
static char request[4096], url[64];
static const char *answer;

static void *serve(void *unused)
{
	int fd = accept(listener, NULL, NULL);
	ssize_t count = recv(fd, request, sizeof(request) - 1, 0);

	(void)unused;
	request[count > 0 ? count : 0] = '\0';
	if (answer && send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
		return NULL;
	close(fd);
	return NULL;
}

static int ask(int64_t timeout_ns, json_t **ret_json)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	struct client_request get = { .method = "DELETE", .path = "/api/v1/jobs/1" };
	pthread_t thread;
	struct client *client;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(listener, (struct sockaddr *)&address, size), 0);
	CHECK_INT(listen(listener, 1), 0);
	CHECK_INT(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	const struct client_place place = {
		.url = url, .token = "secret", .timeout_ns = timeout_ns, .web = &client_web
	};

	CHECK_INT(pthread_create(&thread, NULL, serve, NULL), 0);
	CHECK_OK(client_open(&place, &memory, &client, &err));
	int rc = client_json(client, &get, ret_json, &err);

	client_close(client);
	pthread_join(thread, NULL);
	close(listener);
	CHECK_INT(memory.used_bytes, 0);
	return rc;
}

TEST(a_url_is_asked_with_the_token)
{
	json_t *json;

	answer = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\n{\"id\":1}";
	CHECK_OK(ask(0, &json));
	CHECK_INT(json_integer_value(json_object_get(json, "id")), 1);
	json_decref(json);
	CHECK(strncmp(request, "DELETE /api/v1/jobs/1 HTTP/1.1\r\n", 32) == 0);
	CHECK(strstr(request, "\r\nAuthorization: Bearer secret\r\n"));
}

TEST(a_connection_that_breaks_is_told_from_a_slow_one)
{
	json_t *json;

	answer = NULL;
	CHECK_ERROR(ask(0, &json), -ECONNRESET, "broke");
	answer = "HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\n{}";
	CHECK_ERROR(ask(0, &json), -ECONNRESET, "broke");
}

TEST(nobody_is_sent_elsewhere)
{
	json_t *json = NULL;
	char text[300];
	int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	CHECK_INT(bind(other, (struct sockaddr *)&address, size) | listen(other, 1), 0);
	CHECK_INT(getsockname(other, (struct sockaddr *)&address, &size), 0);
	snprintf(text, sizeof(text),
		 "HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: "
		 "0\r\nConnection: close\r\n\r\n",
		 ntohs(address.sin_port));
	answer = text;
	CHECK(ask(0, &json) < 0);
	CHECK(accept(other, NULL, NULL) < 0); /* with the token, too */
	close(other);
}

TEST(only_the_web_is_asked)
{
	static const char *const urls[] = { "file:///etc", "ftp://127.0.0.1", "gopher://127.0.0.1",
					    "dict://127.0.0.1:11211" };
	struct client_request get = { .method = "GET", .path = "/passwd" };
	struct client *client;
	json_t *json;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		const struct client_place place = { .url = urls[i], .web = &client_web };

		CHECK_OK(client_open(&place, &memory, &client, &err));
		CHECK(client_json(client, &get, &json, &err) < 0);
		CHECK(strstr(err.text, "rotocol"));
		client_close(client);
	}
}
