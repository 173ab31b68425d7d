/*
 * Options as JSON Schema (the dialect of OpenAPI 3.1): the same table that reads a request describes it.
 */
#include "core/option.h"

#include <math.h>
#include <string.h>

/* Sets a key; takes the reference. False for lack of memory, and for a value that could not be made. */
static bool put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) == 0;
}

static json_t *value_schema(const struct strata_option *option);

static bool put_integer_range(const struct strata_option *option, json_t *schema)
{
	int64_t min = option->integer.min, max = option->integer.max;

	if (min == 0 && max == 0)
		return option->type == STRATA_INT || put(schema, "minimum", json_integer(0));
	return (min == INT64_MIN || put(schema, "minimum", json_integer(min))) &&
	       (max == INT64_MAX || put(schema, "maximum", json_integer(max)));
}

static bool put_real_range(const struct strata_option *option, json_t *schema)
{
	double min = option->real.min, max = option->real.max;

	if (min == 0 && max == 0)
		return true;
	return (min <= -1e308 || put(schema, "minimum", json_real(min))) &&
	       (max >= 1e308 || put(schema, "maximum", json_real(max)));
}

static json_t *choice_names(const struct strata_option *option)
{
	json_t *names = json_array();

	for (const struct strata_choice *choice = option->choice.choices; names && choice->name;
	     choice++)
		if (json_array_append_new(names, json_string(choice->name))) {
			json_decref(names);
			names = NULL;
		}
	return names;
}

static bool put_type(const struct strata_option *option, json_t *schema)
{
	switch (option->type) {
	case STRATA_BOOL:
		return put(schema, "type", json_string("boolean"));
	case STRATA_INT:
		return put(schema, "type", json_string("integer")) &&
		       put_integer_range(option, schema);
	case STRATA_REAL:
		return put(schema, "type",
			   isinf(option->real.min) || isinf(option->real.max)
				   ? json_pack("[ss]", "number", "string")
				   : json_string("number")) &&
		       put_real_range(option, schema);
	case STRATA_ENUM:
		return put(schema, "type", json_string("string")) &&
		       put(schema, "enum", choice_names(option));
	case STRATA_TEXT:
		return put(schema, "type", json_string("string")) &&
		       (!option->text.length_max ||
			put(schema, "maxLength",
			    json_integer((json_int_t)option->text.length_max)));
	case STRATA_BYTES:
	case STRATA_RATE:
		return put(schema, "type", json_pack("[ss]", "integer", "string")) &&
		       put_integer_range(option, schema);
	case STRATA_DURATION:
		return put(schema, "type", json_pack("[ss]", "number", "string")) &&
		       put(schema, "x-unit", json_string(option->unit ? option->unit : "s"));
	case STRATA_TIME:
		return put(schema, "type", json_string("string")) &&
		       put(schema, "format", json_string("date-time"));
	case STRATA_LIST:
		return put(schema, "type", json_string("array")) &&
		       put(schema, "items", value_schema(option->list.item)) &&
		       (!option->list.count_max ||
			put(schema, "maxItems", json_integer((json_int_t)option->list.count_max)));
	case STRATA_MAP:
		return put(schema, "type", json_string("object")) &&
		       put(schema, "additionalProperties", value_schema(option->list.item));
	case STRATA_TABLE:
		break; /* value_schema returns the nested table's own */
	}
	return false;
}

static bool put_default(const struct strata_option *option, json_t *schema)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_map slot = { 0 }; /* the largest scalar slot */
	bool ok = true;

	strata_arena_init(&arena, &memory, 0);
	if (!(option->flags & STRATA_REQUIRED)) {
		ok = option_default(option, &arena, &slot, NULL) == 0;
		json_t *value = ok ? option_value_json(option, &slot) : NULL;

		ok = ok && value;
		if (ok && !json_is_null(value))
			ok = put(schema, "default", json_incref(value));
		json_decref(value);
	}
	strata_arena_fini(&arena);
	return ok;
}

static json_t *value_schema(const struct strata_option *option)
{
	if (option->type == STRATA_TABLE)
		return option_openapi(option->table);
	json_t *schema = json_object();
	bool ok = schema && put_type(option, schema);

	if (ok && option->help)
		ok = put(schema, "description", json_string(option->help));
	if (ok && option->unit && option->type != STRATA_DURATION)
		ok = put(schema, "x-unit", json_string(option->unit));
	if (ok && option->name)
		ok = put_default(option, schema);
	if (!ok) {
		json_decref(schema);
		return NULL;
	}
	return schema;
}

json_t *option_openapi(const struct strata_schema *table)
{
	json_t *schema = json_object(), *properties = json_object(), *required = json_array();
	bool ok = schema && properties && required && put(schema, "type", json_string("object"));

	if (ok && table->summary)
		ok = put(schema, "description", json_string(table->summary));
	for (const struct strata_option *option = table->options; ok && option->name; option++) {
		ok = put(properties, option->name, value_schema(option));
		if (ok && (option->flags & STRATA_REQUIRED))
			ok = json_array_append_new(required, json_string(option->name)) == 0;
	}
	ok = ok && put(schema, "properties", json_incref(properties)) &&
	     put(schema, "additionalProperties", json_false());
	if (ok && json_array_size(required))
		ok = put(schema, "required", json_incref(required));
	json_decref(properties);
	json_decref(required);
	if (!ok) {
		json_decref(schema);
		return NULL;
	}
	return schema;
}
