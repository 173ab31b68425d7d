/* YAML by libyaml's events, so that nothing is built that is over a limit: depth, values and bytes
 * are counted as they come. */
#include "kubernetes/kube_yaml.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* A mapping or a list that is being read. */
struct level {
	json_t *container;
	char *key; /* of the value that comes next; NULL: a key comes. malloc's */
};

struct reader {
	yaml_parser_t parser;
	struct level levels[STRATA_KUBE_YAML_DEPTH_MAX];
	size_t depth, values;
	json_t *root;
	bool done;
};

static int fail(const struct reader *reader, const char *what, struct strata_error *err)
{
	return strata_fail(err, -EBADMSG, "line %zu: %s", reader->parser.mark.line + 1, what);
}

/* Takes the value, whatever comes of it. */
static int put_member(struct reader *reader, struct level *level, json_t *value,
		      struct strata_error *err)
{
	const char *text = json_string_value(value);
	int rc = 0;

	if (!level->key) {
		if (!text)
			rc = fail(reader, "a key is not a text", err);
		else if (json_object_get(level->container, text))
			rc = fail(reader, "a key is there twice", err);
		else if (!(level->key = strdup(text)))
			rc = strata_fail_memory(err);
		json_decref(value);
		return rc;
	}
	if (json_object_set_new(level->container, level->key, value))
		rc = strata_fail_memory(err);
	free(level->key);
	level->key = NULL;
	return rc;
}

static int put(struct reader *reader, json_t *value, struct strata_error *err)
{
	struct level *level = reader->depth ? &reader->levels[reader->depth - 1] : NULL;

	if (!value)
		return strata_fail_memory(err);
	if (++reader->values > STRATA_KUBE_YAML_VALUES_MAX) {
		json_decref(value);
		return fail(reader, "too many values", err);
	}
	if (!level) {
		reader->root = value;
		return 0;
	}
	if (json_is_array(level->container))
		return json_array_append_new(level->container, value) ? strata_fail_memory(err) : 0;
	return put_member(reader, level, value, err);
}

static int put_scalar(struct reader *reader, const yaml_event_t *event, struct strata_error *err)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	const struct level *level = reader->depth ? &reader->levels[reader->depth - 1] : NULL;
	bool is_key = level && json_is_object(level->container) && !level->key;

	if (memchr(text, '\0', length))
		return fail(reader, "a text has a NUL in it", err);
	if (plain && !is_key && (!length || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
		return put(reader, json_null(), err);
	json_t *value = json_stringn(text, length);

	return value ? put(reader, value, err) : strata_fail_memory(err);
}

static int begin_level(struct reader *reader, json_t *container, struct strata_error *err)
{
	if (!container)
		return strata_fail_memory(err);
	if (reader->depth == STRATA_KUBE_YAML_DEPTH_MAX) {
		json_decref(container);
		return fail(reader, "nested too deeply", err);
	}
	/* its place is taken first, so that a key that is a mapping is refused at once */
	int rc = put(reader, json_incref(container), err);

	if (rc == 0)
		reader->levels[reader->depth++] = (struct level){ .container = container };
	else
		json_decref(container);
	return rc;
}

static void end_level(struct reader *reader)
{
	struct level *level = &reader->levels[--reader->depth];

	free(level->key);
	json_decref(level->container);
}

static int take(struct reader *reader, const yaml_event_t *event, struct strata_error *err)
{
	switch (event->type) {
	case YAML_STREAM_END_EVENT:
		reader->done = true;
		return reader->root ? 0 : fail(reader, "there is nothing in it", err);
	case YAML_DOCUMENT_START_EVENT:
		return reader->root ? fail(reader, "a second document", err) : 0;
	case YAML_ALIAS_EVENT:
		return fail(reader, "aliases (*name) are not read", err);
	case YAML_SCALAR_EVENT:
		return put_scalar(reader, event, err);
	case YAML_MAPPING_START_EVENT:
		return begin_level(reader, json_object(), err);
	case YAML_SEQUENCE_START_EVENT:
		return begin_level(reader, json_array(), err);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		end_level(reader);
		return 0;
	default:
		return 0;
	}
}

static int read_events(struct reader *reader, struct strata_error *err)
{
	yaml_event_t event;
	int rc = 0;

	while (rc == 0 && !reader->done) {
		if (!yaml_parser_parse(&reader->parser, &event)) {
			bool memory = reader->parser.error == YAML_MEMORY_ERROR;
			const char *why = reader->parser.problem;

			return memory ? strata_fail_memory(err)
				      : strata_fail(err, -EBADMSG, "line %zu: %s",
						    reader->parser.problem_mark.line + 1,
						    why ? why : "this is not YAML");
		}
		rc = take(reader, &event, err);
		yaml_event_delete(&event);
	}
	return rc;
}

int kube_yaml_read(const char *text, size_t length, json_t **ret_value, struct strata_error *err)
{
	struct reader *reader;
	int rc;

	if (length > STRATA_KUBE_CONFIG_BYTES_MAX)
		return strata_fail(err, -E2BIG, "%zu bytes; expected at most %d", length,
				   STRATA_KUBE_CONFIG_BYTES_MAX);
	reader = calloc(1, sizeof(*reader));
	if (!reader || !yaml_parser_initialize(&reader->parser)) {
		free(reader);
		return strata_fail_memory(err);
	}
	yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text, length);
	rc = read_events(reader, err);
	while (reader->depth)
		end_level(reader);
	yaml_parser_delete(&reader->parser);
	if (rc == 0)
		*ret_value = reader->root;
	else
		json_decref(reader->root);
	free(reader);
	return rc;
}
