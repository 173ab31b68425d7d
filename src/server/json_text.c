/* The writers of json_text.h: lists of many jobs are written by them, so they look at each byte
 * once. */
#include "server/json_text.h"

void json_text_add(struct buf *buf, const char *text)
{
	buf_add_char(buf, '"');
	while (*text) {
		size_t plain = 0;

		while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' &&
		       text[plain] != '\\')
			plain++;
		buf_add_bytes(buf, text, plain);
		text += plain;
		if (*text == '"' || *text == '\\') {
			buf_add_char(buf, '\\');
			buf_add_char(buf, *text++);
		} else if (*text) {
			buf_printf(buf, "\\u%04x", (unsigned)*text++);
		}
	}
	buf_add_char(buf, '"');
}

void json_text_add_number(struct buf *buf, int64_t number)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (number < 0)
		*--at = '-';
	buf_add_bytes(buf, at, (size_t)(digits + sizeof(digits) - at));
}
