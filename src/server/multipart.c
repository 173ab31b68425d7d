/* Parts of a form: see multipart.h. A part ends where the boundary stands at the beginning of a
 * line: nothing that is said in its head about its length or coding is believed. */
#include "server/multipart.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TYPE "multipart/form-data"

enum { HEAD_BYTES_MAX = 4096 };

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* The value of a parameter, of "a; name=value; other=\"value\"", in quotes or not. False: there is
 * none, or it does not fit. */
static bool find_parameter(const char *text, size_t length, const char *name, char *to, size_t room)
{
	size_t at = 0, word = strlen(name);

	while (at < length && text[at] != ';')
		at++;
	while (at < length) {
		size_t used = 0;

		at++; /* the ';' */
		while (at < length && is_space(text[at]))
			at++;
		bool found = length - at > word && strncasecmp(text + at, name, word) == 0 &&
			     text[at + word] == '=';

		while (at < length && text[at] != '=' && text[at] != ';')
			at++;
		at += at < length && text[at] == '=';
		bool quoted = at < length && text[at] == '"';

		at += quoted;
		while (at < length && text[at] != (quoted ? '"' : ';')) {
			at += quoted && text[at] == '\\' && at + 1 < length;
			if (found && used + 1 < room)
				to[used] = text[at];
			used++;
			at++;
		}
		while (quoted && at < length && text[at] != ';')
			at++;
		if (!found)
			continue;
		while (!quoted && used && used < room && is_space(to[used - 1]))
			used--;
		if (used == 0 || used >= room)
			return false;
		to[used] = '\0';
		return true;
	}
	return false;
}

int multipart_init(struct multipart *multipart, const char *type, const char *body, size_t length,
		   struct strata_error *err)
{
	size_t word = strlen(TYPE);

	if (!type || strncasecmp(type, TYPE, word) != 0 ||
	    (type[word] && type[word] != ';' && !is_space(type[word])))
		return 0;
	*multipart = (struct multipart){ .at = body, .end = body + length };
	if (!find_parameter(type, strlen(type), "boundary", multipart->boundary,
			    sizeof(multipart->boundary)))
		return strata_fail(err, -EBADMSG,
				   "the form has no boundary of 1 to %d bytes in its Content-Type",
				   MULTIPART_BOUNDARY_BYTES - 1);
	return 1;
}

/* Where "--boundary" stands next: at the very beginning, or behind an end of line, which is then
 * not of the part before. NULL: nowhere. ret_behind: what follows it. */
static const char *find_boundary(const struct multipart *multipart, const char *from, bool first,
				 const char **ret_behind)
{
	char line[MULTIPART_BOUNDARY_BYTES + 4];
	size_t length = (size_t)snprintf(line, sizeof(line), "\r\n--%s", multipart->boundary);
	size_t left = (size_t)(multipart->end - from);

	if (first && left >= length - 2 && memcmp(from, line + 2, length - 2) == 0) {
		*ret_behind = from + length - 2;
		return from;
	}
	const char *found = left ? memmem(from, left, line, length) : NULL;

	if (found)
		*ret_behind = found + length;
	return found;
}

/* The name of the field, from the lines of a part's head. */
static int read_head(const char *head, size_t length, struct multipart_part *part,
		     struct strata_error *err)
{
	static const char want[] = "content-disposition:";

	for (size_t at = 0; at < length;) {
		const char *line = head + at, *eol = memmem(line, length - at, "\r\n", 2);
		size_t count = eol ? (size_t)(eol - line) : length - at;

		if (count >= sizeof(want) - 1 && strncasecmp(line, want, sizeof(want) - 1) == 0) {
			if (find_parameter(line, count, "name", part->name, sizeof(part->name)) &&
			    strlen(part->name) && !memchr(line, '\0', count))
				return 0;
			break;
		}
		at += count + 2;
	}
	return strata_fail(err, -EBADMSG,
			   "a part of the form has no name of 1 to %d bytes (Content-Disposition: "
			   "form-data; name=\"prompt\")",
			   MULTIPART_NAME_BYTES - 1);
}

int multipart_next(struct multipart *multipart, struct multipart_part *ret_part,
		   struct strata_error *err)
{
	struct multipart_part part = { 0 };
	const char *behind = NULL, *next = NULL;
	const char *here = find_boundary(multipart, multipart->at, true, &behind);

	if (!here)
		return strata_fail(err, -EBADMSG, "the form has no line --%s where a part begins",
				   multipart->boundary);
	if (multipart->end - behind >= 2 && memcmp(behind, "--", 2) == 0)
		return 0;
	while (behind < multipart->end && is_space(*behind))
		behind++;
	if (multipart->end - behind < 2 || memcmp(behind, "\r\n", 2) != 0)
		return strata_fail(err, -EBADMSG, "the form is cut off behind a boundary");
	if (multipart->count == MULTIPART_PARTS_MAX)
		return strata_fail(err, -E2BIG, "the form has more than %d parts",
				   MULTIPART_PARTS_MAX);
	size_t left = (size_t)(multipart->end - behind);
	const char *blank =
		memmem(behind, left < HEAD_BYTES_MAX ? left : HEAD_BYTES_MAX, "\r\n\r\n", 4);

	if (!blank)
		return strata_fail(err, -EBADMSG, "the head of a part does not end within %d bytes",
				   HEAD_BYTES_MAX);
	int rc = blank > behind ? read_head(behind + 2, (size_t)(blank - behind) - 2, &part, err)
				: read_head("", 0, &part, err);

	if (rc)
		return rc;
	part.bytes = blank + 4;
	/* an empty part: the end of its head is the end of line before the boundary */
	const char *end = find_boundary(multipart, blank + 2, false, &next);

	if (!end)
		return strata_fail(err, -EBADMSG, "the part %s of the form does not end",
				   part.name);
	part.length = end > part.bytes ? (size_t)(end - part.bytes) : 0;
	multipart->at = end;
	multipart->count++;
	*ret_part = part;
	return 1;
}
