#include "test.h"

#include "client/local_socket.h"

#include <strata/text.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char path[108], got[256];
static int listener, answer_first;
static const char *answer;
static size_t got_length, request_bytes;

static void *serve(void *unused)
{
	char bytes[4096];
	int fd = accept(listener, NULL, NULL);

	(void)unused;
	if (answer_first && send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
		return NULL;
	request_bytes = 0;
	while (!answer_first) {
		ssize_t count = recv(fd, bytes, sizeof(bytes), 0);

		if (count <= 0)
			break;
		request_bytes += (size_t)count;
		if (memmem(bytes, (size_t)count, "END", 3))
			break;
	}
	if (!answer_first && answer && send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
		return NULL;
	close(fd);
	return NULL;
}

static int take(void *context, int status, const char *bytes, size_t count)
{
	*(int *)context = status;
	if (got_length + count >= sizeof(got))
		return -E2BIG;
	memcpy(got + got_length, bytes, count);
	got_length += count;
	got[got_length] = '\0';
	return 0;
}

static int ask(const char *body, int64_t timeout_ns, int *ret_status)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	pthread_t thread;
	int seen = 0;
	struct local_request request = { .socket = path,
					 .head = "GET / HTTP/1.1\r\n\r\n",
					 .body = body,
					 .body_bytes = body ? strlen(body) : 0,
					 .timeout_ns = timeout_ns,
					 .take = take,
					 .context = &seen };

	snprintf(path, sizeof(path), "%.80s/socket", test_temp_dir());
	unlink(path);
	memcpy(address.sun_path, path, sizeof(path));
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_INT(listen(listener, 1), 0);
	CHECK_INT(pthread_create(&thread, NULL, serve, NULL), 0);
	got_length = 0;
	got[0] = '\0';
	int rc = local_ask(&request, ret_status);

	pthread_join(thread, NULL);
	close(listener);
	return rc;
}

TEST(a_request_gets_its_answer)
{
	int status = 0;

	answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	CHECK_INT(ask("END", 0, &status), 0);
	CHECK_INT(status, 200);
	CHECK_TEXT(got, "hello");
	CHECK_INT(request_bytes, 18 + 3);
}

TEST(a_large_body_arrives)
{
	static char large[3 << 20];
	int status = 0;

	memset(large, 'x', sizeof(large) - 4);
	strcpy(large + sizeof(large) - 4, "END");
	answer = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
	CHECK_INT(ask(large, 0, &status), 0);
	CHECK_INT(status, 201);
	CHECK_INT(request_bytes, 18 + sizeof(large) - 1);
}

TEST(a_refusal_in_the_middle_of_it_is_heard)
{
	static char large[3 << 20];
	int status = 0;

	memset(large, 'x', sizeof(large) - 1);
	answer = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno";
	answer_first = 1;
	CHECK_INT(ask(large, 5 * STRATA_SECOND_NS, &status), 0);
	answer_first = 0;
	CHECK_INT(status, 413);
	CHECK_TEXT(got, "no");
}

TEST(what_goes_wrong_is_told_apart)
{
	struct local_request request = { .socket = "/no/such/socket", .head = "", .take = take };
	int status = 7;

	CHECK_INT(local_ask(&request, &status), -ENOENT);
	answer = NULL;
	CHECK_INT(ask("END", 0, &status), -ECONNRESET);
	answer = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello";
	CHECK_INT(ask("END", 0, &status), -ECONNRESET);
	answer = "nonsense\r\n";
	CHECK_INT(ask("END", 0, &status), -ECONNRESET);
	CHECK_INT(ask("wait", 50 * STRATA_MS_NS, &status), -ETIMEDOUT);
	CHECK_INT(status, 7);
}
