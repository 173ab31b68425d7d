/*
 * Frames: a type, three bytes of length, the bytes. Both ends are the same program of the same
 * user, but a socket can be cut anywhere and a file can be anybody's, so what is read is checked.
 */
#include "console/console.h"

#include <errno.h>
#include <string.h>

static bool is_type(char type)
{
	return type && strchr("hiewsdcoxanq", type);
}

int console_frame_read(const char *bytes, size_t count, struct console_frame *ret_frame,
		       size_t *ret_used, struct strata_error *err)
{
	const unsigned char *head = (const unsigned char *)bytes;

	if (count && !is_type(bytes[0]))
		return strata_fail(err, -EBADMSG, "a frame of a console has the unknown type %d",
				   head[0]);
	if (count < CONSOLE_HEAD_BYTES)
		return 0;
	size_t length = head[1] | (size_t)head[2] << 8 | (size_t)head[3] << 16;

	if (length > STRATA_CONSOLE_FRAME_BYTES_MAX)
		return strata_fail(err, -EBADMSG,
				   "a frame of a console has %zu bytes; expected at most %d",
				   length, STRATA_CONSOLE_FRAME_BYTES_MAX);
	if (count - CONSOLE_HEAD_BYTES < length)
		return 0;
	*ret_frame = (struct console_frame){ (enum console_type)bytes[0],
					     bytes + CONSOLE_HEAD_BYTES, length };
	*ret_used = CONSOLE_HEAD_BYTES + length;
	return 1;
}

void console_frame_head(enum console_type type, size_t count, char ret_head[CONSOLE_HEAD_BYTES])
{
	ret_head[0] = (char)type;
	ret_head[1] = (char)(count & 255);
	ret_head[2] = (char)(count >> 8 & 255);
	ret_head[3] = (char)(count >> 16 & 255);
}

void console_count_write(uint32_t count, char ret_bytes[4])
{
	for (int i = 0; i < 4; i++)
		ret_bytes[i] = (char)(count >> 8 * i & 255);
}

bool console_count_read(const struct console_frame *frame, uint32_t *ret_count)
{
	const unsigned char *bytes = (const unsigned char *)frame->bytes;

	if (frame->count != 4)
		return false;
	*ret_count = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
		     (uint32_t)bytes[3] << 24;
	return true;
}

void console_size_write(struct console_size size, char ret_bytes[4])
{
	console_count_write(size.rows | (uint32_t)size.columns << 16, ret_bytes);
}

bool console_size_read(const struct console_frame *frame, struct console_size *ret_size)
{
	uint32_t both;

	if (!console_count_read(frame, &both))
		return false;
	*ret_size = (struct console_size){ (uint16_t)(both & 65535), (uint16_t)(both >> 16) };
	return true;
}

void console_hello_write(const struct console_hello *hello, char ret_bytes[CONSOLE_HELLO_BYTES])
{
	ret_bytes[0] = (char)hello->version;
	ret_bytes[1] = (char)hello->owner;
	ret_bytes[2] = (char)hello->terminal;
	console_size_write(hello->size, ret_bytes + 3);
}

bool console_hello_read(const struct console_frame *frame, struct console_hello *ret_hello)
{
	if (frame->count != CONSOLE_HELLO_BYTES)
		return false;
	const struct console_frame size = { CONSOLE_RESIZE, frame->bytes + 3, 4 };

	*ret_hello = (struct console_hello){ .version = (uint8_t)frame->bytes[0],
					     .owner = frame->bytes[1],
					     .terminal = frame->bytes[2] };
	return console_size_read(&size, &ret_hello->size);
}
