/*
 * Sixels: bands of six rows, in each band one pass for each colour, a character for six pixels on top of each other. A run of equal characters is a number and
 * the character. Pictures of few colours (everything grey) keep them; others get the colours of a cube, with an ordered pattern that hides the steps.
 */
#include "plot/terminal.h"

#include <assert.h>
#include <string.h>

enum { COLOURS_MAX = 256, CUBE_SIDE = 6, BAND = 6, SLOTS = 1024 };

struct sixels {
	struct buf *buf;
	const struct terminal_picture *picture;
	uint32_t scale;
	uint8_t *indexes;                /* of each pixel */
	uint8_t palette[COLOURS_MAX][3]; /* what they mean */
	size_t colour_count;
};

/* The number of a colour in the palette, which may gain it; -1: there are too many. */
static int index_of(struct sixels *it, int16_t slots[SLOTS], const uint8_t *rgb)
{
	uint32_t at = (rgb[0] * 7919U + rgb[1] * 104729U + rgb[2] * 1299709U) % SLOTS;

	for (; slots[at] >= 0; at = (at + 1) % SLOTS)
		if (memcmp(it->palette[slots[at]], rgb, 3) == 0)
			return slots[at];
	if (it->colour_count == COLOURS_MAX)
		return -1;
	memcpy(it->palette[it->colour_count], rgb, 3);
	slots[at] = (int16_t)it->colour_count++;
	return slots[at];
}

static bool take_exact(struct sixels *it)
{
	size_t count = (size_t)it->picture->width * it->picture->height;
	int16_t slots[SLOTS];

	memset(slots, 0xff, sizeof(slots));
	for (size_t i = 0; i < count; i++) {
		int index = index_of(it, slots, it->picture->rgb + i * 3);

		if (index < 0)
			return false;
		it->indexes[i] = (uint8_t)index;
	}
	return true;
}

static void take_cube(struct sixels *it)
{
	/* Bayer's pattern, 4 × 4. */
	static const int pattern[16] = { 0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5 };
	uint32_t width = it->picture->width;

	it->colour_count = CUBE_SIDE * CUBE_SIDE * CUBE_SIDE;
	for (size_t i = 0; i < it->colour_count; i++) {
		it->palette[i][0] = (uint8_t)(i / (CUBE_SIDE * CUBE_SIDE) * 51);
		it->palette[i][1] = (uint8_t)(i / CUBE_SIDE % CUBE_SIDE * 51);
		it->palette[i][2] = (uint8_t)(i % CUBE_SIDE * 51);
	}
	for (size_t i = 0; i < (size_t)width * it->picture->height; i++) {
		int shift = pattern[i / width % 4 * 4 + i % width % 4], index = 0;

		for (size_t k = 0; k < 3; k++)
			index = index * CUBE_SIDE +
				(it->picture->rgb[i * 3 + k] * 16 + 51 * shift) / (51 * 16);
		it->indexes[i] = (uint8_t)index;
	}
}

static void add_run(struct buf *buf, char character, size_t count)
{
	if (count > 3)
		buf_printf(buf, "!%zu%c", count, character);
	else
		buf_add_repeat(buf, character, count);
}

/* The pixels of one colour in a band of six rows of the enlarged picture, from row `top` on. */
static void add_pass(struct sixels *it, uint32_t top, unsigned colour)
{
	uint32_t width = it->picture->width, height = it->picture->height * it->scale;
	char last = 0;
	size_t run = 0;

	buf_printf(it->buf, "#%u", colour);
	for (uint32_t x = 0; x < width; x++) {
		unsigned bits = 0;

		for (uint32_t i = 0; i < BAND && top + i < height; i++)
			bits |= (it->indexes[(size_t)((top + i) / it->scale) * width + x] == colour)
				<< i;
		char character = (char)('?' + bits);

		if (run && character != last) {
			add_run(it->buf, last, run);
			run = 0;
		}
		last = character;
		run += it->scale;
	}
	if (last != '?')
		add_run(it->buf, last, run);
}

static void add_band(struct sixels *it, uint32_t top)
{
	uint32_t width = it->picture->width, height = it->picture->height;
	uint32_t first = top / it->scale, last = (top + BAND - 1) / it->scale;
	bool used[COLOURS_MAX] = { false }, any = false;

	for (uint32_t y = first; y <= last && y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			used[it->indexes[(size_t)y * width + x]] = true;
	for (unsigned i = 0; i < it->colour_count; i++)
		if (used[i]) {
			buf_add(it->buf, any ? "$" : "");
			add_pass(it, top, i);
			any = true;
		}
}

int terminal_sixel(struct buf *buf, const struct terminal_picture *picture, uint32_t scale,
		   struct strata_arena *arena, struct strata_error *err)
{
	struct sixels it = { .buf = buf, .picture = picture, .scale = scale };

	assert(scale && picture->width && picture->height);
	it.indexes = strata_arena_array(arena, (size_t)picture->width * picture->height, 1);
	if (!it.indexes)
		return strata_fail_memory(err);
	if (!take_exact(&it))
		take_cube(&it);
	/* Pixels as high as they are wide; what is not drawn stays as it is. */
	buf_printf(buf, "\033P0;1q\"1;1;%u;%u", picture->width * scale, picture->height * scale);
	for (size_t i = 0; i < it.colour_count; i++)
		buf_printf(buf, "#%zu;2;%u;%u;%u", i, (it.palette[i][0] * 100U + 127) / 255,
			   (it.palette[i][1] * 100U + 127) / 255,
			   (it.palette[i][2] * 100U + 127) / 255);
	for (uint32_t top = 0; top < picture->height * scale; top += BAND) {
		if (top)
			buf_add(buf, "-");
		add_band(&it, top);
	}
	buf_add(buf, "\033\\");
	return buf_check(buf, err);
}
