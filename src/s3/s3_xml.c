/*
 * A reader for the small XML that S3 answers: elements, attributes that are skipped, text with the
 * five entities and numbers. Documents that declare anything (DOCTYPE) are refused, so that nothing
 * grows and nothing is fetched. It reads what a stranger sends: lengths first, no recursion.
 */
#include "s3/s3_xml.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { NAME_BYTES = 64 };

struct walk {
	const char *at, *end;
	char names[STRATA_S3_XML_DEPTH_MAX][NAME_BYTES];
	size_t depth;
	bool is_leaf; /* nothing has ended in the open element yet */
	char text[STRATA_S3_XML_TEXT_BYTES_MAX + 1];
	size_t length;
};

static int fail(struct strata_error *err, const char *why)
{
	return strata_fail(err, -EBADMSG, "the answer is not the XML that was expected: %s", why);
}

static bool starts(const struct walk *walk, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(walk->end - walk->at) >= length && memcmp(walk->at, text, length) == 0;
}

/* Behind the next of these; false: there is none. */
static bool skip_past(struct walk *walk, const char *text)
{
	const char *found = memmem(walk->at, (size_t)(walk->end - walk->at), text, strlen(text));

	if (found)
		walk->at = found + strlen(text);
	return found;
}

static bool add(struct walk *walk, char byte)
{
	if (walk->length == STRATA_S3_XML_TEXT_BYTES_MAX)
		return false;
	walk->text[walk->length++] = byte;
	return true;
}

static bool add_code(struct walk *walk, unsigned long code)
{
	if (code < ' ' || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return false;
	if (code < 0x80)
		return add(walk, (char)code);
	if (code < 0x800)
		return add(walk, (char)(0xc0 | code >> 6)) && add(walk, (char)(0x80 | (code & 63)));
	if (code < 0x10000)
		return add(walk, (char)(0xe0 | code >> 12)) &&
		       add(walk, (char)(0x80 | (code >> 6 & 63))) &&
		       add(walk, (char)(0x80 | (code & 63)));
	return add(walk, (char)(0xf0 | code >> 18)) &&
	       add(walk, (char)(0x80 | (code >> 12 & 63))) &&
	       add(walk, (char)(0x80 | (code >> 6 & 63))) && add(walk, (char)(0x80 | (code & 63)));
}

static bool add_number(struct walk *walk)
{
	unsigned base = starts(walk, "&#x") ? 16 : 10, digits = 0;
	unsigned long code = 0;

	for (walk->at += base == 16 ? 3 : 2; walk->at < walk->end && *walk->at != ';'; walk->at++) {
		char byte = *walk->at;
		unsigned digit = byte >= '0' && byte <= '9'   ? (unsigned)(byte - '0')
				 : byte >= 'a' && byte <= 'f' ? (unsigned)(byte - 'a' + 10)
				 : byte >= 'A' && byte <= 'F' ? (unsigned)(byte - 'A' + 10)
							      : base;

		if (digit >= base || ++digits > 8)
			return false;
		code = code * base + digit;
	}
	if (walk->at == walk->end || digits == 0)
		return false;
	walk->at++;
	return add_code(walk, code);
}

static bool add_entity(struct walk *walk)
{
	static const struct {
		const char *name;
		char byte;
	} entities[] = { { "&amp;", '&' },
			 { "&lt;", '<' },
			 { "&gt;", '>' },
			 { "&quot;", '"' },
			 { "&apos;", '\'' } };

	if (starts(walk, "&#"))
		return add_number(walk);
	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (starts(walk, entities[i].name)) {
			walk->at += strlen(entities[i].name);
			return add(walk, entities[i].byte);
		}
	return false;
}

/* A name up to what cannot be in one; without its prefix. */
static bool read_name(struct walk *walk, char ret_name[NAME_BYTES])
{
	size_t length = 0;

	while (walk->at < walk->end && !strchr(" \t\r\n/>=<", *walk->at) && *walk->at) {
		if (*walk->at == ':')
			length = 0;
		else if (length + 1 < NAME_BYTES)
			ret_name[length++] = *walk->at;
		else
			return false;
		walk->at++;
	}
	ret_name[length] = '\0';
	return length > 0;
}

/* Behind the '>' of a tag that has begun; what is in quotes does not end it. */
static bool end_tag(struct walk *walk, bool *ret_empty)
{
	char quote = 0, last = 0;

	for (; walk->at < walk->end; walk->at++) {
		if (quote) {
			quote = *walk->at == quote ? 0 : quote;
		} else if (*walk->at == '"' || *walk->at == '\'') {
			quote = *walk->at;
		} else if (*walk->at == '<') {
			return false;
		} else if (*walk->at == '>') {
			walk->at++;
			*ret_empty = last == '/';
			return true;
		}
		last = *walk->at;
	}
	return false;
}

static int leave(struct walk *walk, s3_xml_visit *visit, void *context)
{
	int rc = 0;

	walk->text[walk->length] = '\0';
	if (walk->is_leaf && !memchr(walk->text, '\0', walk->length))
		rc = visit(context, walk->depth > 1 ? walk->names[walk->depth - 2] : "",
			   walk->names[walk->depth - 1], walk->text);
	walk->depth--;
	walk->is_leaf = false;
	walk->length = 0;
	return rc;
}

static int open_or_close(struct walk *walk, s3_xml_visit *visit, void *context,
			 struct strata_error *err)
{
	bool closes = starts(walk, "</"), empty = false;
	char name[NAME_BYTES];

	walk->at += closes ? 2 : 1;
	if (!read_name(walk, name) || !end_tag(walk, &empty))
		return fail(err, "a tag does not end");
	if (closes) {
		if (walk->depth == 0 || strcmp(walk->names[walk->depth - 1], name) != 0)
			return fail(err, "a tag ends that did not begin");
		return leave(walk, visit, context);
	}
	if (walk->depth == STRATA_S3_XML_DEPTH_MAX)
		return fail(err, "it is too deep");
	memcpy(walk->names[walk->depth++], name, sizeof(name));
	walk->is_leaf = true;
	walk->length = 0;
	return empty ? leave(walk, visit, context) : 0;
}

static int step(struct walk *walk, s3_xml_visit *visit, void *context, struct strata_error *err)
{
	if (starts(walk, "<?"))
		return skip_past(walk, "?>") ? 0 : fail(err, "an instruction does not end");
	if (starts(walk, "<!--"))
		return skip_past(walk, "-->") ? 0 : fail(err, "a comment does not end");
	if (starts(walk, "<!"))
		return fail(err, "it declares something");
	if (*walk->at == '<')
		return open_or_close(walk, visit, context, err);
	if (*walk->at == '&')
		return add_entity(walk) ? 0 : fail(err, "an entity that is none, or a long text");
	if (walk->depth && !add(walk, *walk->at))
		return fail(err, "a text is too long");
	if (!walk->depth && !strchr(" \t\r\n", *walk->at))
		return fail(err, "there is text around it");
	walk->at++;
	return 0;
}

int s3_xml_walk(const char *text, size_t length, s3_xml_visit *visit, void *context,
		struct strata_error *err)
{
	struct walk walk = { .at = text, .end = text + length };
	int rc = 0;
	bool any = false;

	while (rc == 0 && walk.at < walk.end) {
		rc = step(&walk, visit, context, err);
		any |= walk.depth > 0;
	}
	if (rc == 0 && (walk.depth || !any))
		rc = fail(err, "it does not end, or is empty");
	return rc;
}
