/*
 * Pictures in a terminal, as the bytes that it is sent. Three ways: half blocks in colour, which every terminal with colours shows; sixels (xterm, foot,
 * mlterm, WezTerm, Konsole); kitty's protocol (kitty, WezTerm, Ghostty, Konsole). Each writes the picture from where the cursor stands and promises nothing
 * about where the cursor is afterwards: who draws again saves its place.
 */
#ifndef PLOT_TERMINAL_H
#define PLOT_TERMINAL_H

#include "core/buf.h"

#include <stdint.h>

enum { TERMINAL_SIDE_MAX = 4096 }; /* pixels each way */

struct terminal_picture {
	uint32_t width, height; /* 1 to TERMINAL_SIDE_MAX */
	const uint8_t *rgb;     /* height · width · 3; borrowed */
};

/* A character for each pixel and two rows to a line: the upper half block, its colour over the other's. With `true_color` 24 bits, else the 256 colours that
 * xterm has. Lines are (height + 1) / 2; the cursor stands in the last one, behind it. */
void terminal_blocks(struct buf *buf, const struct terminal_picture *picture, bool true_color);

/* Sixels, each pixel `scale` times each way. Up to 256 different colours are shown as they are, more as the nearest of 6 × 6 × 6, dithered. The arena is for
 * scratch. -ENOMEM; else what the buffer says. */
int terminal_sixel(struct buf *buf, const struct terminal_picture *picture, uint32_t scale,
		   struct strata_arena *arena, struct strata_error *err);

/* Kitty's protocol: the picture fills `columns` times `lines` characters, in place of what was drawn with the same id (1 or more). No answer is asked for. */
void terminal_kitty(struct buf *buf, const struct terminal_picture *picture, uint32_t columns,
		    uint32_t lines, uint32_t id);

#endif
