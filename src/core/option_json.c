/*
 * Options from JSON and as JSON. A number of a duration is in the row's unit, of a size in bytes; both also come
 * as text ("2h30m", "2GiB"). null means the default.
 */
#include "core/option.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *json_type_words(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		return "null";
	}
	return "something else";
}

static int wrong_type(const struct strata_option *option, const json_t *value,
		      struct strata_error *err)
{
	return strata_fail_at(err, -EINVAL, option->name ? option->name : "",
			      "%s is %s; expected %s", option->name ? option->name : "value",
			      json_type_words(value), option_type_words(option));
}

static int read_value(const struct strata_option *option, const json_t *value, unsigned flags,
		      struct strata_arena *arena, void *slot, struct strata_error *err);

static int read_items(const struct strata_option *option, const json_t *array, unsigned flags,
		      struct strata_arena *arena, struct strata_list *ret_list,
		      struct strata_error *err)
{
	size_t size = option_size(option->list.item), count = json_array_size(array);
	struct strata_list list = { .count = count };
	int rc = option_check(option, &list, err);

	if (rc)
		return rc;
	char *items = strata_arena_array(arena, count, size);

	if (!items)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		rc = option_default(option->list.item, arena, items + i * size, err);
		if (rc == 0)
			rc = read_value(option->list.item, json_array_get(array, i), flags, arena,
					items + i * size, err);
		if (rc)
			return strata_fail_under(err, rc, "%s[%zu]",
						 option->name ? option->name : "", i);
	}
	list.items = items;
	*ret_list = list;
	return 0;
}

static int read_pairs(const struct strata_option *option, const json_t *object, unsigned flags,
		      struct strata_arena *arena, struct strata_map *ret_map,
		      struct strata_error *err)
{
	size_t size = option_size(option->list.item), count = json_object_size(object), i = 0;
	struct strata_map map = { .count = count };
	int rc = option_check(option, &map, err);
	const char *key;
	json_t *value;

	if (rc)
		return rc;
	char *items = strata_arena_array(arena, count, size);

	map.keys = strata_arena_array(arena, count, sizeof(*map.keys));
	if (!items || !map.keys)
		return strata_fail_memory(err);
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		map.keys[i] = strata_arena_text(arena, key, strlen(key));
		if (!map.keys[i])
			return strata_fail_memory(err);
		rc = flags & OPTION_STORED ? 0 : option_check_key(option, key, err);
		if (rc)
			return rc;
		rc = option_default(option->list.item, arena, items + i * size, err);
		if (rc == 0)
			rc = read_value(option->list.item, value, flags, arena, items + i * size,
					err);
		if (rc)
			return strata_fail_under(err, rc, "%s.%s", option->name ? option->name : "",
						 key);
		i++;
	}
	map.items = items;
	*ret_map = map;
	return 0;
}

/* A number for a duration, in the row's unit. */
static int read_duration(const struct strata_option *option, const json_t *value, int64_t *ret_ns,
			 struct strata_error *err)
{
	int64_t unit_ns = option_unit_ns(option);
	double ns = json_number_value(value) * (double)unit_ns;

	if (json_is_integer(value)) {
		if (__builtin_mul_overflow((int64_t)json_integer_value(value), unit_ns, ret_ns))
			return wrong_type(option, value, err);
		return 0;
	}
	if (!(fabs(ns) < 9.2e18))
		return wrong_type(option, value, err);
	*ret_ns = llround(ns);
	return 0;
}

static int read_number(const struct strata_option *option, const json_t *value, void *slot,
		       struct strata_error *err)
{
	int64_t integer = 0;
	double real = 0;
	int rc = 0;

	switch (option->type) {
	case STRATA_REAL:
		real = json_number_value(value);
		rc = option_check(option, &real, err);
		if (rc == 0)
			*(double *)slot = real;
		return rc;
	case STRATA_DURATION:
		rc = read_duration(option, value, &integer, err);
		break;
	case STRATA_INT:
	case STRATA_BYTES:
	case STRATA_RATE:
		if (!json_is_integer(value))
			return strata_fail_at(err, -EINVAL, option->name ? option->name : "",
					      "%s is %.17g; expected a whole number",
					      option->name ? option->name : "value",
					      json_real_value(value));
		integer = json_integer_value(value);
		break;
	default:
		return wrong_type(option, value, err);
	}
	if (rc == 0)
		rc = option_check(option, &integer, err);
	if (rc == 0)
		*(int64_t *)slot = integer;
	return rc;
}

static int read_string(const struct strata_option *option, const json_t *value, unsigned flags,
		       struct strata_arena *arena, void *slot, struct strata_error *err)
{
	struct strata_option stored = *option;

	switch (option->type) {
	case STRATA_TEXT:
		if (flags & OPTION_STORED)
			stored.flags |= STRATA_OPAQUE;
		return option_parse(&stored, json_string_value(value), json_string_length(value),
				    arena, slot, err);
	case STRATA_ENUM:
	case STRATA_BYTES:
	case STRATA_RATE:
	case STRATA_DURATION:
	case STRATA_TIME:
		return option_parse(option, json_string_value(value), json_string_length(value),
				    arena, slot, err);
	case STRATA_REAL: /* JSON has no infinity; "inf" and "-inf" stand in where the range allows it */
		if (!isinf(option->real.min) && !isinf(option->real.max))
			return wrong_type(option, value, err);
		return option_parse(option, json_string_value(value), json_string_length(value),
				    arena, slot, err);
	default:
		return wrong_type(option, value, err);
	}
}

static int read_value(const struct strata_option *option, const json_t *value, unsigned flags,
		      struct strata_arena *arena, void *slot, struct strata_error *err)
{
	int rc;

	switch (json_typeof(value)) {
	case JSON_NULL:
		if (!option->name) /* an item: it is there, so it has no default */
			break;
		rc = option->type == STRATA_TABLE && !(flags & OPTION_PARTIAL)
			     ? option_check_required(option->table, NULL, err)
			     : 0;
		if (rc)
			return strata_fail_under(err, rc, "%s", option->name);
		return option_default(option, arena, slot, err);
	case JSON_STRING:
		return read_string(option, value, flags, arena, slot, err);
	case JSON_INTEGER:
	case JSON_REAL:
		return read_number(option, value, slot, err);
	case JSON_TRUE:
	case JSON_FALSE:
		if (option->type != STRATA_BOOL)
			break;
		*(bool *)slot = json_is_true(value);
		return 0;
	case JSON_ARRAY:
		if (option->type != STRATA_LIST)
			break;
		return read_items(option, value, flags, arena, slot, err);
	case JSON_OBJECT:
		if (option->type == STRATA_MAP)
			return read_pairs(option, value, flags, arena, slot, err);
		if (option->type != STRATA_TABLE)
			break;
		rc = option_read_json(option->table, value, flags, arena, slot, err);
		if (rc && option->name)
			return strata_fail_under(err, rc, "%s", option->name);
		return rc;
	}
	return wrong_type(option, value, err);
}

int option_read_json(const struct strata_schema *schema, const json_t *object, unsigned flags,
		     struct strata_arena *arena, void *conf, struct strata_error *err)
{
	size_t count = 0;
	const char *key;
	json_t *value;
	int rc = 0;

	if (!json_is_object(object))
		return strata_fail(err, -EINVAL, "%s is %s; expected an object", schema->name,
				   json_type_words(object));
	while (schema->options[count].name)
		count++;
	bool *seen = strata_arena_get(arena, count);
	char *copy = strata_arena_get(arena, schema->conf_size);

	if (!seen || !copy)
		return strata_fail_memory(err);
	memcpy(copy, conf, schema->conf_size);
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		const struct strata_option *option = option_find(schema, key, strlen(key));

		if (!option)
			return option_unknown(schema, key, strlen(key), err);
		if (seen[option - schema->options])
			return strata_fail_at(err, -EINVAL, option->name,
					      "%s is given twice, once under another name",
					      option->name);
		seen[option - schema->options] = !json_is_null(value);
		rc = read_value(option, value, flags, arena, copy + option->offset, err);
		if (rc)
			return rc;
	}
	if (!(flags & OPTION_PARTIAL))
		rc = option_check_required(schema, seen, err);
	if (rc == 0)
		memcpy(conf, copy, schema->conf_size);
	return rc;
}

/* jansson bounds its own recursion at 2048; ours is lower, so that no later walk of the document is deep. */
static bool too_deep(const char *text, size_t length)
{
	size_t depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < length; i++) {
		if (quoted) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				quoted = false;
		} else if (text[i] == '"') {
			quoted = true;
		} else if (text[i] == '{' || text[i] == '[') {
			if (++depth > STRATA_JSON_DEPTH_MAX)
				return true;
		} else if ((text[i] == '}' || text[i] == ']') && depth > 0) {
			depth--;
		}
	}
	return false;
}

const char *option_json_words(const json_error_t *why)
{
	return strstr(why->text, "JSON_ALLOW_NUL")
		       ? "a text has the character \\u0000, which is not allowed"
		       : why->text;
}

int option_load_json(const char *text, size_t length, json_t **ret_json, struct strata_error *err)
{
	json_error_t where;

	if (length > STRATA_JSON_BYTES_MAX)
		return strata_fail(err, -E2BIG,
				   "the JSON text is %zu bytes long; expected at most %d", length,
				   STRATA_JSON_BYTES_MAX);
	if (too_deep(text, length))
		return strata_fail(err, -EINVAL,
				   "the JSON text is nested too deeply; expected at most %d levels",
				   STRATA_JSON_DEPTH_MAX);
	json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);

	/* jansson does not always get as far as saying that memory ran out */
	if (!json && (json_error_code(&where) == json_error_out_of_memory || !where.text[0]))
		return strata_fail_memory(err);
	if (!json) {
		/* "':' expected" is what jansson says where it leaves out what is near. */
		static const char tail[] = " expected";
		const char *words = option_json_words(&where);
		size_t count = strlen(words), cut = sizeof(tail) - 1;
		bool turned = count > cut && strcmp(words + count - cut, tail) == 0;

		return strata_fail(err, -EINVAL, "not valid JSON: line %d, column %d: %s%.*s",
				   where.line, where.column, turned ? "expected " : "",
				   (int)(turned ? count - cut : count), words);
	}
	*ret_json = json;
	return 0;
}

int strata_schema_read_json(const struct strata_schema *schema, const char *json, size_t length,
			    struct strata_arena *arena, void *conf, struct strata_error *err)
{
	json_t *object;
	int rc = option_load_json(json, length, &object, err);

	if (rc)
		return rc;
	rc = option_read_json(schema, object, 0, arena, conf, err);
	json_decref(object);
	return rc;
}

static json_t *items_json(const struct strata_option *option, const struct strata_list *list)
{
	json_t *array = json_array();
	size_t size = option_size(option->list.item);

	for (size_t i = 0; array && i < list->count; i++)
		if (json_array_append_new(
			    array,
			    option_value_json(option->list.item, (char *)list->items + i * size))) {
			json_decref(array);
			array = NULL;
		}
	return array;
}

static json_t *pairs_json(const struct strata_option *option, const struct strata_map *map)
{
	json_t *object = json_object();
	size_t size = option_size(option->list.item);

	for (size_t i = 0; object && i < map->count; i++)
		if (json_object_set_new(
			    object, map->keys[i],
			    option_value_json(option->list.item, (char *)map->items + i * size))) {
			json_decref(object);
			object = NULL;
		}
	return object;
}

static json_t *duration_json(const struct strata_option *option, int64_t ns)
{
	int64_t unit_ns = option_unit_ns(option);

	if (ns == STRATA_DURATION_UNLIMITED)
		return json_string("unlimited");
	return ns % unit_ns == 0 ? json_integer(ns / unit_ns)
				 : json_real((double)ns / (double)unit_ns);
}

json_t *option_value_json(const struct strata_option *option, const void *slot)
{
	char text[STRATA_FORM_BYTES];

	if (option->flags & STRATA_SECRET)
		return json_string("***");
	switch (option->type) {
	case STRATA_BOOL:
		return json_boolean(*(const bool *)slot);
	case STRATA_INT:
	case STRATA_BYTES:
	case STRATA_RATE:
		return json_integer(*(const int64_t *)slot);
	case STRATA_REAL:
		if (isinf(*(const double *)slot))
			return json_string(*(const double *)slot > 0 ? "inf" : "-inf");
		return json_real(*(const double *)slot);
	case STRATA_ENUM:
		for (const struct strata_choice *choice = option->choice.choices; choice->name;
		     choice++)
			if (choice->value == *(const int *)slot)
				return json_string(choice->name);
		return json_null();
	case STRATA_TEXT:
		return *(const char *const *)slot ? json_string(*(const char *const *)slot)
						  : json_null();
	case STRATA_DURATION:
		return duration_json(option, *(const int64_t *)slot);
	case STRATA_TIME:
		if (*(const int64_t *)slot == 0)
			return json_null();
		strata_time_print(*(const int64_t *)slot, text);
		return json_string(text);
	case STRATA_LIST:
		return items_json(option, slot);
	case STRATA_MAP:
		return pairs_json(option, slot);
	case STRATA_TABLE:
		return option_write_json(option->table, slot);
	}
	return NULL;
}

json_t *option_write_json(const struct strata_schema *schema, const void *conf)
{
	json_t *object = json_object();

	for (const struct strata_option *option = schema->options; object && option->name; option++)
		if (json_object_set_new(
			    object, option->name,
			    option_value_json(option, (const char *)conf + option->offset))) {
			json_decref(object);
			object = NULL;
		}
	return object;
}

int strata_schema_write_json(const struct strata_schema *schema, const void *conf,
			     struct strata_arena *arena, const char **ret_json,
			     struct strata_error *err)
{
	json_t *object = option_write_json(schema, conf);
	size_t length = object ? json_dumpb(object, NULL, 0, JSON_COMPACT) : 0;
	char *text = length ? strata_arena_get(arena, length + 1) : NULL;

	if (text)
		length = json_dumpb(object, text, length, JSON_COMPACT);
	json_decref(object);
	if (!text || length == 0)
		return strata_fail_memory(err);
	*ret_json = text;
	return 0;
}
