/*
 * Options from environment variables: PREFIX_NAME for "name", PREFIX_TABLE_NAME for "table.name". An empty variable counts
 * as not set.
 */
#include "core/option.h"

#include <strata/limits.h>

#include <ctype.h>
#include <string.h>

struct env_read {
	option_get_variable *get;
	void *context;
	struct strata_arena *arena;
	struct origins *origins;
	struct strata_error *err;
};

static int read_table(const struct env_read *read, const struct strata_schema *schema,
		      const char *prefix, const char *path, char *conf);

static int read_row(const struct env_read *read, const struct strata_option *option,
		    const char *prefix, const char *path, char *slot)
{
	char variable[4 * STRATA_NAME_BYTES_MAX], inner[4 * STRATA_NAME_BYTES_MAX];
	size_t length = (size_t)snprintf(variable, sizeof(variable), "%s%s", prefix, option->name);

	if (length >= sizeof(variable) - 1)
		return 0; /* nobody can mean a name of that length */
	for (char *at = variable; *at; at++)
		*at = (char)toupper((unsigned char)*at);
	snprintf(inner, sizeof(inner), "%s%s", path, option->name);
	if (option->type == STRATA_TABLE) {
		memcpy(variable + length, "_", 2);
		memcpy(inner + strlen(inner), ".", 2);
		return read_table(read, option->table, variable, inner, slot);
	}
	const char *value = read->get(read->context, variable);

	if (!value || !*value)
		return 0;
	int rc = option_parse(option, value, strlen(value), read->arena, slot, read->err);

	if (rc && read->err) {
		char text[STRATA_ERROR_TEXT_BYTES];

		memcpy(text, read->err->text, sizeof(text));
		return strata_fail_at(read->err, rc, inner, "%s: %s", variable, text);
	}
	return rc || !read->origins ? rc : origins_add(read->origins, inner, variable, read->err);
}

static int read_table(const struct env_read *read, const struct strata_schema *schema,
		      const char *prefix, const char *path, char *conf)
{
	int rc = 0;

	for (const struct strata_option *option = schema->options; rc == 0 && option->name;
	     option++)
		rc = read_row(read, option, prefix, path, conf + option->offset);
	return rc;
}

int option_read_env(const struct strata_schema *schema, const char *prefix,
		    option_get_variable *get, void *context, struct strata_arena *arena, void *conf,
		    struct origins *origins, struct strata_error *err)
{
	struct env_read read = { get, context, arena, origins, err };
	char *copy = strata_arena_get(arena, schema->conf_size);

	if (!copy)
		return strata_fail_memory(err);
	memcpy(copy, conf, schema->conf_size);
	int rc = read_table(&read, schema, prefix, "", copy);

	if (rc == 0)
		memcpy(conf, copy, schema->conf_size);
	return rc;
}
