/*
 * The spec syntax: key=value:key=value. A piece may be quoted with '…' or character by character with \, so that a
 * value can hold the separators; in '…' a backslash still quotes the next character. Blanks around a piece do not count
 * unless they are quoted.
 */
#include "core/option.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

int option_split(const char **at, const char *end, const char *stops, struct strata_arena *arena,
		 char **ret_piece, char *ret_stop, struct strata_error *err)
{
	char *piece = strata_arena_get(arena, (size_t)(end - *at) + 1), *to = piece, *kept = piece;
	const char *from = *at;
	bool quoted = false;

	if (!piece)
		return strata_fail_memory(err);
	while (from < end && (*from == ' ' || *from == '\t'))
		from++;
	for (; from < end && (quoted || !*from || !strchr(stops, *from)); from++) {
		if (*from == '\'') {
			quoted = !quoted;
			kept = to;
			continue;
		}
		bool blank = !quoted && (*from == ' ' || *from == '\t');

		if (*from == '\\' && ++from == end)
			return strata_fail(err, -EINVAL, "'%.*s' ends in a lone backslash",
					   end - *at > 60 ? 60 : (int)(end - *at), *at);
		*to++ = *from;
		if (!blank)
			kept = to;
	}
	*kept = '\0';
	if (quoted)
		return strata_fail(err, -EINVAL, "'%.*s' has a quote (') that is not closed",
				   end - *at > 60 ? 60 : (int)(end - *at), *at);
	*ret_stop = from < end ? *from : 0;
	*at = from < end ? from + 1 : end;
	*ret_piece = piece;
	return 0;
}

static int read_pair(const struct strata_schema *schema, const char *key, const char *value,
		     struct strata_arena *arena, char *conf, struct strata_error *err)
{
	const struct strata_option *option = option_find(schema, key, strlen(key));

	if (!option)
		return option_unknown(schema, key, strlen(key), err);
	if (!value && option->type != STRATA_BOOL)
		return strata_fail_at(err, -EINVAL, option->name, "%s has no value; expected %s=%s",
				      option->name, option->name, option_type_words(option));
	if (!value)
		value = "true";
	return option_parse(option, value, strlen(value), arena, conf + option->offset, err);
}

int strata_schema_read_text(const struct strata_schema *schema, const char *text, size_t length,
			    struct strata_arena *arena, void *conf, struct strata_error *err)
{
	const char *at = text, *end = text + length;
	size_t count = 0;
	char stop = length ? ':' : 0;
	int rc = 0;

	if (length > STRATA_SPEC_BYTES_MAX)
		return strata_fail(err, -E2BIG,
				   "the options are %zu bytes long; expected at most %d", length,
				   STRATA_SPEC_BYTES_MAX);
	while (schema->options[count].name)
		count++;
	bool *seen = strata_arena_get(arena, count);
	char *copy = strata_arena_get(arena, schema->conf_size);

	if (!seen || !copy)
		return strata_fail_memory(err);
	if (schema->conf_size)
		memcpy(copy, conf, schema->conf_size);
	while (rc == 0 && stop) {
		char *key, *value = NULL;

		rc = option_split(&at, end, "=:", arena, &key, &stop, err);
		if (rc == 0 && stop == '=')
			rc = option_split(&at, end, ":", arena, &value, &stop, err);
		if (rc)
			break;
		const struct strata_option *option = option_find(schema, key, strlen(key));

		if (option && seen[option - schema->options])
			return strata_fail_at(err, -EINVAL, option->name, "%s is given twice",
					      option->name);
		if (option)
			seen[option - schema->options] = true;
		rc = read_pair(schema, key, value, arena, copy, err);
	}
	if (rc == 0)
		rc = option_check_required(schema, seen, err);
	if (rc == 0 && schema->conf_size)
		memcpy(conf, copy, schema->conf_size);
	return rc;
}
