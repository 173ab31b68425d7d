#include "test.h"

#include "engine/png.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static uint8_t colours[6 * 5 * 3];

static struct engine_picture small(void)
{
	for (size_t i = 0; i < sizeof(colours); i++)
		colours[i] = (uint8_t)(i * 37);
	return (struct engine_picture){ 6, 5, colours, NULL };
}

TEST(what_is_written_is_read)
{
	struct engine_picture picture = small(), back;
	struct strata_arena arena;
	struct buf one, two;

	buf_init(&one, &memory, 0);
	buf_init(&two, &memory, 0);
	strata_arena_init(&arena, &memory, 0);
	picture.parameters = "a red fox\nNegative prompt: \u00e4\nSteps: 20";
	CHECK_OK(engine_png_write(&one, &picture, &err));
	CHECK_OK(engine_png_write(&two, &picture, &err));
	CHECK_INT(one.length, two.length);
	CHECK_BYTES(one.text, two.text, one.length);
	CHECK_OK(engine_png_read(one.text, one.length, &arena, &back, &err));
	CHECK_INT(back.width, 6);
	CHECK_INT(back.height, 5);
	CHECK_BYTES(back.rgb, colours, sizeof(colours));
	CHECK_TEXT(back.parameters, picture.parameters);
	picture.parameters = NULL;
	two.length = 0;
	CHECK_OK(engine_png_write(&two, &picture, &err));
	CHECK_OK(engine_png_read(two.text, two.length, &arena, &back, &err));
	CHECK(!back.parameters);
	buf_fini(&one);
	buf_fini(&two);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(damaged_files_are_refused)
{
	struct engine_picture picture = small(), back;
	struct strata_arena arena;
	struct buf buf;

	buf_init(&buf, &memory, 0);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(engine_png_write(&buf, &picture, &err));
	for (size_t length = 0; length < buf.length - 12; length++) /* the end may be missing */
		CHECK(engine_png_read(buf.text, length, &arena, &back, &err) == -EBADMSG);
	CHECK_ERROR(engine_png_read("GIF89a....", 10, &arena, &back, &err), -EBADMSG,
		    "not a PNG file");
	buf.text[19] ^= 1; /* the width: its checksum is wrong */
	CHECK_ERROR(engine_png_read(buf.text, buf.length, &arena, &back, &err), -EBADMSG,
		    "cannot be read");
	buf_fini(&buf);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

/* The checksum of a chunk. */
static uint32_t sum_of(const unsigned char *bytes, size_t count)
{
	uint32_t sum = UINT32_MAX;

	for (size_t i = 0; i < count; i++) {
		sum ^= bytes[i];
		for (int k = 0; k < 8; k++)
			sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320 : 0);
	}
	return ~sum;
}

/* A file that says it is so large, with right checksums and nothing else. */
static int read_claim(uint32_t width, uint32_t height)
{
	unsigned char file[33] = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
	struct engine_picture back;
	struct strata_arena arena;

	for (int i = 0; i < 4; i++) {
		file[16 + i] = (unsigned char)(width >> (24 - 8 * i));
		file[20 + i] = (unsigned char)(height >> (24 - 8 * i));
	}
	file[24] = 8;
	file[25] = 2;
	uint32_t sum = sum_of(file + 12, 17);

	for (int i = 0; i < 4; i++)
		file[29 + i] = (unsigned char)(sum >> (24 - 8 * i));
	strata_arena_init(&arena, &memory, 0);
	int rc = engine_png_read(file, sizeof(file), &arena, &back, &err);

	strata_arena_fini(&arena);
	return rc;
}

TEST(sizes_are_bounded)
{
	struct engine_picture wide = { STRATA_IMAGE_SIDE_MAX, 1, NULL, NULL };
	struct strata_arena arena;
	struct buf buf;

	buf_init(&buf, &memory, 0);
	strata_arena_init(&arena, &memory, 0);
	wide.rgb = strata_arena_array(&arena, STRATA_IMAGE_SIDE_MAX + 1, 3);
	CHECK_OK(engine_png_write(&buf, &wide, &err));
	CHECK_OK(engine_png_read(buf.text, buf.length, &arena, &wide, &err));
	wide.width++;
	CHECK_ERROR(engine_png_write(&buf, &wide, &err), -E2BIG, "8193x1");
	CHECK_ERROR(read_claim(STRATA_IMAGE_SIDE_MAX, 1), -EBADMSG, "cut off");
	CHECK_ERROR(read_claim(STRATA_IMAGE_SIDE_MAX + 1, 1), -E2BIG, "8193x1");
	CHECK_ERROR(read_claim(1, UINT32_MAX), -E2BIG, "1x4294967295");
	CHECK_ERROR(read_claim(0, 1), -E2BIG, "0x1");
	CHECK_ERROR(
		engine_png_read(buf.text, (size_t)STRATA_PNG_BYTES_MAX + 1, &arena, &wide, &err),
		-E2BIG, "268435457");
	buf_fini(&buf);
	strata_arena_fini(&arena);
}

TEST(a_look_says_what_reading_would)
{
	struct engine_picture picture = small();
	uint32_t width = 0, height = 0;
	struct buf buf;

	buf_init(&buf, &memory, 0);
	CHECK_OK(engine_png_write(&buf, &picture, &err));
	CHECK_OK(engine_png_check(buf.text, buf.length, 30, &memory, &width, &height, &err));
	CHECK_INT(width, 6);
	CHECK_INT(height, 5);
	CHECK_ERROR(engine_png_check(buf.text, buf.length, 29, &memory, &width, &height, &err),
		    -E2BIG, "6x5: 30 pixels; expected at most 29");
	for (size_t length = 0; length < buf.length - 12; length++)
		CHECK(engine_png_check(buf.text, length, 30, &memory, &width, &height, &err) ==
		      -EBADMSG);
	buf.text[buf.length / 2] ^= 1;
	CHECK_ERROR(engine_png_check(buf.text, buf.length, 30, &memory, &width, &height, &err),
		    -EBADMSG, "cannot be read");
	buf_fini(&buf);
	CHECK_INT(memory.used_bytes, 0);
	CHECK_INT(engine_init_side(28), 64);
	CHECK_INT(engine_init_side(127), 64);
	CHECK_INT(engine_init_side(512), 512);
}

TEST(pictures_change_their_size)
{
	uint8_t grey[4 * 4 * 3];
	struct engine_picture picture = { 4, 4, grey, NULL }, other;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < sizeof(grey); i++)
		grey[i] = (uint8_t)(i / 3 % 4 * 80);
	CHECK_OK(engine_picture_resize(&picture, 4, 4, &arena, &other, &err));
	CHECK_BYTES(other.rgb, grey, sizeof(grey));
	CHECK_OK(engine_picture_resize(&picture, 2, 8, &arena, &other, &err));
	CHECK_INT(other.width, 2);
	CHECK_INT(other.height, 8);
	CHECK(other.rgb[0] > 30 && other.rgb[0] < 70 && other.rgb[3] > 170 && other.rgb[3] < 210);
	CHECK_INT(other.rgb[0], other.rgb[6]); /* rows are alike */
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static int both_ways(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct engine_picture picture = small(), back;
	struct strata_arena arena;
	struct buf buf;

	(void)context;
	picture.parameters = "x";
	buf_init(&buf, own, 0);
	strata_arena_init(&arena, own, 0);
	int rc = engine_png_write(&buf, &picture, why);

	if (rc == 0)
		rc = engine_png_read(buf.text, buf.length, &arena, &back, why);
	if (rc == 0) {
		test_result(back.rgb, sizeof(colours));
		test_result_text(back.parameters);
	}
	buf_fini(&buf);
	strata_arena_fini(&arena);
	return rc;
}

TEST(memory_may_run_out_anywhere)
{
	test_every_allocation(both_ways, NULL);
}
