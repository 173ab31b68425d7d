/*
 * Cuts a trace file into JSON values without reading it into memory: it knows strings and nesting, and nothing else of
 * JSON. Whether what it cut is valid is the parser's business.
 */
#include "core/trace_merge_int.h"

#include <strata/limits.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int trace_source_fail(const struct trace_source *source, uint64_t offset, int code,
		      struct strata_error *err, const char *format, ...)
{
	char text[STRATA_ERROR_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return strata_fail(err, code, "%s: byte %" PRIu64 ": %s", source->input->name, offset,
			   text);
}

/* Makes sure that there is a byte to look at: 1, 0 at the end of the file, or a negative code. */
static int fill(struct trace_source *source, struct strata_error *err)
{
	if (source->used < source->length)
		return 1;
	if (source->ended)
		return 0;
	ssize_t count =
		source->input->read(source->input->context, source->bytes, TRACE_SOURCE_BYTES);

	if (count < 0)
		return trace_source_fail(source, source->offset, (int)count, err,
					 "cannot be read: %s", strerror((int)-count));
	source->ended = count == 0;
	source->used = 0;
	source->length = (size_t)count;
	return count > 0;
}

static void consume(struct trace_source *source, size_t count)
{
	source->used += count;
	source->offset += count;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int trace_source_peek(struct trace_source *source, struct strata_error *err)
{
	for (;;) {
		int rc = fill(source, err);

		if (rc <= 0)
			return rc < 0 ? rc : TRACE_SOURCE_END;
		if (!is_space(source->bytes[source->used]))
			return (unsigned char)source->bytes[source->used];
		consume(source, 1);
	}
}

void trace_source_skip(struct trace_source *source)
{
	consume(source, 1);
}

/* Whether a value that begins so ends by itself; a number or a word ends where something else begins. */
static bool is_scalar(char first)
{
	return first != '{' && first != '[' && first != '"';
}

/* Where a scan stands within a value. */
struct scan {
	unsigned depth;
	bool in_string, escaped, scalar, done;
};

/* Takes one byte in; false when it is behind the value (which only a number or a word leaves open). */
static inline bool scan_byte(struct scan *scan, char c)
{
	if (scan->in_string) {
		if (scan->escaped)
			scan->escaped = false;
		else if (c == '\\')
			scan->escaped = true;
		else if (c == '"') {
			scan->in_string = false;
			scan->done = scan->depth == 0;
		}
		return true;
	}
	if (scan->scalar) {
		scan->done = is_space(c) || c == ',' || c == ']' || c == '}' || c == ':';
		return !scan->done;
	}
	if (c == '"')
		scan->in_string = true;
	else if (c == '{' || c == '[')
		scan->depth++;
	else if (c == '}' || c == ']')
		scan->done = --scan->depth == 0;
	return true;
}

/* Keeps what fits. */
static int keep(struct buf *text, const char *bytes, size_t count, size_t limit_bytes,
		bool *ret_fits, struct strata_error *err)
{
	size_t room = limit_bytes - text->length;

	if (count > room) {
		*ret_fits = false;
		count = room;
	}
	buf_add_bytes(text, bytes, count);
	return buf_check(text, err);
}

int trace_source_cut(struct trace_source *source, struct buf *text, size_t limit_bytes,
		     bool *ret_fits, struct strata_error *err)
{
	uint64_t start = source->offset;
	char first = source->bytes[source->used];
	struct scan scan = { .scalar = is_scalar(first) };

	if (first == ',' || first == ':' || first == ']' || first == '}')
		return trace_source_fail(source, start, -EBADMSG, err,
					 "'%c' where a value should be", first);
	buf_reset(text);
	*ret_fits = true;
	while (!scan.done) {
		int rc = fill(source, err);
		const char *from = source->bytes + source->used;
		size_t count = 0, room = source->length - source->used;

		if (rc < 0)
			return rc;
		if (rc == 0 && scan.scalar)
			break;
		if (rc == 0)
			return trace_source_fail(source, start, -EBADMSG, err,
						 "the file ends within the value that begins here");
		while (count < room && !scan.done && scan.depth <= STRATA_JSON_DEPTH_MAX)
			count += scan_byte(&scan, from[count]);
		if (scan.depth > STRATA_JSON_DEPTH_MAX)
			return trace_source_fail(source, start, -EBADMSG, err,
						 "a value nested more than %d deep",
						 STRATA_JSON_DEPTH_MAX);
		rc = keep(text, from, count, limit_bytes, ret_fits, err);
		if (rc < 0)
			return rc;
		consume(source, count);
	}
	return 0;
}

int trace_source_next_item(struct trace_source *source, char closing, bool first, bool *ret_more,
			   struct strata_error *err)
{
	int c = trace_source_peek(source, err);

	if (c == ',' && !first) {
		trace_source_skip(source);
		c = trace_source_peek(source, err);
	} else if (!first && c >= 0 && c != closing && c != TRACE_SOURCE_END)
		return trace_source_fail(source, source->offset, -EBADMSG, err,
					 "expected ',' or '%c'", closing);
	if (c < 0)
		return c;
	if (c == TRACE_SOURCE_END && closing == '}')
		return trace_source_fail(source, source->offset, -EBADMSG, err,
					 "the file ends before its '}'");
	if (c == closing)
		trace_source_skip(source);
	*ret_more = c != closing && c != TRACE_SOURCE_END;
	return 0;
}

/* ---- a member of a valid object ---- */

static size_t skip_space(const char *text, size_t at)
{
	while (is_space(text[at]))
		at++;
	return at;
}

static size_t skip_value(const char *text, size_t at, size_t length)
{
	struct scan scan = { .scalar = is_scalar(text[at]) };

	while (at < length && !scan.done)
		at += scan_byte(&scan, text[at]);
	return at;
}

bool trace_find_member(const char *text, size_t length, const char *key, size_t *ret_start,
		       size_t *ret_end)
{
	size_t at = skip_space(text, 1), key_length = strlen(key);

	while (at < length && text[at] == '"') {
		size_t key_start = at + 1, key_end = skip_value(text, at, length);
		size_t start =
			skip_space(text, skip_space(text, key_end) + 1); /* behind the colon */
		size_t end = skip_value(text, start, length);

		if (key_end - 1 - key_start == key_length &&
		    memcmp(text + key_start, key, key_length) == 0) {
			*ret_start = start;
			*ret_end = end;
			return true;
		}
		at = skip_space(text,
				skip_space(text, end) + 1); /* behind the comma, or the brace */
	}
	return false;
}
