/* Half blocks: two pixels in a character. A colour is sent only where it changes. */
#include "plot/terminal.h"

#include <stdlib.h>
#include <string.h>

/* The nearest of xterm's 256: the cube of 6 × 6 × 6 from 16 on, or the greys from 232 on. */
static unsigned nearest(const uint8_t *rgb)
{
	static const int levels[6] = { 0, 95, 135, 175, 215, 255 };
	int cube = 0, cube_error = 0, mean = (rgb[0] + rgb[1] + rgb[2]) / 3, grey_error = 0;
	int grey = mean < 3 ? 0 : mean > 237 ? 23 : (mean - 3) / 10;

	for (int i = 0; i < 3; i++) {
		int best = 0;

		for (int k = 1; k < 6; k++)
			if (abs(levels[k] - rgb[i]) < abs(levels[best] - rgb[i]))
				best = k;
		cube = cube * 6 + best;
		cube_error += (levels[best] - rgb[i]) * (levels[best] - rgb[i]);
		grey_error += (8 + 10 * grey - rgb[i]) * (8 + 10 * grey - rgb[i]);
	}
	return (unsigned)(grey_error < cube_error ? 232 + grey : 16 + cube);
}

static void set_colour(struct buf *buf, unsigned layer, const uint8_t *rgb, bool true_color)
{
	if (true_color)
		buf_printf(buf, "\033[%u;2;%u;%u;%um", layer, rgb[0], rgb[1], rgb[2]);
	else
		buf_printf(buf, "\033[%u;5;%um", layer, nearest(rgb));
}

static void add_line(struct buf *buf, const struct terminal_picture *picture, uint32_t y,
		     bool true_color)
{
	const uint8_t *upper = picture->rgb + (size_t)y * picture->width * 3;
	bool pair = y + 1 < picture->height; /* else the lower half stays as the terminal has it */
	const uint8_t *lower = pair ? upper + (size_t)picture->width * 3 : NULL;

	for (size_t x = 0; x < picture->width; x++) {
		if (x == 0 || memcmp(upper + x * 3, upper + x * 3 - 3, 3) != 0)
			set_colour(buf, 38, upper + x * 3, true_color);
		if (pair && (x == 0 || memcmp(lower + x * 3, lower + x * 3 - 3, 3) != 0))
			set_colour(buf, 48, lower + x * 3, true_color);
		buf_add(buf, "▀");
	}
	buf_add(buf, "\033[0m");
}

void terminal_blocks(struct buf *buf, const struct terminal_picture *picture, bool true_color)
{
	for (uint32_t y = 0; y < picture->height; y += 2) {
		if (y)
			buf_add(buf, "\r\n");
		add_line(buf, picture, y, true_color);
	}
}
