/* Lines of a record, read by the same tables that they are written by. Nothing of them is believed: what the cluster would
 * take for granted (texts that are there, numbers that fit) is checked here, what it checks itself is left to it. */
#include "formats/recording_int.h"

#include "core/option.h"

#include <strata/limits.h>

#include <errno.h>
#include <jansson.h>
#include <string.h>

static int wrong(const struct recording_field *field, const char *expected,
		 struct strata_error *err)
{
	return strata_fail_at(err, -EINVAL, field->name, "%s is not %s", field->name, expected);
}

/* Times and lengths of time: what is added to each other must not overflow. */
static bool is_time(const struct recording_field *field)
{
	size_t length = strlen(field->name);

	return length > 3 && strcmp(field->name + length - 3, "_ns") == 0;
}

static int read_number(const struct recording_field *field, const json_t *json, void *at,
		       struct strata_error *err)
{
	int64_t number = json_integer_value(json);

	if (!json_is_integer(json))
		return wrong(field, "a whole number", err);
	bool never = field->type == RECORDING_UNTIL && number == INT64_MAX;

	if ((field->type == RECORDING_U16 && number != (uint16_t)number) ||
	    (field->type == RECORDING_U32 && number != (uint32_t)number) ||
	    (is_time(field) && !never &&
	     (number < 0 || number > STRATA_TIME_NS_MAX - STRATA_DURATION_NS_MAX)))
		return wrong(field, "a number that fits", err);
	if (field->type == RECORDING_U16)
		*(uint16_t *)at = (uint16_t)number;
	else if (field->type == RECORDING_U32)
		*(uint32_t *)at = (uint32_t)number;
	else if (field->type == RECORDING_U64)
		*(uint64_t *)at = (uint64_t)number;
	else
		*(int64_t *)at = number;
	return 0;
}

static int read_name(const struct recording_field *field, const json_t *json, int *ret_value,
		     struct strata_error *err)
{
	const char *text = json_string_value(json);

	for (int value = 0; text && value < field->name_count; value++)
		if (strcmp(field->name_of(value), text) == 0) {
			*ret_value = value;
			return 0;
		}
	return wrong(field, "one of its names", err);
}

static int read_text(const struct recording_field *field, const json_t *json,
		     struct strata_arena *arena, const char **ret_text, struct strata_error *err)
{
	size_t length = json_string_length(json);

	if (!json_is_string(json) || strlen(json_string_value(json)) != length)
		return wrong(field, "a text", err);
	const char *text = strata_arena_text(arena, json_string_value(json), length);

	if (!text)
		return strata_fail_memory(err);
	*ret_text = text;
	return 0;
}

static int read_numbers(const struct recording_field *field, const json_t *json, uint8_t *numbers,
			struct strata_error *err)
{
	if (json_array_size(json) != STRATA_NODE_GPUS_MAX)
		return wrong(field, "a list of 16 numbers", err);
	for (size_t i = 0; i < STRATA_NODE_GPUS_MAX; i++) {
		const json_t *number = json_array_get(json, i);

		if (!json_is_integer(number) || json_integer_value(number) < 0 ||
		    json_integer_value(number) > UINT8_MAX)
			return wrong(field, "a list of numbers from 0 to 255", err);
		numbers[i] = (uint8_t)json_integer_value(number);
	}
	return 0;
}

/* Where the count of a list belongs. */
static void set_count(const struct recording_field *field, char *row, size_t count)
{
	if (field->wide)
		*(size_t *)(row + field->count_offset) = count;
	else
		*(uint32_t *)(row + field->count_offset) = (uint32_t)count;
}

static int read_words(const struct recording_field *field, const json_t *json,
		      struct strata_arena *arena, char *row, struct strata_error *err)
{
	size_t count = json_array_size(json);
	uint64_t *words = (uint64_t *)(row + field->offset);

	if (!json_is_array(json) || (field->type == RECORDING_ROW && count > field->size))
		return wrong(field, "a list of that length", err);
	if (field->type == RECORDING_WORDS) {
		words = strata_arena_array(arena, count, sizeof(*words));
		if (!words)
			return strata_fail_memory(err);
		*(uint64_t **)(row + field->offset) = words;
	}
	for (size_t i = 0; i < count; i++) {
		if (!json_is_integer(json_array_get(json, i)))
			return wrong(field, "a list of whole numbers", err);
		words[i] = (uint64_t)json_integer_value(json_array_get(json, i));
	}
	set_count(field, row, count);
	return 0;
}

static int read_row(const struct recording_field *table, const json_t *json,
		    struct strata_arena *arena, char *row, struct strata_error *err);

static int read_list(const struct recording_field *field, const json_t *json,
		     struct strata_arena *arena, char *row, struct strata_error *err)
{
	size_t count = json_array_size(json);
	char *items = strata_arena_array(arena, count, field->size);

	if (!json_is_array(json))
		return wrong(field, "a list", err);
	if (!items)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		if (!json_is_object(json_array_get(json, i)))
			return wrong(field, "a list of objects", err);
		int rc = read_row(field->table, json_array_get(json, i), arena,
				  items + i * field->size, err);

		if (rc)
			return rc;
	}
	*(char **)(row + field->offset) = items;
	set_count(field, row, count);
	return 0;
}

static int read_struct(const struct recording_field *field, const json_t *json,
		       struct strata_arena *arena, char *at, struct strata_error *err)
{
	char *inner = at;

	if (!json_is_object(json))
		return wrong(field, "an object", err);
	if (field->type == RECORDING_POINTER) {
		inner = strata_arena_get(arena, field->size);
		if (!inner)
			return strata_fail_memory(err);
		*(char **)at = inner;
	}
	return read_row(field->table, json, arena, inner, err);
}

static int read_value(const struct recording_field *field, const json_t *json,
		      struct strata_arena *arena, char *row, struct strata_error *err)
{
	char *at = row + field->offset;

	switch (field->type) {
	case RECORDING_BOOL:
		*(bool *)at = json_is_true(json);
		return json_is_boolean(json) ? 0 : wrong(field, "true or false", err);
	case RECORDING_REAL:
		*(double *)at = json_number_value(json);
		return json_is_number(json) ? 0 : wrong(field, "a number", err);
	case RECORDING_TEXT:
		return read_text(field, json, arena, (const char **)at, err);
	case RECORDING_NAME:
		return read_name(field, json, (int *)at, err);
	case RECORDING_NUMBERS:
		return read_numbers(field, json, (uint8_t *)at, err);
	case RECORDING_STRUCT:
	case RECORDING_POINTER:
		return read_struct(field, json, arena, at, err);
	case RECORDING_LIST:
		return read_list(field, json, arena, row, err);
	case RECORDING_WORDS:
	case RECORDING_ROW:
		return read_words(field, json, arena, row, err);
	default:
		return read_number(field, json, at, err);
	}
}

static int read_row(const struct recording_field *table, const json_t *json,
		    struct strata_arena *arena, char *row, struct strata_error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)json, key, value)
	{
		const struct recording_field *field = table;

		while (field->name && strcmp(field->name, key) != 0)
			field++;
		if (!field->name)
			return strata_fail_at(err, -EINVAL, "record", "there is no member '%.64s'",
					      key);
		int rc = read_value(field, value, arena, row, err);

		if (rc)
			return rc;
	}
	return 0;
}

static int no_event(const char *name, struct strata_error *err)
{
	return strata_fail_at(err, -EINVAL, "event", "there is no event '%.64s'", name ? name : "");
}

static int read_kind(const char *name, struct recording_line *line, struct strata_error *err)
{
	line->begins = name && strcmp(name, "begin") == 0;
	if (line->begins)
		return 0;
	for (int kind = 0; name && kind < STRATA_EVENT_KIND_COUNT; kind++)
		if (strcmp(strata_event_name((enum strata_event_kind)kind), name) == 0) {
			line->event.kind = (enum strata_event_kind)kind;
			return 0;
		}
	return no_event(name, err);
}

/* `name` is without what the events of pools begin with. */
static int read_pool_kind(const char *name, struct recording_line *line, struct strata_error *err)
{
	line->begins = strcmp(name, "begin") == 0;
	if (line->begins)
		return 0;
	for (int kind = 0; kind < STRATA_POOL_EVENT_KIND_COUNT; kind++)
		if (strcmp(strata_pool_event_name((enum strata_pool_event_kind)kind), name) == 0) {
			line->pool_event.kind = (enum strata_pool_event_kind)kind;
			return 0;
		}
	return no_event(name, err);
}

/* What the cluster's functions take for granted. */
static int check_event(const struct strata_event *event, struct strata_error *err)
{
	enum strata_event_kind kind = event->kind;

	if (kind == STRATA_EVENT_SUBMIT && (!event->request || !event->request->user))
		return strata_fail_at(err, -EINVAL, "request", "a submission has no user");
	if (kind == STRATA_EVENT_ADD_NODE && (!event->conf || !event->conf->name))
		return strata_fail_at(err, -EINVAL, "conf", "a node has no name");
	if (kind >= STRATA_EVENT_ACCOUNT && kind <= STRATA_EVENT_USAGE && !event->name)
		return strata_fail_at(err, -EINVAL, "name", "there is no name");
	if (kind == STRATA_EVENT_RESERVE && !event->advance)
		return strata_fail_at(err, -EINVAL, "advance", "there is no reservation");
	if (kind == STRATA_EVENT_UNRESERVE && !event->name)
		return strata_fail_at(err, -EINVAL, "name", "there is no name");
	if (kind == STRATA_EVENT_CHECKPOINT && !event->checkpoint.path)
		return strata_fail_at(err, -EINVAL, "path", "a checkpoint has no path");
	return 0;
}

/* What the pool's functions take for granted. */
static int check_pool_event(const struct strata_pool_event *event, struct strata_error *err)
{
	switch (event->kind) {
	case STRATA_POOL_EVENT_ADD:
	case STRATA_POOL_EVENT_EARLIEST:
		return event->request ? 0
				      : strata_fail_at(err, -EINVAL, "request",
						       "there is no request of a task");
	case STRATA_POOL_EVENT_ACCOUNT:
	case STRATA_POOL_EVENT_USER:
	case STRATA_POOL_EVENT_CHARGE:
		return event->name ? 0
				   : strata_fail_at(err, -EINVAL, "name", "there is no name");
	case STRATA_POOL_EVENT_PICK:
		return event->ask ? 0
				  : strata_fail_at(err, -EINVAL, "ask",
						   "nobody asked for this batch");
	case STRATA_POOL_EVENT_APPLY:
		return event->batch ? 0 : strata_fail_at(err, -EINVAL, "batch", "there is no batch");
	default:
		return 0;
	}
}

static int read_pool(const char *event, json_t *json, struct strata_arena *arena,
		     struct recording_line *line, struct strata_error *err)
{
	const char *name = json_string_value(json_object_get(json, "pool"));
	int rc = read_pool_kind(event + strlen(RECORDING_POOL), line, err);

	if (rc)
		return rc;
	if (!name)
		return strata_fail_at(err, -EINVAL, "pool", "there is no name of a pool");
	line->pool = strata_arena_text(arena, name, strlen(name));
	if (!line->pool)
		return strata_fail_memory(err);
	json_object_del(json, "pool");
	if (line->begins)
		return read_row(recording_pool_fields, json, arena, (char *)&line->pool_begin, err);
	rc = read_row(recording_pool_event_fields, json, arena, (char *)&line->pool_event, err);
	return rc ? rc : check_pool_event(&line->pool_event, err);
}

static int read_cluster(json_t *json, struct strata_arena *arena, struct recording_line *line,
			struct strata_error *err)
{
	int rc = read_row(line->begins ? recording_begin_fields : recording_event_fields, json,
			  arena, line->begins ? (char *)&line->begin : (char *)&line->event, err);

	if (rc)
		return rc;
	if (line->begins && line->begin.format != RECORDING_FORMAT)
		return strata_fail_at(err, -EINVAL, "format",
				      "the record's format is %u; expected %d", line->begin.format,
				      RECORDING_FORMAT);
	return line->begins ? 0 : check_event(&line->event, err);
}

int recording_read(const char *text, size_t length, struct strata_arena *arena,
		   struct recording_line *ret_line, struct strata_error *err)
{
	struct recording_line line = { 0 };
	json_t *json;
	int rc = option_load_json(text, length, &json, err);

	if (rc)
		return rc;
	json_t *event = json_incref(json_object_get(json, "event"));
	const char *name = json_string_value(event);

	line.digest = (uint64_t)json_integer_value(json_object_get(json, "digest"));
	json_object_del(json, "event");
	json_object_del(json, "digest");
	if (name && strncmp(name, RECORDING_POOL, strlen(RECORDING_POOL)) == 0) {
		rc = read_pool(name, json, arena, &line, err);
	} else {
		rc = read_kind(name, &line, err);
		if (rc == 0)
			rc = read_cluster(json, arena, &line, err);
	}
	json_decref(event);
	json_decref(json);
	if (rc == 0)
		*ret_line = line;
	return rc;
}
