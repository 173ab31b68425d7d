/*
 * URLs: see url.h. A path is cut into its parts before the escapes are taken out of them, so that a
 * name may have a slash in it. Parameters are options: one that is not in the route's table, comes
 * twice or has a bad value is refused, since what is passed over in silence is believed to count.
 */
#include "server/url.h"

#include "core/option.h"

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* The character that an escape stands for; 0: it is none. */
static char escaped(const char *at)
{
	int high = at[0] == '%' ? digit(at[1]) : -1;
	int low = high >= 0 ? digit(at[2]) : -1;

	return low < 0 ? 0 : (char)(high << 4 | low);
}

bool url_is_well_formed(const char *url)
{
	for (const char *at = url; (at = strchr(at, '%')); at++)
		if (!escaped(at))
			return false;
	return true;
}

size_t url_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		char c = escaped(from);

		*to = c ? c : *from;
		from += c ? 3 : 1;
	}
	*to = '\0';
	return (size_t)(to - text);
}

size_t url_unescape_value(void *context, struct MHD_Connection *connection, char *text)
{
	(void)context, (void)connection;
	return url_unescape(text);
}

/* ---- the query ---- */

struct reader {
	const struct strata_schema *schema;
	struct strata_arena *arena;
	char *conf;
	bool *seen; /* of each row */
	struct strata_error *err;
	int rc;
};

static int read_parameter(struct reader *reader, const char *key, const char *value)
{
	static const struct strata_option none = { 0 };
	static const struct strata_schema nothing = { "the query", NULL, 0, &none };
	const struct strata_schema *schema = reader->schema ? reader->schema : &nothing;
	const struct strata_option *option = option_find(schema, key, strlen(key));

	if (!option)
		return option_unknown(schema, key, strlen(key), reader->err);
	if (reader->seen[option - schema->options])
		return strata_fail_at(reader->err, -EINVAL, option->name, "%s is given twice",
				      option->name);
	reader->seen[option - schema->options] = true;
	if (!value && option->type != STRATA_BOOL)
		return strata_fail_at(reader->err, -EINVAL, option->name,
				      "%s has no value; expected %s=…", option->name, option->name);
	value = value ? value : "true";
	return option_parse(option, value, strlen(value), reader->arena,
			    reader->conf + option->offset, reader->err);
}

static enum MHD_Result take_parameter(void *context, enum MHD_ValueKind kind, const char *key,
				      const char *value)
{
	struct reader *reader = context;

	(void)kind;
	reader->rc = read_parameter(reader, key, value);
	return reader->rc ? MHD_NO : MHD_YES;
}

int url_read_query(struct request *request, const struct strata_schema *schema,
		   struct strata_error *err)
{
	struct reader reader = { .schema = schema, .arena = &request->arena, .err = err };
	size_t count = 0;

	while (schema && schema->options[count].name)
		count++;
	reader.conf = strata_arena_get(&request->arena, schema ? schema->conf_size : 1);
	reader.seen = strata_arena_get(&request->arena, count + 1);
	if (!reader.conf || !reader.seen)
		return strata_fail_memory(err);
	int rc = schema ? strata_schema_defaults(schema, &request->arena, reader.conf, err) : 0;

	if (rc)
		return rc;
	MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, take_parameter,
				  &reader);
	request->query = reader.conf;
	return reader.rc;
}
