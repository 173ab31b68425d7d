/* Requests to an API server, and what its answers mean. */
#include "kube_told.h"

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

static void *stop_soon(void *client)
{
	usleep(100000);
	kube_client_stop(client);
	return NULL;
}

TEST(a_server_that_never_answers_is_not_waited_for_when_all_ends)
{
	const struct kube_request request = { .method = KUBE_GET,
					      .path = "/",
					      .timeout_ns = 100 * STRATA_SECOND_NS };
	static const struct kube_step steps[] = { { "200 OK", "{\"a\":", true } };
	struct kube_server server;
	struct kube_client *client;
	struct kube_answer answer;
	pthread_t thread;

	kube_server_start(&server, steps, 1);
	struct kube_config config = config_for(&server);

	CHECK_OK(kube_client_open(&config, env_system(), &memory, &client, &err));
	CHECK_INT(pthread_create(&thread, NULL, stop_soon, client), 0);
	CHECK_ERROR(kube_call(client, &request, &answer, &err), -EAGAIN, "not waited for");
	CHECK_ERROR(kube_call(client, &request, &answer, &err), -EAGAIN, "no answer");
	pthread_join(thread, NULL);
	kube_client_close(client);
	kube_server_stop(&server);
	kube_server_forget(&server);
}
