/* Kitty's graphics protocol: the pixels as they are, in base64, in pieces of at most 4096 characters. */
#include "plot/terminal.h"

enum { PIECE_BYTES = 3072 }; /* become 4096 characters */

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
		buf_add_base64(buf, picture->rgb + at, piece);
		buf_add(buf, "\033\\");
	}
}
