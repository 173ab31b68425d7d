/* The growing text of buf.h: doubling block, sticky failure. */
#include "core/buf.h"

#include <stdio.h>
#include <string.h>

static char empty[1] = ""; /* never written: room_bytes is 0 while it stands in */

void buf_init(struct buf *buf, struct strata_memory *memory, size_t limit_bytes)
{
	*buf = (struct buf){ .memory = memory, .text = empty, .limit_bytes = limit_bytes };
}

void buf_fini(struct buf *buf)
{
	if (buf->room_bytes)
		strata_memory_put(buf->memory, buf->text, buf->room_bytes);
	buf_init(buf, buf->memory, buf->limit_bytes);
}

void buf_reset(struct buf *buf)
{
	buf->length = 0;
	buf->failed = false;
	if (buf->room_bytes)
		buf->text[0] = '\0';
}

/* Room for `more` bytes and the NUL behind them. */
static bool reserve(struct buf *buf, size_t more)
{
	size_t need;

	if (buf->failed || __builtin_add_overflow(buf->length, more, &need) || need == SIZE_MAX ||
	    (buf->limit_bytes && need > buf->limit_bytes)) {
		buf->failed = true;
		return false;
	}
	if (need < buf->room_bytes)
		return true;
	size_t room = buf->room_bytes ? buf->room_bytes : 64;

	while (room <= need)
		room = room > SIZE_MAX / 2 ? need + 1 : room * 2;
	char *text = strata_memory_resize(buf->memory, buf->room_bytes ? buf->text : NULL,
					  buf->room_bytes, room);

	if (!text) {
		buf->failed = true;
		return false;
	}
	buf->text = text;
	buf->room_bytes = room;
	return true;
}

void buf_add_bytes(struct buf *buf, const char *bytes, size_t count)
{
	if (count == 0 || !reserve(buf, count))
		return;
	memcpy(buf->text + buf->length, bytes, count);
	buf->length += count;
	buf->text[buf->length] = '\0';
}

void buf_add(struct buf *buf, const char *text)
{
	buf_add_bytes(buf, text, strlen(text));
}

void buf_add_char(struct buf *buf, char c)
{
	buf_add_bytes(buf, &c, 1);
}

void buf_add_repeat(struct buf *buf, char c, size_t count)
{
	if (count == 0 || !reserve(buf, count))
		return;
	memset(buf->text + buf->length, c, count);
	buf->length += count;
	buf->text[buf->length] = '\0';
}

void buf_add_quoted(struct buf *buf, const char *word)
{
	buf_add_char(buf, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_add(buf, "'\\''");
		else
			buf_add_char(buf, *word);
	buf_add_char(buf, '\'');
}

void buf_add_base64(struct buf *buf, const void *bytes_any, size_t count)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const uint8_t *bytes = bytes_any;

	if (!reserve(buf, (count + 2) / 3 * 4))
		return;
	for (size_t i = 0; i < count; i += 3) {
		uint32_t word = (uint32_t)bytes[i] << 16 |
				(i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0) |
				(i + 2 < count ? bytes[i + 2] : 0);

		buf_add_char(buf, digits[word >> 18]);
		buf_add_char(buf, digits[word >> 12 & 63]);
		buf_add_char(buf, i + 1 < count ? digits[word >> 6 & 63] : '=');
		buf_add_char(buf, i + 2 < count ? digits[word & 63] : '=');
	}
}

void buf_vprintf(struct buf *buf, const char *format, va_list args)
{
	va_list again;

	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);

	if (length < 0)
		buf->failed = true;
	else if (reserve(buf, (size_t)length)) {
		vsnprintf(buf->text + buf->length, (size_t)length + 1, format, again);
		buf->length += (size_t)length;
	}
	va_end(again);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(buf, format, args);
	va_end(args);
}

int buf_check(const struct buf *buf, struct strata_error *err)
{
	return buf->failed ? strata_fail_memory(err) : 0;
}
