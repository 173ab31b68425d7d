/* Ways into objects of the API, which are values of jansson. */
#include "kubernetes/kube_object.h"

#include <stdarg.h>
#include <string.h>

static json_t *walk(const json_t *object, va_list names)
{
	const char *name;

	while (object && (name = va_arg(names, const char *)))
		object = json_object_get(object, name);
	return (json_t *)object;
}

json_t *kube_at(const json_t *object, ...)
{
	va_list names;

	va_start(names, object);
	json_t *found = walk(object, names);

	va_end(names);
	return found;
}

const char *kube_text(const json_t *object, ...)
{
	va_list names;

	va_start(names, object);
	const char *text = json_string_value(walk(object, names));

	va_end(names);
	return text ? text : "";
}

const char *kube_escape(const char *text, struct strata_arena *arena)
{
	static const char digits[] = "0123456789ABCDEF";
	char *escaped = strata_arena_get(arena, 3 * strlen(text) + 1), *to = escaped;

	for (; escaped && *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    strchr("-._~", c)) {
			*to++ = *text;
		} else {
			*to++ = '%';
			*to++ = digits[c >> 4];
			*to++ = digits[c & 15];
		}
	}
	return escaped;
}
