/*
 * PNG: see png.h. libpng reports errors by jumping; the jump ends in these functions, with the sentence kept in the context. Its memory comes from the
 * caller's account, so that limits hold for it.
 */
#include "engine/png.h"

#include "core/text.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <string.h>

struct context {
	struct strata_memory *memory;
	const unsigned char *at; /* what is left of the file */
	size_t left;
	struct buf *buf; /* what is written */
	bool no_memory;
	char why[128];
};

/* libpng gives back a block without its size: it is kept in front of it. */
union block {
	size_t bytes;
	max_align_t align;
};

static png_voidp get_memory(png_structp png, png_alloc_size_t bytes)
{
	struct context *context = png_get_mem_ptr(png);
	union block *block = bytes > SIZE_MAX / 2
				     ? NULL
				     : strata_memory_get(context->memory, sizeof(*block) + bytes);

	if (!block) {
		context->no_memory = true;
		return NULL;
	}
	block->bytes = sizeof(*block) + bytes;
	return block + 1;
}

static void put_memory(png_structp png, png_voidp memory)
{
	struct context *context = png_get_mem_ptr(png);
	union block *block = memory ? (union block *)memory - 1 : NULL;

	if (block)
		strata_memory_put(context->memory, block, block->bytes);
}

static void fail(png_structp png, png_const_charp why)
{
	struct context *context = png_get_error_ptr(png);

	text_show_cut(context->why, sizeof(context->why), why);
	png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp why)
{
	(void)png, (void)why;
}

static void take(png_structp png, png_bytep bytes, size_t count)
{
	struct context *context = png_get_io_ptr(png);

	if (count > context->left)
		png_error(png, "the file is cut off");
	memcpy(bytes, context->at, count);
	context->at += count;
	context->left -= count;
}

static void give(png_structp png, png_bytep bytes, size_t count)
{
	struct context *context = png_get_io_ptr(png);

	buf_add_bytes(context->buf, (const char *)bytes, count);
	if (context->buf->failed) {
		context->no_memory = true;
		png_error(png, "no memory");
	}
}

static void flush(png_structp png)
{
	(void)png;
}

static int say(const struct context *context, const char *what, struct strata_error *err)
{
	return context->no_memory ? strata_fail_memory(err)
				  : strata_fail(err, -EBADMSG, "the PNG file cannot be %s: %s",
						what, context->why);
}

/* ---- reading ---- */

static int check_size(uint32_t width, uint32_t height, struct strata_error *err)
{
	if (width == 0 || height == 0 || width > STRATA_IMAGE_SIDE_MAX ||
	    height > STRATA_IMAGE_SIDE_MAX)
		return strata_fail(err, -E2BIG,
				   "the picture is %ux%u; expected 1 to %d pixels each way", width,
				   height, STRATA_IMAGE_SIDE_MAX);
	return 0;
}

/* Width and height stand at the beginning: what is too large is refused before anything is taken apart. */
static int claimed_size(const unsigned char *bytes, size_t length, uint64_t pixels_max,
			struct strata_error *err)
{
	uint32_t sides[2] = { 1, 1 };

	for (size_t i = 0; length >= 24 && i < 8; i++)
		sides[i / 4] = (i % 4 ? sides[i / 4] << 8 : 0) | bytes[16 + i];
	int rc = check_size(sides[0], sides[1], err);

	if (rc == 0 && pixels_max && (uint64_t)sides[0] * sides[1] > pixels_max)
		rc = strata_fail(err, -E2BIG,
				 "the picture is %ux%u: %llu pixels; expected at most %llu",
				 sides[0], sides[1], (unsigned long long)sides[0] * sides[1],
				 (unsigned long long)pixels_max);
	return rc;
}

/* Whatever the file has, rows come as 8-bit red, green and blue. How often each row comes. */
static int ask_for_rgb(png_structp png, png_infop info)
{
	static const png_color_16 black = { 0 };

	png_set_expand(png);
	png_set_strip_16(png);
	png_set_gray_to_rgb(png);
	if (png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA ||
	    png_get_valid(png, info, PNG_INFO_tRNS))
		png_set_background(png, &black, PNG_BACKGROUND_GAMMA_SCREEN, 0, 1.0);
	png_set_strip_alpha(png);
	int passes = png_set_interlace_handling(png);

	png_read_update_info(png, info);
	return passes;
}

static const char *find_parameters(png_structp png, png_infop info)
{
	png_textp texts;
	int count = png_get_text(png, info, &texts, NULL);

	for (int i = 0; i < count; i++)
		if (strcmp(texts[i].key, "parameters") == 0 && texts[i].text)
			return texts[i].text;
	return NULL;
}

struct reading {
	struct context context;
	struct strata_arena *arena;
	struct engine_picture picture;
	png_bytep *rows;
	uint64_t look_pixels_max; /* whether it is one of at most so many, and no more; 0: all of it */
};

/* Every row in the memory of one; those of an interlaced picture come several times. */
static int look_at_rows(struct reading *reading, png_structp png, png_infop info,
			struct strata_error *err)
{
	int passes = ask_for_rgb(png, info);

	reading->picture.rgb = strata_arena_get(reading->arena, png_get_rowbytes(png, info));
	if (!reading->picture.rgb)
		return strata_fail_memory(err);
	for (int pass = 0; pass < passes; pass++)
		for (uint32_t y = 0; y < reading->picture.height; y++)
			png_read_row(png, reading->picture.rgb, NULL);
	png_read_end(png, info);
	return 0;
}

static int read_rows(struct reading *reading, png_structp png, png_infop info,
		     struct strata_error *err)
{
	struct engine_picture *picture = &reading->picture;
	size_t stride = (size_t)picture->width * 3;

	ask_for_rgb(png, info);
	if (png_get_rowbytes(png, info) != stride)
		return strata_fail(err, -EBADMSG, "the PNG file has rows of an unknown form");
	picture->rgb = strata_arena_array(reading->arena, picture->height, stride);
	reading->rows = strata_arena_array(reading->arena, picture->height, sizeof(*reading->rows));
	if (!picture->rgb || !reading->rows)
		return strata_fail_memory(err);
	for (uint32_t y = 0; y < picture->height; y++)
		reading->rows[y] = picture->rgb + y * stride;
	png_read_image(png, reading->rows);
	png_read_end(png, info);
	const char *text = find_parameters(png, info);

	if (text)
		picture->parameters = strata_arena_text(reading->arena, text, strlen(text));
	return text && !picture->parameters ? strata_fail_memory(err) : 0;
}

/* All that may jump is called from here. */
static int read_with(struct reading *reading, png_structp png, png_infop info,
		     struct strata_error *err)
{
	if (setjmp(png_jmpbuf(png)))
		return say(&reading->context, "read", err);
	png_set_read_fn(png, &reading->context, take);
	png_set_user_limits(png, STRATA_IMAGE_SIDE_MAX, STRATA_IMAGE_SIDE_MAX);
	png_set_chunk_cache_max(png, 64);
	png_set_chunk_malloc_max(png, STRATA_PNG_TEXT_BYTES_MAX);
	png_read_info(png, info);
	reading->picture.width = png_get_image_width(png, info);
	reading->picture.height = png_get_image_height(png, info);
	return reading->look_pixels_max ? look_at_rows(reading, png, info, err)
			     : read_rows(reading, png, info, err);
}

static int read_file(struct reading *reading, const void *bytes, size_t length,
		     struct strata_error *err)
{
	if (length > STRATA_PNG_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the PNG file has %zu bytes; at most %d", length,
				   STRATA_PNG_BYTES_MAX);
	if (length < 8 || png_sig_cmp(bytes, 0, 8))
		return strata_fail(err, -EBADMSG, "it is not a PNG file");
	int rc = claimed_size(bytes, length, reading->look_pixels_max, err);

	if (rc)
		return rc;
	struct context *context = &reading->context;
	png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, context, fail, ignore,
						   context, get_memory, put_memory);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	rc = info ? read_with(reading, png, info, err) : strata_fail_memory(err);

	png_destroy_read_struct(&png, &info, NULL);
	if (rc == 0 && context->no_memory)
		rc = strata_fail_memory(err); /* libpng does without a text */
	return rc;
}

int engine_png_read(const void *bytes, size_t length, struct strata_arena *arena,
		    struct engine_picture *ret_picture, struct strata_error *err)
{
	struct reading reading = {
		.context = { .memory = arena->memory, .at = bytes, .left = length }, .arena = arena
	};
	int rc = read_file(&reading, bytes, length, err);

	if (rc == 0)
		*ret_picture = reading.picture;
	return rc;
}

int engine_png_check(const void *bytes, size_t length, uint64_t pixels_max,
		     struct strata_memory *memory, uint32_t *ret_width, uint32_t *ret_height, struct strata_error *err)
{
	struct strata_arena arena;
	struct reading reading = { .context = { .memory = memory, .at = bytes, .left = length },
				   .arena = &arena,
				   .look_pixels_max = pixels_max };

	strata_arena_init(&arena, memory, 0);
	int rc = read_file(&reading, bytes, length, err);

	strata_arena_fini(&arena);
	if (rc == 0) {
		*ret_width = reading.picture.width;
		*ret_height = reading.picture.height;
	}
	return rc;
}

/* ---- writing ---- */

/* A text that Latin-1 cannot hold is written as UTF-8 (iTXt), as A1111 does. */
static void write_parameters(png_structp png, png_infop info, const char *parameters)
{
	bool ascii = true;
	png_text text = { .key = (png_charp) "parameters", .text = (png_charp)parameters };

	for (const char *at = parameters; *at; at++)
		ascii = ascii && (unsigned char)*at < 0x80;
	text.compression = ascii ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
	text.text_length = ascii ? strlen(parameters) : 0;
	text.itxt_length = ascii ? 0 : strlen(parameters);
	png_set_text(png, info, &text, 1);
}

static int write_with(struct context *context, png_structp png, png_infop info,
		      const struct engine_picture *picture, struct strata_error *err)
{
	if (setjmp(png_jmpbuf(png)))
		return say(context, "written", err);
	png_set_write_fn(png, context, give, flush);
	png_set_user_limits(png, STRATA_IMAGE_SIDE_MAX, STRATA_IMAGE_SIDE_MAX);
	png_set_IHDR(png, info, picture->width, picture->height, 8, PNG_COLOR_TYPE_RGB,
		     PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	if (picture->parameters)
		write_parameters(png, info, picture->parameters);
	png_write_info(png, info);
	for (uint32_t y = 0; y < picture->height; y++)
		png_write_row(png, picture->rgb + (size_t)y * picture->width * 3);
	png_write_end(png, info);
	return 0;
}

int engine_png_write(struct buf *buf, const struct engine_picture *picture,
		     struct strata_error *err)
{
	struct context context = { .memory = buf->memory, .buf = buf };
	int rc = check_size(picture->width, picture->height, err);

	if (rc)
		return rc;
	png_structp png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &context, fail, ignore,
						    &context, get_memory, put_memory);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	rc = info ? write_with(&context, png, info, picture, err) : strata_fail_memory(err);
	png_destroy_write_struct(&png, &info);
	return rc == 0 && context.no_memory ? strata_fail_memory(err) : rc;
}

/* ---- sizes ---- */

uint32_t engine_init_side(uint32_t side)
{
	return side < 64 ? 64 : side / 64 * 64;
}

/* Which pixels of a side a new pixel takes, and how much of each: a triangle as wide as the larger of both pixels. */
struct weights {
	uint32_t first, count;
	float *values;
};

static int weigh(uint32_t from, uint32_t to, struct strata_arena *arena, struct weights **ret,
		 struct strata_error *err)
{
	double scale = (double)from / to, reach = scale > 1 ? scale : 1;
	struct weights *all = strata_arena_array(arena, to, sizeof(*all));
	size_t room = (size_t)(2 * reach) + 3;

	if (!all)
		return strata_fail_memory(err);
	for (uint32_t i = 0; i < to; i++) {
		double centre = (i + 0.5) * scale, total = 0;
		int64_t low = (int64_t)floor(centre - reach), high = (int64_t)ceil(centre + reach);

		low = low < 0 ? 0 : low;
		high = high > from ? from : high;
		all[i] = (struct weights){ (uint32_t)low, (uint32_t)(high - low),
					   strata_arena_array(arena, room, sizeof(float)) };
		if (!all[i].values)
			return strata_fail_memory(err);
		for (int64_t k = low; k < high; k++) {
			double weight = 1 - fabs(k + 0.5 - centre) / reach;

			all[i].values[k - low] = (float)(weight > 0 ? weight : 0);
			total += weight > 0 ? weight : 0;
		}
		for (int64_t k = low; k < high; k++)
			all[i].values[k - low] = (float)(all[i].values[k - low] / total);
	}
	*ret = all;
	return 0;
}

/* One row of the source in the new width. */
static void widen(const uint8_t *row, const struct weights *across, uint32_t width, float *ret_row)
{
	for (uint32_t x = 0; x < width; x++)
		for (int c = 0; c < 3; c++) {
			float sum = 0;

			for (uint32_t k = 0; k < across[x].count; k++)
				sum += across[x].values[k] * row[(across[x].first + k) * 3 + c];
			ret_row[x * 3 + c] = sum;
		}
}

int engine_picture_resize(const struct engine_picture *picture, uint32_t width, uint32_t height,
			  struct strata_arena *arena, struct engine_picture *ret_picture,
			  struct strata_error *err)
{
	struct weights *across, *down;
	size_t stride = (size_t)width * 3;
	int rc = check_size(width, height, err);

	if (rc == 0)
		rc = weigh(picture->width, width, arena, &across, err);
	if (rc == 0)
		rc = weigh(picture->height, height, arena, &down, err);
	if (rc)
		return rc;
	float *rows = strata_arena_array(arena, picture->height, stride * sizeof(*rows));
	uint8_t *rgb = strata_arena_array(arena, height, stride);

	if (!rows || !rgb)
		return strata_fail_memory(err);
	for (uint32_t y = 0; y < picture->height; y++)
		widen(picture->rgb + (size_t)y * picture->width * 3, across, width,
		      rows + y * stride);
	for (uint32_t y = 0; y < height; y++)
		for (size_t i = 0; i < stride; i++) {
			float sum = 0;

			for (uint32_t k = 0; k < down[y].count; k++)
				sum += down[y].values[k] * rows[(down[y].first + k) * stride + i];
			rgb[y * stride + i] = (uint8_t)lrintf(sum < 0 ? 0 : sum > 255 ? 255 : sum);
		}
	*ret_picture = (struct engine_picture){ width, height, rgb, picture->parameters };
	return 0;
}
