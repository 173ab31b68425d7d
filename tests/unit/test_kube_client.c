/* Requests to an API server, and what its answers mean. */
#include "kube_server.h"

#include "kubernetes/kube_client.h"

#include <strata/text.h>

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

static struct kube_config config_for(const struct kube_server *server)
{
	return (struct kube_config){ .server = server->url, .space = "default", .token = "s3cret" };
}

/* One request to a server that answers so. */
static int ask(const struct kube_step *step, const struct kube_request *request,
	       struct kube_server *server, struct kube_answer *answer)
{
	struct kube_client *client;

	kube_server_start(server, step, 1);
	struct kube_config config = config_for(server);

	err = (struct strata_error){ 0 };
	CHECK_OK(kube_client_open(&config, env_system(), &memory, &client, &err));
	int rc = kube_call(client, request, answer, &err);

	kube_client_close(client);
	kube_server_stop(server);
	return rc;
}

TEST(a_request_has_its_token_and_its_kind_of_body)
{
	static const struct kube_step step = { "200 OK", "{\"metadata\":{\"name\":\"a\"}}", false };
	json_t *body = json_pack("{s:s}", "a", "b");
	const struct kube_request request = { .method = KUBE_PATCH_STRATEGIC,
					      .path = "/api/v1/pods/a",
					      .query = "x=1",
					      .body = body };
	struct kube_server server;
	struct kube_answer answer;

	CHECK_OK(ask(&step, &request, &server, &answer));
	CHECK_TEXT(kube_text(answer.body, "metadata", "name", NULL), "a");
	CHECK(strstr(server.requests[0], "PATCH /api/v1/pods/a?x=1 HTTP/1.1\r\n"));
	CHECK(strstr(server.requests[0], "Authorization: Bearer s3cret\r\n"));
	CHECK(strstr(server.requests[0],
		     "Content-Type: application/strategic-merge-patch+json\r\n"));
	CHECK(strstr(server.requests[0], "\r\n\r\n{\"a\":\"b\"}"));
	kube_answer_fini(&answer);
	kube_server_forget(&server);
	json_decref(body);
}

TEST(refusals_become_sentences_and_codes)
{
	static const struct {
		struct kube_step step;
		int code;
		const char *words;
	} cases[] = {
		{ { "409 Conflict",
		    "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"pods "
		    "\\\"a\\\" already exists\"}",
		    false },
		  -EEXIST,
		  "Kubernetes says 409 to POST /api/v1/pods: pods \"a\" already exists" },
		{ { "409 Conflict", "{\"reason\":\"Conflict\",\"message\":\"modified\"}", false },
		  -EBUSY,
		  "modified" },
		{ { "403 Forbidden", "{\"message\":\"pods is forbidden\"}", false },
		  -EACCES,
		  "pods is forbidden" },
		{ { "401 Unauthorized", "{}", false }, -EACCES, "not taken" },
		{ { "404 Not Found", "{}", false }, -ENOENT, "nothing more" },
		{ { "410 Gone", "{\"message\":\"too old\"}", false }, -ESTALE, "too old" },
		{ { "422 Unprocessable Entity", "{\"message\":\"spec is wrong\"}", false },
		  -EINVAL,
		  "spec is wrong" },
		{ { "500 Internal Server Error", "oops", false }, -EAGAIN, "500" },
		{ { "302 Found\r\nLocation: http://127.0.0.1:1/", "", false },
		  -EBADMSG,
		  "not followed" },
		{ { "200 OK", "<html>", false }, -EBADMSG, "not JSON" },
		{ { "200 OK\r\nContent-Length: 99", "{", false }, -EAGAIN, "no answer" },
	};
	const struct kube_request request = { .method = KUBE_POST, .path = "/api/v1/pods" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kube_server server;
		struct kube_answer answer;

		CHECK_ERROR(ask(&cases[i].step, &request, &server, &answer), cases[i].code,
			    cases[i].words);
		kube_answer_fini(&answer);
		kube_server_forget(&server);
	}
}

TEST(how_long_to_wait_is_handed_on)
{
	static const struct kube_step steps[] = {
		{ "429 Too Many Requests\r\nRetry-After: 7", "{}", false },
		{ "503 Service Unavailable", "{\"details\":{\"retryAfterSeconds\":3}}", false },
		{ "503 Service Unavailable\r\nRetry-After: 99999999", "{}", false },
	};
	static const int64_t seconds[] = { 7, 3, 0 };
	const struct kube_request request = { .method = KUBE_GET, .path = "/" };

	for (size_t i = 0; i < 3; i++) {
		struct kube_server server;
		struct kube_answer answer;

		CHECK_ERROR(ask(&steps[i], &request, &server, &answer), -EAGAIN, "Kubernetes says");
		CHECK_INT(answer.retry_after_ns, seconds[i] * STRATA_SECOND_NS);
		kube_answer_fini(&answer);
		kube_server_forget(&server);
	}
}

TEST(an_answer_has_a_limit)
{
	static const struct kube_step step = { "200 OK", "{\"a\":1}", false };
	struct kube_server server;
	struct kube_answer answer;

	for (size_t limit = 6; limit <= 7; limit++) {
		const struct kube_request request = { .method = KUBE_GET,
						      .path = "/",
						      .answer_bytes = limit };
		int rc = ask(&step, &request, &server, &answer);

		CHECK_INT(rc, limit == 7 ? 0 : -E2BIG);
		kube_answer_fini(&answer);
		kube_server_forget(&server);
	}
}

static void write_token(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(a_token_that_was_refused_is_read_again)
{
	static const struct kube_step steps[] = {
		{ "200 OK", "{}", false },
		{ "401 Unauthorized", "{}", false },
		{ "200 OK", "{\"a\":1}", false },
		{ "401 Unauthorized", "{}", false },
	};
	const struct kube_request request = { .method = KUBE_GET, .path = "/" };
	struct kube_server server;
	struct kube_client *client;
	struct kube_answer answer;
	char path[512];

	snprintf(path, sizeof(path), "%s/token", test_temp_dir());
	write_token(path, "first\n");
	kube_server_start(&server, steps, 4);
	struct kube_config config = { .server = server.url, .space = "x", .token_file = path };

	CHECK_OK(kube_client_open(&config, env_system(), &memory, &client, &err));
	CHECK_OK(kube_call(client, &request, &answer, &err));
	kube_answer_fini(&answer);
	write_token(path, "second\n");
	CHECK_OK(kube_call(client, &request, &answer, &err));
	CHECK_INT(json_integer_value(kube_at(answer.body, "a", NULL)), 1);
	kube_answer_fini(&answer);
	/* the same token is not sent twice */
	CHECK_ERROR(kube_call(client, &request, &answer, &err), -EACCES, "not taken");
	kube_answer_fini(&answer);
	kube_client_close(client);
	kube_server_stop(&server);
	CHECK_INT(server.taken, 4);
	CHECK(strstr(server.requests[1], "Bearer first\r\n"));
	CHECK(strstr(server.requests[2], "Bearer second\r\n"));
	kube_server_forget(&server);
}

TEST(a_token_file_without_a_token_says_so)
{
	struct kube_config config = { .server = "http://127.0.0.1:1", .space = "x" };
	const struct kube_request request = { .method = KUBE_GET, .path = "/" };
	struct kube_client *client;
	struct kube_answer answer;
	char path[512];

	snprintf(path, sizeof(path), "%s/token", test_temp_dir());
	write_token(path, "two words\n");
	config.token_file = path;
	CHECK_OK(kube_client_open(&config, env_system(), &memory, &client, &err));
	CHECK_ERROR(kube_call(client, &request, &answer, &err), -EACCES, "has no token in it");
	kube_client_close(client);
	config = (struct kube_config){ .server = "http://127.0.0.1:1", .space = "x" };
	CHECK_OK(kube_client_open(&config, env_system(), &memory, &client, &err));
	CHECK_ERROR(kube_call(client, &request, &answer, &err), -EAGAIN, "no answer from");
	kube_client_close(client);
}

TEST(parts_of_addresses_are_escaped)
{
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_TEXT(kube_escape("a=b, c/\xc3\xa4-._~", &arena), "a%3Db%2C%20c%2F%C3%A4-._~");
	strata_arena_fini(&arena);
}
