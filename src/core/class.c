/*
 * One class by itself: is it well formed, what is it called, what does a spec of it say. The registry (registry.c) holds
 * many.
 */
#include "core/class.h"

#include "core/option.h"

#include <strata/limits.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct strata_schema class_schema(const struct strata_class *cls)
{
	static const struct strata_option none[] = { { 0 } };

	return (struct strata_schema){
		.name = cls->name,
		.summary = cls->summary,
		.conf_size = cls->conf_size,
		.options = cls->options ? cls->options : none,
	};
}

static bool ignored(char c)
{
	return c == ' ' || c == '_' || c == '-';
}

/* Equal but for case, spaces, '_' and '-'. */
static bool same_name(const char *a, size_t a_length, const char *b, size_t b_length)
{
	const char *a_end = a + a_length, *b_end = b + b_length;

	for (;;) {
		while (a < a_end && ignored(*a))
			a++;
		while (b < b_end && ignored(*b))
			b++;
		if (a == a_end || b == b_end)
			return a == a_end && b == b_end;
		if (tolower((unsigned char)*a++) != tolower((unsigned char)*b++))
			return false;
	}
}

bool class_next_alias(const char **at, const char **ret_alias, size_t *ret_length)
{
	if (!*at)
		return false;
	*at += strspn(*at, ", ");
	if (!**at)
		return false;
	*ret_alias = *at;
	*ret_length = strcspn(*at, ",");
	*at += *ret_length;
	return true;
}

bool class_is_called(const struct strata_class *cls, const char *name, size_t length)
{
	const char *at = cls->aliases, *alias;
	size_t alias_length;

	if (same_name(cls->name, strlen(cls->name), name, length))
		return true;
	while (class_next_alias(&at, &alias, &alias_length))
		if (same_name(alias, alias_length, name, length))
			return true;
	return false;
}

static bool plain_name(const char *name)
{
	if (!name || !islower((unsigned char)*name) || strlen(name) > STRATA_NAME_BYTES_MAX)
		return false;
	for (; *name; name++)
		if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) &&
		    *name != '_')
			return false;
	return true;
}

static int check_row(const struct strata_option *option, const struct strata_schema *schema,
		     int depth, struct strata_error *err);

static int check_rows(const struct strata_schema *schema, int depth, struct strata_error *err)
{
	for (const struct strata_option *option = schema->options; option->name; option++) {
		const char *name = option->name;

		if (!plain_name(name))
			return strata_fail(err, -EINVAL,
					   "option '%s' is not lower case, digits and _", name);
		if (option_find(schema, name, strlen(name)) != option)
			return strata_fail(err, -EINVAL, "two options are called '%s'", name);
		if (option->offset > schema->conf_size)
			return strata_fail(err, -EINVAL, "option '%s' lies outside its struct",
					   name);
		int rc = check_row(option, schema, depth, err);

		if (rc)
			return rc;
	}
	return 0;
}

static int check_row(const struct strata_option *option, const struct strata_schema *schema,
		     int depth, struct strata_error *err)
{
	const char *name = option->name ? option->name : "an item";

	if ((unsigned)option->type > STRATA_TABLE)
		return strata_fail(err, -EINVAL,
				   "option '%s' has a type this library does not know", name);
	if (depth >= STRATA_OPTION_DEPTH_MAX)
		return strata_fail(err, -EINVAL, "option '%s' is nested too deeply", name);
	if (option->type == STRATA_TABLE && !option->table)
		return strata_fail(err, -EINVAL, "option '%s' has no table", name);
	if (option->type == STRATA_ENUM && !option->choice.choices)
		return strata_fail(err, -EINVAL, "option '%s' has no choices", name);
	if (schema && option_size(option) > schema->conf_size - option->offset)
		return strata_fail(err, -EINVAL, "option '%s' lies outside its struct", name);
	if (option->type == STRATA_TABLE)
		return check_rows(option->table, depth + 1, err);
	if (option->type == STRATA_LIST || option->type == STRATA_MAP) {
		if (!option->list.item)
			return strata_fail(err, -EINVAL, "option '%s' has no item type", name);
		return check_row(option->list.item, NULL, depth + 1, err);
	}
	return 0;
}

/* A default must read back as itself: in range, and one of the choices. */
static int check_defaults(const struct strata_schema *schema, struct strata_arena *arena,
			  struct strata_error *err)
{
	char *conf = strata_arena_get(arena, schema->conf_size);
	int rc = conf ? strata_schema_defaults(schema, arena, conf, err) : strata_fail_memory(err);

	for (const struct strata_option *option = schema->options; rc == 0 && option->name;
	     option++) {
		const char *slot = conf + option->offset;

		if (option->type == STRATA_TABLE)
			rc = check_defaults(option->table, arena, err);
		else if (!(option->flags & STRATA_REQUIRED))
			rc = option_check(option, slot, err);
		if (rc == 0 && option->type == STRATA_ENUM) {
			const struct strata_choice *choice = option->choice.choices;

			while (choice->name && choice->value != *(const int *)slot)
				choice++;
			if (!choice->name)
				rc = strata_fail(
					err, -EINVAL,
					"the default of option '%s' is none of its choices",
					option->name);
		}
	}
	return rc;
}

int strata_class_check(const struct strata_class *cls, struct strata_error *err)
{
	struct strata_schema schema = class_schema(cls);
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	if (!plain_name(cls->name))
		return strata_fail(err, -EINVAL,
				   "class name '%.60s' is not lower case, digits and _",
				   cls->name ? cls->name : "(none)");
	if (!cls->summary || !*cls->summary)
		return strata_fail(err, -EINVAL, "class '%s' has no summary", cls->name);
	int rc = check_rows(&schema, 0, err);

	if (rc)
		return rc;
	strata_arena_init(&arena, &memory, 0);
	rc = check_defaults(&schema, &arena, err);
	strata_arena_fini(&arena);
	return rc;
}

int strata_spec_print(const struct strata_spec *spec, struct strata_arena *arena,
		      const char **ret_text, struct strata_error *err)
{
	struct strata_schema schema = class_schema(spec->cls);
	const struct strata_option whole = { .type = STRATA_TABLE, .table = &schema };
	struct buf buf;

	buf_init(&buf, arena->memory, 0);
	buf_printf(&buf, "%s", spec->cls->name);
	if (spec->conf && schema.options->name) {
		buf_add_char(&buf, ':');
		option_print(&whole, spec->conf, &buf);
	}
	const char *text = buf.failed ? NULL : strata_arena_text(arena, buf.text, buf.length);

	buf_fini(&buf);
	if (!text)
		return strata_fail_memory(err);
	*ret_text = text;
	return 0;
}
