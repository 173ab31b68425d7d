/* Kitty's protocol: what a terminal reads of it is the picture. */
#include "test.h"

#include "plot/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;

/* Every piece's base64 decoded, one behind the other; checks the frame around each. */
static size_t decode(const char *text, uint8_t *ret_bytes, size_t *ret_pieces)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	size_t count = 0;
	bool more = true;

	*ret_pieces = 0;
	while (more) {
		const char *semicolon = strchr(text, ';'), *end = strstr(text, "\033\\");

		CHECK(strncmp(text, "\033_G", 3) == 0 && semicolon && end && semicolon < end);
		CHECK(end - semicolon - 1 <= 4096 && (end - semicolon - 1) % 4 == 0);
		CHECK(memcmp(semicolon - 3, "m=", 2) == 0);
		more = semicolon[-1] == '1';
		for (const char *at = semicolon + 1; at < end; at += 4) {
			uint32_t word = 0;

			for (int i = 0; i < 4; i++)
				word = word << 6 |
				       (uint32_t)(at[i] == '=' ? 0
							       : strchr(digits, at[i]) - digits);
			ret_bytes[count++] = (uint8_t)(word >> 16);
			if (at[2] != '=')
				ret_bytes[count++] = (uint8_t)(word >> 8);
			if (at[3] != '=')
				ret_bytes[count++] = (uint8_t)word;
		}
		text = end + 2;
		(*ret_pieces)++;
	}
	CHECK_TEXT(text, "");
	return count;
}

static void round_trip(uint32_t width, uint32_t height, size_t pieces_wanted)
{
	size_t count = (size_t)width * height * 3, pieces;
	uint8_t *rgb = malloc(count), *back = malloc(count + 3);
	struct buf buf;
	char head[128];

	for (size_t i = 0; i < count; i++)
		rgb[i] = (uint8_t)(i * 37 + i / 256);
	buf_init(&buf, &memory, 0);
	terminal_kitty(&buf, &(struct terminal_picture){ width, height, rgb }, 20, 10, 7);
	snprintf(head, sizeof(head), "\033_Ga=T,f=24,s=%u,v=%u,c=20,r=10,i=7,p=1,C=1,q=2,m=", width,
		 height);
	CHECK(strncmp(buf.text, head, strlen(head)) == 0);
	CHECK_INT(decode(buf.text, back, &pieces), count);
	CHECK_BYTES(back, rgb, count);
	CHECK_INT(pieces, pieces_wanted);
	buf_fini(&buf);
	free(rgb);
	free(back);
}

TEST(a_picture_comes_through)
{
	round_trip(1, 1, 1);
	round_trip(5, 3, 1);
	round_trip(32, 32, 1); /* 3072 bytes: one piece exactly */
	round_trip(1025, 1, 2);
	round_trip(64, 64, 4);
}

static int draw(struct strata_memory *from, void *context, struct strata_error *err)
{
	static const uint8_t rgb[64 * 64 * 3];
	struct buf buf;

	(void)context;
	buf_init(&buf, from, 0);
	terminal_kitty(&buf, &(struct terminal_picture){ 64, 64, rgb }, 1, 1, 1);
	int rc = buf_check(&buf, err);

	buf_fini(&buf);
	return rc;
}

TEST(memory_may_run_out)
{
	test_every_allocation(draw, NULL);
}
