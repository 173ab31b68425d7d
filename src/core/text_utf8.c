/*
 * UTF-8: is it valid, how wide is it on a screen, how much of it fits. Width comes from a short table of the wide and
 * the zero-width ranges, not from the locale, so the same table looks the same everywhere.
 */
#include "core/text.h"

#include <stdint.h>

size_t text_decode(const char *text, size_t left, uint32_t *ret_code)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t count = at[0] < 0x80   ? 1
		       : at[0] < 0xC2 ? 0
		       : at[0] < 0xE0 ? 2
		       : at[0] < 0xF0 ? 3
		       : at[0] < 0xF5 ? 4
				      : 0;
	uint32_t code = count == 1 ? at[0] : at[0] & (0x7Fu >> count);

	if (count == 0 || count > left)
		return 0;
	for (size_t i = 1; i < count; i++) {
		if ((at[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3F);
	}
	if ((count == 3 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) ||
	    (count == 4 && (code < 0x10000 || code > 0x10FFFF)))
		return 0;
	*ret_code = code;
	return count;
}

bool text_valid(const char *text, size_t length)
{
	uint32_t code;

	for (size_t i = 0, count; i < length; i += count) {
		count = text_decode(text + i, length - i, &code);
		if (count == 0)
			return false;
	}
	return true;
}

/* Columns of one character: 2 for East Asian wide and emoji, 0 for combining marks and controls. */
static size_t columns(uint32_t code)
{
	static const struct {
		uint32_t first, last;
		size_t columns;
	} ranges[] = {
		{ 0x0000, 0x001F, 0 },   { 0x007F, 0x009F, 0 },   { 0x0300, 0x036F, 0 },
		{ 0x1100, 0x115F, 2 },   { 0x200B, 0x200F, 0 },   { 0x20D0, 0x20FF, 0 },
		{ 0x2E80, 0x303E, 2 },   { 0x3041, 0xA4CF, 2 },   { 0xAC00, 0xD7A3, 2 },
		{ 0xF900, 0xFAFF, 2 },   { 0xFE00, 0xFE0F, 0 },   { 0xFE30, 0xFE6F, 2 },
		{ 0xFF00, 0xFF60, 2 },   { 0xFFE0, 0xFFE6, 2 },   { 0x1F300, 0x1F64F, 2 },
		{ 0x1F680, 0x1F6FF, 2 }, { 0x1F900, 0x1F9FF, 2 }, { 0x20000, 0x3FFFD, 2 },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && code >= ranges[i].first; i++)
		if (code <= ranges[i].last)
			return ranges[i].columns;
	return 1;
}

size_t text_fit(const char *text, size_t length, size_t room, size_t *ret_width)
{
	size_t at = 0, width = 0;

	while (at < length) {
		uint32_t code;
		size_t count = text_decode(text + at, length - at, &code);
		size_t more = count ? columns(code) : 1; /* a stray byte shows as one mark */

		if (width + more > room)
			break;
		width += more;
		at += count ? count : 1;
	}
	*ret_width = width;
	return at;
}

size_t text_width(const char *text, size_t length)
{
	size_t width;

	text_fit(text, length, SIZE_MAX / 2, &width);
	return width;
}
