/* Half blocks, read back by hand. */
#include "test.h"

#include "plot/terminal.h"

#include <string.h>

static struct strata_memory memory;

static const uint8_t three_by_three[] = {
	255, 0, 0, 255, 0, 0, 0,  0,  0,  /* red, red, black */
	0,   0, 9, 0,   0, 9, 0,  0,  9,  /* blue */
	1,   2, 3, 7,   7, 7, 90, 90, 90, /* a row without another below */
};

TEST(two_rows_are_a_line_and_colours_come_where_they_change)
{
	struct buf buf;

	buf_init(&buf, &memory, 0);
	terminal_blocks(&buf, &(struct terminal_picture){ 3, 3, three_by_three }, true);
	CHECK(!buf.failed);
	CHECK_TEXT(buf.text, "\033[38;2;255;0;0m\033[48;2;0;0;9m▀▀\033[38;2;0;0;0m▀\033[0m\r\n"
			     "\033[38;2;1;2;3m▀\033[38;2;7;7;7m▀\033[38;2;90;90;90m▀\033[0m");
	buf_fini(&buf);
}

TEST(without_true_colour_the_nearest_of_256_is_taken)
{
	static const uint8_t rgb[] = { 255, 0,   0,   0,   0,   0,   255, 255, 255,
				       128, 128, 128, 100, 140, 210, 248, 248, 248 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	terminal_blocks(&buf, &(struct terminal_picture){ 6, 1, rgb }, false);
	CHECK_TEXT(buf.text, "\033[38;5;196m▀\033[38;5;16m▀\033[38;5;231m▀\033[38;5;244m▀"
			     "\033[38;5;68m▀\033[38;5;231m▀\033[0m");
	buf_fini(&buf);
}

static int draw(struct strata_memory *from, void *context, struct strata_error *err)
{
	struct buf buf;

	(void)context;
	buf_init(&buf, from, 0);
	terminal_blocks(&buf, &(struct terminal_picture){ 3, 3, three_by_three }, true);
	int rc = buf_check(&buf, err);

	buf_fini(&buf);
	return rc;
}

TEST(memory_may_run_out)
{
	test_every_allocation(draw, NULL);
}
