#include "sample.h"

static json_t *at(json_t *object, const char *path)
{
	char copy[128];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *key = strtok(copy, "/"); key; key = strtok(NULL, "/"))
		object = json_object_get(object, key);
	return object;
}

TEST(a_table_becomes_a_schema)
{
	json_t *schema = option_openapi(&sample_schema);

	CHECK(schema);
	CHECK_TEXT(json_string_value(at(schema, "type")), "object");
	CHECK(json_is_false(at(schema, "additionalProperties")));
	CHECK(!at(schema, "required"));
	CHECK_INT(json_object_size(at(schema, "properties")), 17);
	CHECK_TEXT(json_string_value(at(schema, "properties/on/type")), "boolean");
	CHECK_INT(json_integer_value(at(schema, "properties/steps/minimum")), 1);
	CHECK_INT(json_integer_value(at(schema, "properties/steps/maximum")), 1000);
	CHECK_INT(json_integer_value(at(schema, "properties/steps/default")), 20);
	CHECK_TEXT(json_string_value(at(schema, "properties/steps/description")), "how many steps");
	CHECK(!at(schema, "properties/any/minimum"));
	CHECK_INT(json_array_size(at(schema, "properties/color/enum")), 2);
	CHECK_TEXT(json_string_value(at(schema, "properties/color/default")), "green");
	CHECK_INT(json_integer_value(at(schema, "properties/title/maxLength")), 16);
	CHECK_INT(json_integer_value(at(schema, "properties/memory/minimum")), 1 << 20);
	CHECK(!at(schema, "properties/memory/maximum"));
	CHECK_TEXT(json_string_value(at(schema, "properties/time_limit/x-unit")), "min");
	CHECK_TEXT(json_string_value(at(schema, "properties/begin/format")), "date-time");
	CHECK_INT(json_integer_value(at(schema, "properties/sizes/items/maximum")), 100);
	CHECK_INT(json_integer_value(at(schema, "properties/sizes/maxItems")), 4);
	CHECK_TEXT(
		json_string_value(json_array_get(at(schema, "properties/disk/items/required"), 0)),
		"name");
	CHECK_NEAR(json_real_value(at(schema, "properties/weights/additionalProperties/maximum")),
		   10, 0);
	CHECK_INT(json_integer_value(at(schema, "properties/net/properties/timeout/default")), 5);
	json_decref(schema);
}

static int describe(struct strata_memory *memory, void *context, struct strata_error *err)
{
	json_t *schema = option_openapi(&sample_schema);

	(void)memory, (void)context;
	json_decref(schema);
	return schema ? 0 : strata_fail_memory(err);
}

TEST(describing_survives_lack_of_memory)
{
	CHECK(test_every_allocation(describe, NULL) > 100);
}
