#include "test.h"

#include "server/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct request request;

static void check(int status, const char *text)
{
	CHECK(request.answered);
	CHECK_INT(request.status, status);
	CHECK_TEXT(request.text, text);
	free(request.text);
	request = (struct request){ 0 };
}

TEST(errors_have_one_shape)
{
	struct strata_error err = { 0 };

	strata_fail_at(&err, -EINVAL, "gpus", "gpus is 99");
	request_fail(&request, -EINVAL, &err);
	check(400,
	      "{\"error\":{\"code\":\"invalid\",\"message\":\"gpus is 99\",\"field\":\"gpus\"}}");
	strata_fail(&err, -EAGAIN, "busy");
	request_fail(&request, -EAGAIN, &err);
	check(503, "{\"error\":{\"code\":\"unavailable\",\"message\":\"busy\",\"field\":null}}");
	request_refuse(&request, 403, "forbidden", "not %s", "you");
	check(403, "{\"error\":{\"code\":\"forbidden\",\"message\":\"not you\",\"field\":null}}");
}

TEST(bodies_are_objects)
{
	request.body = strdup("[1]");
	request.body_length = 3;
	CHECK(request_json(&request) == NULL);
	free(request.body);
	check(400, "{\"error\":{\"code\":\"invalid\",\"message\":\"the body is not a JSON "
		   "object\",\"field\":null}}");
	request.body = strdup("{\"a\":1}");
	request.body_length = 7;
	json_t *json = request_json(&request);

	CHECK(json_integer_value(json_object_get(json, "a")) == 1);
	json_decref(json);
	free(request.body);
	request = (struct request){ 0 };
}

TEST(roles_have_names)
{
	for (int i = ROLE_READER; i <= ROLE_ADMIN; i++)
		CHECK_INT(role_find(role_name((enum role)i)), i);
	CHECK_INT(role_find("root"), ROLE_NONE);
}
