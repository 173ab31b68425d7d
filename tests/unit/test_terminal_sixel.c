/* Sixels, drawn again by a small terminal. */
#include "test.h"

#include "plot/terminal.h"

#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

struct screen {
	unsigned width, height;
	unsigned palette[256][3]; /* percent */
	unsigned colours;         /* that were defined */
	int16_t *pixels;          /* colour of each; -1: none was drawn */
};

static unsigned number(const char **at)
{
	char *end;
	unsigned long value = strtoul(*at, &end, 10);

	CHECK(end != *at);
	*at = end;
	return (unsigned)value;
}

/* #c selects a colour, #c;2;r;g;b defines it. */
static unsigned select_colour(struct screen *screen, const char **at)
{
	unsigned colour = number(at);

	CHECK(colour < 256);
	if (**at == ';') {
		++*at;
		CHECK_INT(number(at), 2);
		for (int i = 0; i < 3; i++) {
			CHECK(*(*at)++ == ';');
			screen->palette[colour][i] = number(at);
			CHECK(screen->palette[colour][i] <= 100);
		}
		screen->colours++;
	}
	return colour;
}

static void put(struct screen *screen, unsigned x, unsigned y, char sixel, unsigned colour)
{
	CHECK(sixel >= '?' && sixel <= '~' && x < screen->width);
	for (unsigned i = 0; i < 6; i++)
		if ((sixel - '?') >> i & 1) {
			CHECK(y + i < screen->height);
			screen->pixels[(y + i) * screen->width + x] = (int16_t)colour;
		}
}

static void show(struct screen *screen, const char *at)
{
	unsigned x = 0, y = 0, colour = 0;

	CHECK(strncmp(at, "\033P0;1q\"1;1;", 11) == 0);
	at += 11;
	screen->width = number(&at);
	at++;
	screen->height = number(&at);
	screen->pixels = malloc(sizeof(int16_t) * screen->width * screen->height);
	memset(screen->pixels, 0xff, sizeof(int16_t) * screen->width * screen->height);
	while (*at != '\033') {
		unsigned count = 1;
		char c = *at++;

		if (c == '#') {
			colour = select_colour(screen, &at);
			continue;
		}
		if (c == '$' || c == '-') {
			x = 0;
			y += c == '-' ? 6 : 0;
			continue;
		}
		if (c == '!') {
			count = number(&at);
			c = *at++;
		}
		for (; count; count--)
			put(screen, x++, y, c, colour);
	}
	CHECK_TEXT(at, "\033\\");
}

static struct screen draw(uint32_t width, uint32_t height, const uint8_t *rgb, uint32_t scale)
{
	struct screen screen = { 0 };
	struct strata_arena arena;
	struct buf buf;

	buf_init(&buf, &memory, 0);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(terminal_sixel(&buf, &(struct terminal_picture){ width, height, rgb }, scale,
				&arena, &err));
	show(&screen, buf.text);
	CHECK_INT(screen.width, width * scale);
	CHECK_INT(screen.height, height * scale);
	buf_fini(&buf);
	strata_arena_fini(&arena);
	return screen;
}

/* Every pixel, `scale` times each way, within a rounding of percent. */
static void exact(uint32_t width, uint32_t height, uint32_t scale, unsigned colours)
{
	uint8_t *rgb = malloc((size_t)width * height * 3);

	for (uint32_t i = 0; i < width * height; i++) {
		unsigned colour = (i * 7 + i / width) % colours;

		rgb[i * 3] = (uint8_t)colour;
		rgb[i * 3 + 1] = (uint8_t)(255 - colour);
		rgb[i * 3 + 2] = (uint8_t)(colour * 5);
	}
	struct screen screen = draw(width, height, rgb, scale);

	for (uint32_t y = 0; y < height * scale; y++)
		for (uint32_t x = 0; x < width * scale; x++) {
			int colour = screen.pixels[y * screen.width + x];
			const uint8_t *want = rgb + ((size_t)(y / scale) * width + x / scale) * 3;

			CHECK(colour >= 0);
			for (int i = 0; i < 3; i++)
				CHECK_NEAR(screen.palette[colour][i] * 2.55, want[i], 1.3);
		}
	free(screen.pixels);
	free(rgb);
}

TEST(up_to_256_colours_are_shown_as_they_are)
{
	exact(1, 1, 1, 1);
	exact(7, 5, 1, 3);
	exact(7, 13, 3, 35);
	exact(32, 8, 1, 256);
	exact(28, 28, 8, 200);
}

TEST(more_are_dithered_and_right_in_the_mean)
{
	enum { SIDE = 64 };
	static uint8_t rgb[SIDE * SIDE * 3];
	double got[3] = { 0 }, want[3] = { 0 };

	for (int i = 0; i < SIDE * SIDE; i++) {
		rgb[i * 3] = (uint8_t)(i % SIDE * 4);
		rgb[i * 3 + 1] = (uint8_t)(i / SIDE * 4);
		rgb[i * 3 + 2] = 77;
	}
	struct screen screen = draw(SIDE, SIDE, rgb, 1);

	CHECK_INT(screen.colours, 216);
	for (int i = 0; i < SIDE * SIDE; i++)
		for (int k = 0; k < 3; k++) {
			double value = screen.palette[screen.pixels[i]][k] * 2.55;

			CHECK_NEAR(value, rgb[i * 3 + k], 52);
			got[k] += value;
			want[k] += rgb[i * 3 + k];
		}
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(got[k] / (SIDE * SIDE), want[k] / (SIDE * SIDE), 3);
	free(screen.pixels);
}

TEST(long_runs_are_short)
{
	static const uint8_t rgb[100 * 6 * 3];
	struct strata_arena arena;
	struct buf buf;

	buf_init(&buf, &memory, 0);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(terminal_sixel(&buf, &(struct terminal_picture){ 100, 6, rgb }, 2, &arena, &err));
	CHECK_TEXT(buf.text, "\033P0;1q\"1;1;200;12#0;2;0;0;0#0!200~-#0!200~\033\\");
	buf_fini(&buf);
	strata_arena_fini(&arena);
}

static int draw_once(struct strata_memory *from, void *context, struct strata_error *why)
{
	static const uint8_t rgb[20 * 20 * 3];
	struct strata_arena arena;
	struct buf buf;

	(void)context;
	buf_init(&buf, from, 0);
	strata_arena_init(&arena, from, 0);
	int rc = terminal_sixel(&buf, &(struct terminal_picture){ 20, 20, rgb }, 1, &arena, why);

	buf_fini(&buf);
	strata_arena_fini(&arena);
	return rc;
}

TEST(memory_may_run_out)
{
	test_every_allocation(draw_once, NULL);
}
