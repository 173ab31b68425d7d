#include "test.h"

#include "client/client.h"
#include "client/web.h"

#include <strata/text.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A server that gives fixed answers, one per connection, and keeps the last request. NULL hangs up. */
enum { REQUEST_BYTES = 1 << 16, ANSWERS_MAX = 8 };
static struct {
	pthread_t thread;
	int fd;
	const char *answers[ANSWERS_MAX];
	size_t count, served;
	char requests[ANSWERS_MAX][REQUEST_BYTES];
	char path[108];
} server;

static struct strata_memory memory;
static struct strata_error err;
static struct client *client;

#define OK_HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\n"

/* A request is there when its head is, and as much body as the head says. */
static void read_request(int fd, char *text)
{
	size_t length = 0, wanted = SIZE_MAX;

	while (length < wanted && length < REQUEST_BYTES - 1) {
		ssize_t count = read(fd, text + length, REQUEST_BYTES - 1 - length);

		if (count <= 0)
			break;
		length += (size_t)count;
		text[length] = '\0';
		const char *end = strstr(text, "\r\n\r\n"),
			   *size = strstr(text, "Content-Length: ");

		if (end)
			wanted = (size_t)(end + 4 - text) +
				 (size ? strtoul(size + 16, NULL, 10) : 0);
	}
}

static void *serve(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < server.count; i++) {
		int fd = accept(server.fd, NULL, NULL);

		if (fd < 0)
			break;
		read_request(fd, server.requests[i]);
		const char *answer = server.answers[i];

		server.served++;
		if (answer && write(fd, answer, strlen(answer)) < 0)
			break;
		close(fd);
	}
	return NULL;
}

static void open_client(struct client_place place)
{
	place.retry_ns = STRATA_MS_NS;
	place.web = &client_web;
	CHECK_OK(client_open(&place, &memory, &client, &err));
}

/* Starts a server with these answers, and a client of it. */
static void start(size_t count, const char *const *answers)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memset(&server, 0, sizeof(server));
	snprintf(server.path, sizeof(server.path), "%.80s/socket", test_temp_dir());
	memcpy(address.sun_path, server.path, sizeof(server.path));
	memcpy(server.answers, answers, count * sizeof(*answers));
	server.count = count;
	server.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(server.fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_INT(listen(server.fd, 8), 0);
	CHECK_INT(pthread_create(&server.thread, NULL, serve, NULL), 0);
	open_client((struct client_place){ .socket = server.path });
}

static void stop(void)
{
	shutdown(server.fd, SHUT_RDWR); /* whoever waits in accept goes home */
	pthread_join(server.thread, NULL);
	close(server.fd);
	unlink(server.path);
	client_close(client);
	CHECK_INT(memory.used_bytes, 0);
}

static int ask(const char *method, const json_t *body, const char *key, json_t **ret_json)
{
	struct client_request request = {
		.method = method, .path = "/api/v1/jobs", .body = body, .key = key
	};

	return client_json(client, &request, ret_json, &err);
}

TEST(a_request_is_what_the_api_expects)
{
	const char *answers[] = { OK_HEAD "Content-Length: 10\r\n\r\n{\"id\": 17}" };
	json_t *body = json_pack("{s:i}", "gpus", 2), *json;

	start(1, answers);
	CHECK_OK(ask("POST", body, "abc", &json));
	CHECK_INT(json_integer_value(json_object_get(json, "id")), 17);
	CHECK(strncmp(server.requests[0], "POST /api/v1/jobs HTTP/1.1\r\n", 28) == 0);
	CHECK(strstr(server.requests[0], "\r\nContent-Type: application/json\r\n"));
	CHECK(strstr(server.requests[0], "\r\nIdempotency-Key: abc\r\n"));
	CHECK(strstr(server.requests[0], "\r\n\r\n{\"gpus\":2}"));
	CHECK(!strstr(server.requests[0], "Authorization"));
	json_decref(json);
	json_decref(body);
	stop();
}

TEST(bytes_go_as_they_are_with_a_token_on_the_socket)
{
	const char *answers[] = { "HTTP/1.1 204 No Content\r\nConnection: close\r\n"
				  "Content-Length: 0\r\n\r\n" };
	struct client_request request = { .method = "PUT",
					  .path = "/api/v1/worker/image",
					  .bytes = "a\0b",
					  .byte_count = 3,
					  .type = "image/png" };
	json_t *json;

	start(1, answers);
	client_close(client);
	open_client((struct client_place){ .socket = server.path, .token = "strata_job_1.1.x" });
	CHECK_OK(client_json(client, &request, &json, &err));
	CHECK(json_is_null(json));
	const char *body = strstr(server.requests[0], "\r\n\r\n");

	CHECK(strstr(server.requests[0], "\r\nAuthorization: Bearer strata_job_1.1.x\r\n"));
	CHECK(strstr(server.requests[0], "\r\nContent-Type: image/png\r\n"));
	CHECK(strstr(server.requests[0], "\r\nContent-Length: 3\r\n"));
	CHECK_BYTES(body + 4, "a\0b", 3);
	json_decref(json);
	stop();
}

TEST(a_get_is_repeated_and_gives_up_after_a_while)
{
	const char *busy = "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
	const char *good = OK_HEAD "Content-Length: 2\r\n\r\n{}";
	const char *soon[] = { NULL, busy, NULL, good },
		   *never[] = { busy, busy, busy, busy, good };
	json_t *json;

	start(4, soon);
	CHECK_OK(ask("GET", NULL, NULL, &json));
	json_decref(json);
	CHECK_INT(server.served, 4);
	stop();
	start(5, never);
	CHECK_ERROR(ask("GET", NULL, NULL, &json), -EAGAIN, "503");
	CHECK_INT(server.served, 4);
	stop();
}

TEST(what_may_not_happen_twice_is_sent_once)
{
	static const char *const methods[] = { "POST", "PATCH", "DELETE" };
	const char *answers[] = { NULL, NULL, NULL, NULL };
	json_t *json;

	for (size_t i = 0; i < 3; i++) {
		start(4, answers);
		CHECK_ERROR(ask(methods[i], NULL, NULL, &json), -ECONNRESET, "broke");
		CHECK_INT(server.served, 1);
		stop();
	}
	start(4, answers); /* with a key it may */
	CHECK_ERROR(ask("POST", NULL, "key", &json), -ECONNRESET, "broke");
	CHECK_INT(server.served, 4);
	stop();
}

TEST(an_answer_cut_short_is_no_answer)
{
	const char *cut = OK_HEAD "Content-Length: 100\r\n\r\n{\"jobs\": [";
	const char *answers[] = { cut, cut, cut, cut };
	json_t *json = NULL;

	start(4, answers);
	CHECK_ERROR(ask("GET", NULL, NULL, &json), -ECONNRESET, "broke");
	CHECK(!json);
	stop();
}

TEST(no_server_is_told_from_a_socket_of_somebody_else)
{
	char path[108];
	json_t *json;

	snprintf(path, sizeof(path), "%.80s/none", test_temp_dir());
	open_client((struct client_place){ .socket = path });
	CHECK_ERROR(ask("GET", NULL, NULL, &json), -ECONNREFUSED, "start one with `strata serve`");
	client_close(client);
	open_client((struct client_place){ .url = "http://127.0.0.1:1", .token = "t" });
	CHECK_ERROR(ask("GET", NULL, NULL, &json), -ECONNREFUSED,
		    "no server at http://127.0.0.1:1");
	client_close(client);
	if (geteuid() == 0)
		test_skip("root may use every socket");
	const char *answers[] = { NULL };

	start(1, answers);
	chmod(server.path, 0);
	CHECK_ERROR(ask("GET", NULL, NULL, &json), -EACCES, "you may not use");
	stop();
}

TEST(a_server_that_says_nothing_is_not_waited_for_for_ever)
{
	struct client_place place = { .socket = server.path, .timeout_ns = 50 * STRATA_MS_NS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	json_t *json;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(server.path, sizeof(server.path), "%.80s/mute", test_temp_dir());
	memcpy(address.sun_path, server.path, sizeof(server.path));
	CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_INT(listen(fd, 1), 0); /* the kernel connects; nobody answers */
	open_client(place);
	CHECK_ERROR(ask("GET", NULL, NULL, &json), -ETIMEDOUT, "did not answer within 50 ms");
	client_close(client);
	close(fd);
}

TEST(a_path_too_long_for_a_socket_is_refused)
{
	char path[200];
	struct client_place place = { .socket = path };

	memset(path, 'x', sizeof(path));
	path[107] = '\0';
	CHECK_OK(client_open(&place, &memory, &client, &err));
	client_close(client);
	path[107] = 'x';
	path[108] = '\0';
	CHECK_ERROR(client_open(&place, &memory, &client, &err), -EINVAL, "108 bytes long");
}

struct poured {
	char text[64];
	size_t length;
	int rc;
};

static int pour(void *context, const char *bytes, size_t count, struct strata_error *error)
{
	struct poured *poured = context;

	CHECK(poured->length + count < sizeof(poured->text));
	memcpy(poured->text + poured->length, bytes, count);
	poured->length += count;
	return poured->rc ? strata_fail(error, poured->rc, "enough") : 0;
}

TEST(a_stream_is_passed_on_as_it_comes)
{
	const char *chunks = OK_HEAD "Transfer-Encoding: chunked\r\n\r\n"
				     "4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n";
	const char *cut = OK_HEAD "Transfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n";
	const char *refused =
		"HTTP/1.1 403 No\r\nConnection: close\r\n\r\n"
		"{\"error\": {\"code\": \"forbidden\", \"message\": \"it is not yours\"}}";
	const char *answers[] = { chunks, cut, refused, chunks };
	struct poured poured[4] = { [3] = { .rc = -ECANCELED } };

	start(4, answers);
	CHECK_OK(client_stream(client, "/output", pour, &poured[0], &err));
	CHECK_TEXT(poured[0].text, "one\ntwo\n");
	CHECK_ERROR(client_stream(client, "/output", pour, &poured[1], &err), -ECONNRESET, "broke");
	CHECK_TEXT(poured[1].text, "one\n");
	CHECK_ERROR(client_stream(client, "/output", pour, &poured[2], &err), -EACCES, "not yours");
	CHECK_INT(poured[2].length, 0);
	CHECK_ERROR(client_stream(client, "/output", pour, &poured[3], &err), -ECANCELED, "enough");
	stop();
}

TEST(keys_differ)
{
	char one[CLIENT_KEY_BYTES], two[CLIENT_KEY_BYTES];

	CHECK_OK(client_new_key(one, &err));
	CHECK_OK(client_new_key(two, &err));
	CHECK_INT(strlen(one), CLIENT_KEY_BYTES - 1);
	CHECK(strcmp(one, two) != 0);
}

TEST(queries_are_escaped)
{
	struct buf path;

	buf_init(&path, &memory, 0);
	buf_add(&path, "/queue");
	client_query(&path, "user", NULL);
	client_query(&path, "user", "a b&c=d/é?#%");
	client_query(&path, "since", "2026-01-01T00:00:00+01:00");
	CHECK_TEXT(path.text, "/queue?user=a%20b%26c%3Dd%2F%C3%A9%3F%23%25"
			      "&since=2026-01-01T00:00:00%2B01:00");
	buf_fini(&path);
}

TEST(a_program_without_a_way_to_urls_says_so)
{
	struct client_place place = { .url = "http://127.0.0.1:1" };

	CHECK_ERROR(client_open(&place, &memory, &client, &err), -ENOTSUP, "over sockets only");
	place.url = "http://ann:geheim@localhost/x";
	CHECK_ERROR(client_open(&place, &memory, &client, &err), -EINVAL,
		    "no user or password in it");
	CHECK(!strstr(err.text, "geheim"));
}

static int open_once(struct strata_memory *own, void *context, struct strata_error *error)
{
	struct client_place place = { .url = "http://127.0.0.1:1",
				      .token = "strata_abc",
				      .web = &client_web };
	struct client *opened;
	int rc = client_open(&place, own, &opened, error);

	(void)context;
	if (rc == 0)
		client_close(opened);
	return rc;
}

TEST(lack_of_memory_is_survived)
{
	test_every_allocation(open_once, NULL);
}
