/*
 * PNG by libpng: pictures of 8 bits of red, green and blue. What a file has beyond that is turned into it: palettes, grey, 16 bits, transparency (on
 * black). The text "parameters" is what A1111 and those who read its pictures keep the settings in.
 */
#ifndef ENGINE_PNG_H
#define ENGINE_PNG_H

#include "core/buf.h"

#include <strata/error.h>
#include <strata/limits.h>
#include <strata/memory.h>

struct engine_picture {
	uint32_t width, height;
	uint8_t *rgb;           /* height · width · 3, in the arena */
	const char *parameters; /* NULL: none */
};

/* -EBADMSG for what is no such file or is damaged, -E2BIG past the limits, -ENOMEM. */
int engine_png_read(const void *bytes, size_t length, struct strata_arena *arena,
		    struct engine_picture *ret_picture, struct strata_error *err);
/* Would engine_png_read read it, and has it at most so many pixels (above 0)? In the memory of one
 * row. The same errors. */
int engine_png_check(const void *bytes, size_t length, uint64_t pixels_max,
		     struct strata_memory *memory, uint32_t *ret_width, uint32_t *ret_height, struct strata_error *err);
/* Adds a whole file to the buffer. The same picture gives the same bytes. */
int engine_png_write(struct buf *buf, const struct engine_picture *picture,
		     struct strata_error *err);

/* The side that a picture to start from is drawn with where none was asked for: decoder and UNet
 * halve it several times, so it is a multiple of 64. */
uint32_t engine_init_side(uint32_t side);
/* A picture in another size: the mean of what falls into a pixel, or what lies between four. */
int engine_picture_resize(const struct engine_picture *picture, uint32_t width, uint32_t height,
			  struct strata_arena *arena, struct engine_picture *ret_picture,
			  struct strata_error *err);

#endif
