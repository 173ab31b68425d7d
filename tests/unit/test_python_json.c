#include "test.h"

#include "formats/python_json.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static int load(const char *text, json_t **ret_json)
{
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	int rc = python_json_load(text, strlen(text), &arena, ret_json, &err);

	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
	return rc;
}

TEST(words_of_python_are_null)
{
	json_t *json;

	CHECK_OK(load("{\"a\": -Infinity, \"b\": [NaN,Infinity], \"c\": -1.5, \"d\": \"NaN \\\" "
		      "Infinity\"}",
		      &json));
	CHECK(json_is_null(json_object_get(json, "a")));
	CHECK(json_is_null(json_array_get(json_object_get(json, "b"), 0)));
	CHECK(json_is_null(json_array_get(json_object_get(json, "b"), 1)));
	CHECK_NEAR(json_real_value(json_object_get(json, "c")), -1.5, 0);
	CHECK_TEXT(json_string_value(json_object_get(json, "d")), "NaN \" Infinity");
	json_decref(json);
	CHECK_OK(load("[NaN,NaN,NaN,NaN,NaN]", &json)); /* grows */
	CHECK_INT(json_array_size(json), 5);
	json_decref(json);
}

TEST(what_is_not_json_is_refused)
{
	json_t *json;

	CHECK_ERROR(load("{\"a\": Infinit}", &json), -EINVAL, "JSON");
	CHECK_ERROR(load("\"\\", &json), -EINVAL, "JSON");
	CHECK_ERROR(load("", &json), -EINVAL, "JSON");
}
