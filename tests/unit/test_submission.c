#include "test.h"

#include "server/submission.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static int read(const char *text, struct strata_arena *arena, struct submission *ret_submission)
{
	json_t *json = json_loads(text, 0, NULL);
	int rc = submission_read(json, arena, ret_submission, &err);

	if (rc)
		json_decref(json);
	return rc;
}

TEST(script_and_environment_are_taken_out)
{
	struct submission submission;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(read("{\"script\":\"#!/bin/sh\\n\",\"environment\":{\"A\":\"1\",\"B\":\"\"},"
		      "\"name\":\"x\"}",
		      &arena, &submission));
	CHECK_TEXT(submission.script, "#!/bin/sh\n");
	CHECK_INT(submission.script_length, 10);
	CHECK_INT(submission.environment_length, 7);
	CHECK(memcmp(submission.environment, "A=1\0B=", 7) == 0);
	CHECK_TEXT(submission.spec.name, "x");
	CHECK_INT(json_object_size(submission.json), 1);
	json_decref(submission.json);
	strata_arena_fini(&arena);
}

TEST(variables_have_names_and_texts)
{
	struct submission submission;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(read("{\"environment\":[]}", &arena, &submission), -EINVAL,
		    "environment is not a map of texts");
	CHECK_ERROR(read("{\"environment\":{\"=x\":\"1\"}}", &arena, &submission), -EINVAL,
		    "environment: '=x' is not the name of a variable");
	CHECK_ERROR(read("{\"environment\":{\"A\":1}}", &arena, &submission), -EINVAL,
		    "environment: the value of A is not a text");
	strata_arena_fini(&arena);
}
