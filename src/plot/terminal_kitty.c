/* Kitty's graphics protocol: the pixels as they are, in base64, in pieces of at most 4096 characters. */
#include "plot/terminal.h"

enum { PIECE_BYTES = 3072 }; /* become 4096 characters */

static void add_base64(struct buf *buf, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";

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

void terminal_kitty(struct buf *buf, const struct terminal_picture *picture, uint32_t columns,
		    uint32_t lines, uint32_t id)
{
	size_t count = (size_t)picture->width * picture->height * 3;

	for (size_t at = 0; at < count; at += PIECE_BYTES) {
		size_t piece = count - at < PIECE_BYTES ? count - at : PIECE_BYTES;

		buf_add(buf, "\033_G");
		if (at == 0) /* show it at once, the cursor stays, no answers */
			buf_printf(buf, "a=T,f=24,s=%u,v=%u,c=%u,r=%u,i=%u,p=1,C=1,q=2,",
				   picture->width, picture->height, columns, lines, id);
		buf_printf(buf, "m=%d;", at + piece < count);
		add_base64(buf, picture->rgb + at, piece);
		buf_add(buf, "\033\\");
	}
}
