/*
 * Options from command-line flags: --name value, --name=value, --no-name, -n value, -nvalue, and -ab for two
 * flags without a value. Flags and operands may be mixed; "--" ends the flags. Nested tables are --table.name.
 * A list may be given again to append to it; anything else given twice is an error.
 */
#include "core/option.h"

#include "core/text.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

struct args_read {
	struct args *args;
	struct strata_arena *arena;
	struct origins seen;
	struct strata_error *err;
};

struct found {
	const struct strata_option *option; /* NULL: no table knows it */
	char *slot;
	char path[2 * STRATA_NAME_BYTES_MAX];
};

/* "a.b": a row of a nested table. */
static void find_path(const struct strata_schema *schema, char *conf, const char *name,
		      size_t length, struct found *found)
{
	size_t used = 0;

	for (int depth = 0; depth < STRATA_OPTION_DEPTH_MAX; depth++) {
		const char *dot = memchr(name, '.', length);
		size_t span = dot ? (size_t)(dot - name) : length;
		const struct strata_option *option = option_find(schema, name, span);

		if (!option || (option->type == STRATA_TABLE) != (dot != NULL))
			return;
		used += (size_t)snprintf(found->path + used, sizeof(found->path) - used, "%s%s",
					 depth ? "." : "", option->name);
		if (!dot) {
			found->option = option;
			found->slot = conf + option->offset;
			return;
		}
		schema = option->table;
		conf += option->offset;
		length -= span + 1;
		name = dot + 1;
	}
}

static struct found find_flag(const struct args *args, const char *name, size_t length)
{
	struct found found = { 0 };

	for (const struct args_table *table = args->tables; table->schema && !found.option; table++)
		find_path(table->schema, table->conf, name, length, &found);
	return found;
}

static struct found find_letter(const struct args *args, char letter)
{
	struct found found = { 0 };

	for (const struct args_table *table = args->tables; table->schema; table++)
		for (const struct strata_option *option = table->schema->options; option->name;
		     option++)
			if (option->letter == letter) {
				found.option = option;
				found.slot = (char *)table->conf + option->offset;
				snprintf(found.path, sizeof(found.path), "%s", option->name);
				return found;
			}
	return found;
}

static void offer_flags(const struct strata_schema *schema, struct text_closest *closest)
{
	for (const struct strata_option *option = schema->options; option->name; option++)
		if (!(option->flags & STRATA_HIDDEN))
			text_closest_offer(closest, option->name);
}

static int unknown_flag(const struct args *args, const char *name, size_t length,
			struct strata_error *err)
{
	struct text_closest closest;
	int shown = length > 60 ? 60 : (int)length;

	text_closest_init(&closest, name, length);
	for (const struct args_table *table = args->tables; table->schema; table++)
		offer_flags(table->schema, &closest);
	if (!closest.best)
		return strata_fail(err, -EINVAL, "unknown option '--%.*s'", shown, name);
	char flag[STRATA_NAME_BYTES_MAX + 1];

	snprintf(flag, sizeof(flag), "%s", closest.best);
	for (char *at = flag; *at; at++)
		if (*at == '_')
			*at = '-';
	return strata_fail(err, -EINVAL, "unknown option '--%.*s'; did you mean '--%s'?", shown,
			   name, flag);
}

/* "2" is two of what? Slurm says minutes, settings count seconds; whoever types says it. */
static bool lacks_unit(const struct strata_option *option, const char *value)
{
	return option->type == STRATA_DURATION && *value &&
	       value[strspn(value, "0123456789.")] == '\0' && value[strspn(value, "0.")] != '\0';
}

static int store(struct args_read *read, const struct found *found, const char *flag,
		 const char *value)
{
	const struct strata_option *option = found->option;
	bool again = origins_find(&read->seen, found->path) != NULL;
	bool grows = option->type == STRATA_LIST || option->type == STRATA_MAP;
	int rc;

	if (again && !grows)
		return strata_fail_at(read->err, -EINVAL, found->path, "%s is given twice", flag);
	if (lacks_unit(option, value))
		return strata_fail_at(read->err, -EINVAL, found->path,
				      "%s is %.20s of what? Say %.20ss, %.20sm (minutes) or %.20sh",
				      flag, value, value, value, value);
	rc = origins_add(&read->seen, found->path, flag, read->err);
	if (rc == 0 && read->args->origins)
		rc = origins_add(read->args->origins, found->path, flag, read->err);
	if (rc)
		return rc;
	if (!again)
		return option_parse(option, value, strlen(value), read->arena, found->slot,
				    read->err);

	union {
		struct strata_list list;
		struct strata_map map;
	} more = { 0 };

	rc = option_parse(option, value, strlen(value), read->arena, &more, read->err);
	size_t count = option->type == STRATA_MAP ? more.map.count : more.list.count;
	char *items = option->type == STRATA_MAP ? more.map.items : more.list.items;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = option_append(option, option->type == STRATA_MAP ? more.map.keys[i] : NULL,
				   items + i * option_size(option->list.item), read->arena,
				   found->slot, read->err);
	return rc;
}

/* Errors of a value speak of the flag as it was typed. */
static int store_flag(struct args_read *read, const struct found *found, const char *flag,
		      const char *value)
{
	int rc = store(read, found, flag, value);
	size_t length = strlen(found->option->name);

	if (rc && read->err && strncmp(read->err->text, found->option->name, length) == 0 &&
	    read->err->text[length] == ' ') {
		char text[STRATA_ERROR_TEXT_BYTES];

		memcpy(text, read->err->text, sizeof(text));
		strata_fail_at(read->err, rc, found->path, "%s%s", flag, text + length);
	}
	return rc;
}

/* Takes the word behind a flag as its value. */
static int next_value(struct args_read *read, const struct strata_option *option, const char *flag,
		      int argc, char *const argv[], int *index, const char **ret_value)
{
	if (*index + 1 >= argc)
		return strata_fail_at(read->err, -EINVAL, option->name, "%s needs a value: %s",
				      flag, option_type_words(option));
	*ret_value = argv[++*index];
	return 0;
}

static int read_long(struct args_read *read, int argc, char *const argv[], int *index)
{
	const char *name = argv[*index] + 2, *equals = strchr(name, '='),
		   *value = equals ? equals + 1 : NULL;
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	struct found found = find_flag(read->args, name, length);
	char flag[STRATA_NAME_BYTES_MAX + 3];

	snprintf(flag, sizeof(flag), "--%.*s", (int)length, name);
	if (!found.option && length > 3 && strncmp(name, "no-", 3) == 0) {
		found = find_flag(read->args, name + 3, length - 3);
		if (found.option && found.option->type == STRATA_BOOL && !value)
			return store_flag(read, &found, flag, "false");
		found.option = NULL;
	}
	if (!found.option)
		return unknown_flag(read->args, name, length, read->err);
	if (!value && found.option->type == STRATA_BOOL)
		value = "true";
	int rc = value ? 0 : next_value(read, found.option, flag, argc, argv, index, &value);

	return rc ? rc : store_flag(read, &found, flag, value);
}

static int read_letters(struct args_read *read, int argc, char *const argv[], int *index)
{
	for (const char *at = argv[*index] + 1; *at; at++) {
		char flag[3] = { '-', *at, '\0' };
		struct found found = find_letter(read->args, *at);
		const char *value = "true";

		if (!found.option)
			return strata_fail(read->err, -EINVAL, "unknown option '%s'", flag);
		if (found.option->type == STRATA_BOOL) {
			int rc = store_flag(read, &found, flag, value);

			if (rc)
				return rc;
			continue;
		}
		value = at[1] ? at + 1 : NULL;
		int rc = value ? 0
			       : next_value(read, found.option, flag, argc, argv, index, &value);

		return rc ? rc : store_flag(read, &found, flag, value);
	}
	return 0;
}

int option_read_args(struct args *args, int argc, char *const argv[], struct strata_arena *arena,
		     struct strata_error *err)
{
	struct args_read read = {
		.args = args, .arena = arena, .seen = { .arena = arena }, .err = err
	};
	bool flags_ended = false;

	args->operand_count = 0;
	args->operands = strata_arena_array(arena, (size_t)argc + 1, sizeof(*args->operands));
	if (!args->operands)
		return strata_fail_memory(err);
	for (int i = 0; i < argc; i++) {
		int rc = 0;

		if (flags_ended || argv[i][0] != '-' || !argv[i][1]) {
			args->operands[args->operand_count++] = argv[i];
			flags_ended |= args->operand_count == args->stop_at_operand;
		} else if (strcmp(argv[i], "--") == 0) {
			flags_ended = true;
		} else if (argv[i][1] == '-') {
			rc = read_long(&read, argc, argv, &i);
		} else {
			rc = read_letters(&read, argc, argv, &i);
		}
		if (rc)
			return rc;
	}
	return 0;
}
