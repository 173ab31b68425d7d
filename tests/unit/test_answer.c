#include "test.h"

#include "client/client.h"

#include <errno.h>
#include <string.h>

static struct strata_error err;
static json_t *json;

static int answer(long status, const char *text)
{
	json = NULL;
	return answer_read(status, text, strlen(text), &json, &err);
}

TEST(a_good_answer_is_its_document)
{
	CHECK_OK(answer(200, "{\"id\": 17}"));
	CHECK_INT(json_integer_value(json_object_get(json, "id")), 17);
	json_decref(json);
	CHECK_OK(answer(204, ""));
	CHECK(json_is_null(json));
	CHECK_ERROR(answer(200, "<html>"), -EBADMSG, "not JSON");
	CHECK(!json);
}

TEST(every_code_of_the_api_has_its_exit_code)
{
	static const struct {
		const char *name;
		long status;
		int exit;
	} rows[] = {
		{ "invalid", 400, STRATA_EXIT_USAGE },
		{ "unauthorized", 401, STRATA_EXIT_REFUSED },
		{ "forbidden", 403, STRATA_EXIT_REFUSED },
		{ "not_found", 404, STRATA_EXIT_NOT_FOUND },
		{ "method", 405, STRATA_EXIT_FAILED },
		{ "conflict", 409, STRATA_EXIT_CONFLICT },
		{ "exists", 409, STRATA_EXIT_CONFLICT },
		{ "too_large", 413, STRATA_EXIT_REFUSED },
		{ "quota", 429, STRATA_EXIT_REFUSED },
		{ "internal", 500, STRATA_EXIT_FAILED },
		{ "unavailable", 503, STRATA_EXIT_UNREACHABLE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[200];

		snprintf(text, sizeof(text),
			 "{\"error\": {\"code\": \"%s\", \"message\": \"so it is\", \"field\": "
			 "\"gpus\"}}",
			 rows[i].name);
		int rc = answer(rows[i].status, text);

		CHECK_INT(strata_error_kind(rc)->exit_code, rows[i].exit);
		CHECK_INT(err.code, rc);
		CHECK_TEXT(err.text, "so it is");
		CHECK_TEXT(err.field, "gpus");
	}
}

TEST(an_error_of_another_shape_is_judged_by_its_status)
{
	CHECK_ERROR(answer(404, "<html>"), -ENOENT, "status 404");
	CHECK_ERROR(answer(503, ""), -EAGAIN, "status 503");
	CHECK_ERROR(answer(502, ""), -EAGAIN, "status 502");
	CHECK_ERROR(answer(418, "[]"), -EINVAL, "status 418");
	CHECK_ERROR(answer(599, "{\"error\": 5}"), -EIO, "status 599");
	CHECK_ERROR(answer(302, ""), -EIO, "status 302");
	CHECK_ERROR(answer(409, "{\"error\": {\"code\": \"new\", \"message\": \"words\"}}"),
		    -EEXIST, "words");
}

TEST(the_server_that_leads_is_named)
{
	CHECK_ERROR(answer(503, "{\"error\": {\"code\": \"unavailable\", \"message\": \"not me\", "
				"\"leader\": \"n2\"}}"),
		    -EAGAIN, "not me; the server that leads is n2");
	CHECK_ERROR(answer(503, "{\"error\": {\"code\": \"unavailable\", \"message\": \"not me\"}, "
				"\"leader\": \"n2\"}"),
		    -EAGAIN, "leads is n2");
}

static int read_one(struct strata_memory *memory, void *context, struct strata_error *error)
{
	json_t *document = NULL;
	const char *text = context;
	int rc = answer_read(200, text, strlen(text), &document, error);

	(void)memory;
	json_decref(document);
	return rc == -EBADMSG ? strata_fail_memory(error)
			      : rc; /* jansson takes lack of memory in a string for bad syntax */
}

TEST(lack_of_memory_loses_nothing)
{
	char text[] = "{\"jobs\": [{\"id\": 1}]}";

	test_every_allocation(read_one, text);
}
