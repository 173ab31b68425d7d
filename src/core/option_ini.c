/*
 * Options from a configuration file (inih reads the lines). [section] is a nested table; [section name] adds an item
 * to a list of tables and sets its first option to the name; keys before any section belong to the top table.
 *
 * inih cuts what is too long for its buffers without a word, so every line is looked over before it gets it.
 */
#include "core/option.h"

#include <strata/limits.h>

#include <errno.h>
#include <ini.h>
#include <string.h>

struct ini_read {
	const struct strata_schema *schema;
	const char *source;
	struct strata_arena *arena;
	char *conf;              /* a copy; stored when all went well */
	struct origins *origins; /* the caller's; may be NULL */
	struct origins seen;     /* of this file */
	struct strata_error *err;
	const char *text_at; /* the position of the line being read */
	int line;
	int rc;

	/* the section at hand */
	char section[STRATA_NAME_BYTES_MAX + 1];
	const struct strata_schema *table; /* NULL until a section is looked up */
	char *table_conf;
	char path[2 * STRATA_NAME_BYTES_MAX]; /* "", "inventory." or "node[3]." */
};

static int fail_line(struct ini_read *read, int rc)
{
	struct strata_error *err = read->err;

	if (err) {
		char text[STRATA_ERROR_TEXT_BYTES];

		memcpy(text, err->text, sizeof(text));
		char field[STRATA_ERROR_FIELD_BYTES];

		memcpy(field, err->field, sizeof(field));
		strata_fail_at(err, rc, field, "%s:%d: %s", read->source, read->line, text);
	}
	return rc;
}

/* The list item that [section name] means: an old one with that name, or a new one. */
static int enter_item(struct ini_read *read, const struct strata_option *option, const char *name)
{
	const struct strata_schema *schema = option->list.item->table;
	struct strata_list *list = (struct strata_list *)(read->conf + option->offset);
	const struct strata_option *key = &schema->options[0];
	size_t index;

	for (index = 0; index < list->count; index++) {
		char *item = (char *)list->items + index * schema->conf_size;
		const char *item_name = *(const char **)(item + key->offset);

		if (item_name && strcmp(item_name, name) == 0)
			break;
	}
	if (index == list->count) {
		char *item = strata_arena_get(read->arena, schema->conf_size);

		if (!item)
			return strata_fail_memory(read->err);
		int rc = strata_schema_defaults(schema, read->arena, item, read->err);

		if (rc == 0)
			rc = option_parse(key, name, strlen(name), read->arena, item + key->offset,
					  read->err);
		if (rc == 0)
			rc = option_append(option, NULL, item, read->arena, list, read->err);
		if (rc)
			return rc;
	}
	read->table = schema;
	read->table_conf = (char *)list->items + index * schema->conf_size;
	snprintf(read->path, sizeof(read->path), "%s[%zu].", option->name, index);
	return 0;
}

static int enter_section(struct ini_read *read, const char *section)
{
	size_t word = strcspn(section, " \t");
	const char *name = section + word + strspn(section + word, " \t");
	const struct strata_option *option = option_find(read->schema, section, word);

	if (!*section) {
		read->table = read->schema;
		read->table_conf = read->conf;
		read->path[0] = '\0';
		return 0;
	}
	if (!option)
		return option_unknown(read->schema, section, word, read->err);
	if (option->type == STRATA_TABLE && !*name) {
		read->table = option->table;
		read->table_conf = read->conf + option->offset;
		snprintf(read->path, sizeof(read->path), "%s.", option->name);
		return 0;
	}
	bool tables = option->type == STRATA_LIST && option->list.item->type == STRATA_TABLE &&
		      option->list.item->table->options[0].type == STRATA_TEXT;

	if (tables && *name)
		return enter_item(read, option, name);
	if (tables)
		return strata_fail_at(read->err, -EINVAL, option->name,
				      "section [%s] has no name; expected [%s NAME]", option->name,
				      option->name);
	if (option->type == STRATA_TABLE)
		return strata_fail_at(read->err, -EINVAL, option->name,
				      "section [%.60s]; expected [%s]", section, option->name);
	return strata_fail_at(read->err, -EINVAL, option->name,
			      "%s is not a section; write %s = … above the first one", option->name,
			      option->name);
}

static int set_key(struct ini_read *read, const char *name, const char *value)
{
	const struct strata_option *option = option_find(read->table, name, strlen(name));
	char path[3 * STRATA_NAME_BYTES_MAX], from[512];

	if (!option)
		return option_unknown(read->table, name, strlen(name), read->err);
	snprintf(path, sizeof(path), "%s%s", read->path, option->name);
	if (origins_find(&read->seen, path))
		return strata_fail_at(read->err, -EINVAL, path, "%s is given twice (first at %s)",
				      option->name, origins_find(&read->seen, path));
	snprintf(from, sizeof(from), "%s:%d", read->source, read->line);
	int rc = origins_add(&read->seen, path, from, read->err);

	if (rc == 0)
		rc = option_parse(option, value, strlen(value), read->arena,
				  read->table_conf + option->offset, read->err);
	if (rc == 0 && read->origins)
		rc = origins_add(read->origins, path, from, read->err);
	return rc;
}

static int on_line(void *context, const char *section, const char *name, const char *value)
{
	struct ini_read *read = context;

	if (read->rc)
		return 0;
	if (!read->table || strcmp(section, read->section) != 0) {
		snprintf(read->section, sizeof(read->section), "%s", section);
		read->rc = enter_section(read, read->section);
	}
	if (read->rc == 0)
		read->rc = set_key(read, name, value ? value : "");
	if (read->rc)
		fail_line(read, read->rc);
	return read->rc == 0;
}

/* A line that inih would cut or misread: its section and name buffers hold 50 bytes. */
static int check_line(struct ini_read *read, const char *line, size_t length, size_t room)
{
	enum { WORD_BYTES_MAX = 49 };
	size_t word = strcspn(line, *line == '[' ? "]\n" : "=:\n");

	if (length >= room)
		return strata_fail(read->err, -EINVAL,
				   "the line is %zu bytes long; expected at most %zu", length,
				   room - 1);
	if (length == 0 || *line == '\r' || *line == ';' || *line == '#')
		return 0;
	if (line[word] == '\n' || !line[word])
		return strata_fail(read->err, -EINVAL,
				   "expected [section], name = value or ; comment");
	if (word > WORD_BYTES_MAX + (*line == '['))
		return strata_fail(read->err, -EINVAL, "the name is longer than %d bytes",
				   WORD_BYTES_MAX);
	return 0;
}

/* Feeds inih line by line, so that errors carry the line's number. Indentation is taken away: to inih it would mean
 * that the line goes on with the value above it. */
static char *next_line(char *room, int room_bytes, void *stream)
{
	struct ini_read *read = stream;
	const char *line = read->text_at;

	if (!*line || read->rc)
		return NULL;
	read->line++;
	line += strspn(line, " \t");
	size_t length = strcspn(line, "\n");

	read->text_at = line + length + (line[length] == '\n');
	read->rc = check_line(read, line, length, (size_t)room_bytes);
	if (read->rc) {
		fail_line(read, read->rc);
		return NULL;
	}
	memcpy(room, line, length);
	room[length] = '\0';
	return room;
}

int option_read_ini(const struct strata_schema *schema, const char *text, size_t length,
		    const char *source, struct strata_arena *arena, void *conf,
		    struct origins *origins, struct strata_error *err)
{
	struct ini_read read = {
		.schema = schema,
		.source = source,
		.arena = arena,
		.origins = origins,
		.seen = { .arena = arena },
		.err = err,
	};

	if (length > STRATA_INI_BYTES_MAX)
		return strata_fail(err, -E2BIG, "%s is %zu bytes long; expected at most %d", source,
				   length, STRATA_INI_BYTES_MAX);
	if (memchr(text, '\0', length))
		return strata_fail(err, -EINVAL, "%s has a NUL byte in it; expected text", source);
	read.conf = strata_arena_get(arena, schema->conf_size);
	read.text_at = strata_arena_text(arena, text, length);
	if (!read.conf || !read.text_at)
		return strata_fail_memory(err);
	memcpy(read.conf, conf, schema->conf_size);
	int bad_line = ini_parse_stream(next_line, &read, on_line, &read);

	if (read.rc)
		return read.rc;
	if (bad_line) {
		read.line = bad_line;
		return fail_line(
			&read,
			strata_fail(err, -EINVAL, "expected [section], name = value or ; comment"));
	}
	memcpy(conf, read.conf, schema->conf_size);
	return 0;
}
