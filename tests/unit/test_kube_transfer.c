/* What answers of an API server mean. */
#include "kube_told.h"

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
