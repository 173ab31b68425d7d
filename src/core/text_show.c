/*
 * What may be shown. A text that somebody sent ends on other people's terminals, in tables, in logs; an escape sequence in it
 * would move their cursor, a line break would forge a row, a bidirectional control would show it in another order than it has.
 * So there is one rule for what is printable, and one way to write what is not: as a C escape. Where a text comes in, the
 * option table asks for the rule (STRATA_OPAQUE); where one goes out that may come from elsewhere, it is escaped.
 */
#include "core/text.h"

#include "core/buf.h"

#include <stdio.h>
#include <string.h>

/* Controls, what has no width, what turns the direction, separators of lines and paragraphs: none of them can be seen. */
static bool is_hidden(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x0000, 0x001F }, { 0x007F, 0x009F }, { 0x00AD, 0x00AD }, { 0x061C, 0x061C },
		{ 0x180E, 0x180E }, { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F },
		{ 0xFEFF, 0xFEFF }, { 0xFFF9, 0xFFFB }, { 0xFFFE, 0xFFFF }, { 0xE0000, 0xE007F },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && code >= ranges[i].first; i++)
		if (code <= ranges[i].last)
			return true;
	return false;
}

/* Eight bytes of plain ASCII at once: long answers are looked through, too. */
static bool are_plain(const char *text)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	uint64_t del = word ^ ones * 0x7F;

	return !((word | (word - ones * 0x20) | (del - ones)) & high);
}

size_t text_printable(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length) {
		if (length - at >= 8 && are_plain(text + at)) {
			at += 8;
			continue;
		}
		uint32_t code = (unsigned char)text[at];
		size_t count = code >= 0x20 && code < 0x7F
				       ? 1
				       : text_decode(text + at, length - at, &code);

		if (count == 0 || is_hidden(code))
			break;
		at += count;
	}
	return at;
}

/* The start of a character whose rest is missing: a text that was cut by bytes. */
static bool is_cut(const char *text, size_t left)
{
	unsigned char first = (unsigned char)text[0];
	size_t want = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
	size_t have = 1;

	while (have < want && have < left && ((unsigned char)text[have] & 0xC0) == 0x80)
		have++;
	return have < want;
}

size_t text_escape_one(const char *text, size_t left, char ret_escape[TEXT_ESCAPE_BYTES])
{
	uint32_t code = 0;
	size_t count = text_decode(text, left, &code);
	const char *known = strchr("\aa\bb\tt\nn\vv\ff\rr", (int)code);

	if (count == 0)
		snprintf(ret_escape, TEXT_ESCAPE_BYTES, "\\x%02x", (unsigned char)text[0]);
	else if (code && code < 0x20 && known)
		snprintf(ret_escape, TEXT_ESCAPE_BYTES, "\\%c", known[1]);
	else if (code < 0x80)
		snprintf(ret_escape, TEXT_ESCAPE_BYTES, "\\x%02x", (unsigned)code);
	else
		snprintf(ret_escape, TEXT_ESCAPE_BYTES, code < 0x10000 ? "\\u%04x" : "\\U%08x",
			 (unsigned)code);
	return count ? count : 1;
}

void text_show(struct buf *buf, const char *text, size_t length)
{
	char escape[TEXT_ESCAPE_BYTES];

	while (length) {
		size_t plain = text_printable(text, length);

		buf_add_bytes(buf, text, plain);
		text += plain;
		length -= plain;
		if (length == 0)
			break;
		size_t count = text_escape_one(text, length, escape);

		buf_add(buf, escape);
		text += count;
		length -= count;
	}
}

void text_show_json(struct buf *buf, const char *json, size_t length)
{
	while (length) {
		size_t plain = text_printable(json, length), count = 0;
		uint32_t code = 0;

		if (plain <
		    length) /* a line break is between values: in strings JSON has it escaped */
			count = text_decode(json + plain, length - plain, &code);
		if (code == '\n')
			plain++, count = 0;
		buf_add_bytes(buf, json, plain);
		if (count && code < 0x10000)
			buf_printf(buf, "\\u%04x", (unsigned)code);
		else if (count)
			buf_printf(buf, "\\u%04x\\u%04x", 0xD7C0 + (unsigned)(code >> 10),
				   0xDC00 + (unsigned)(code & 0x3FF));
		else if (plain == 0)
			count = 1; /* not UTF-8: no JSON, so there is nothing to keep */
		json += plain + count;
		length -= plain + count;
	}
}

/* Bytes of the next piece that is kept whole: a character, an escape, or the mark of a cut. */
static size_t next_piece(const char **at, size_t left, char ret_piece[TEXT_ESCAPE_BYTES])
{
	static const char more[] = "…";
	uint32_t code;
	size_t count = text_decode(*at, left, &code);

	if (count && !is_hidden(code)) {
		memcpy(ret_piece, *at, count);
		ret_piece[count] = '\0';
	} else if (count == 0 && is_cut(*at, left)) {
		memcpy(ret_piece, more, sizeof(more));
		for (count = 1; count < left && ((unsigned char)(*at)[count] & 0xC0) == 0x80;)
			count++;
	} else {
		count = text_escape_one(*at, left, ret_piece);
	}
	*at += count;
	return count;
}

void text_show_cut(char *to, size_t room, const char *text)
{
	char piece[TEXT_ESCAPE_BYTES];
	size_t used = 0;

	for (size_t left = strlen(text); left;) {
		left -= next_piece(&text, left, piece);
		if (used + strlen(piece) + 1 > room)
			break;
		memcpy(to + used, piece, strlen(piece));
		used += strlen(piece);
	}
	to[used] = '\0';
}
