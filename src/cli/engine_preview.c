/* A preview on stderr: see engine_preview.h. Lines are kept by writing them once, so that the terminal has scrolled before anything is drawn over. */
#include "cli/engine_preview.h"

#include "core/env.h"
#include "engine/png.h"
#include "plot/terminal.h"

#include <strata/pipeline.h>

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINES_MAX = 32, GRAPHIC_LINES_MAX = 16, KITTY_ID = 0x57a7a };
#define REDRAW_NS 125000000

static bool has_word(const char *variable, const char *word)
{
	const char *value = getenv(variable);

	return value && strstr(value, word);
}

void engine_preview_start(struct engine_preview *preview, struct cli *cli, int mode, double total)
{
	struct winsize size = { 0 };

	if (mode == ENGINE_PREVIEW_AUTO)
		mode = cli->talk_color && isatty(STDERR_FILENO) ? ENGINE_PREVIEW_BLOCKS
								: ENGINE_PREVIEW_NONE;
	*preview = (struct engine_preview){ .cli = cli, .mode = mode };
	cli_progress_start(&preview->progress, cli, "drawing", total);
	(void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
	preview->columns = size.ws_col ? size.ws_col : 80;
	preview->rows = size.ws_row ? size.ws_row : 24;
	preview->cell_width = size.ws_xpixel ? size.ws_xpixel / preview->columns : 8;
	preview->cell_height = size.ws_ypixel ? size.ws_ypixel / preview->rows : 16;
	preview->true_color = has_word("COLORTERM", "truecolor") ||
			      has_word("COLORTERM", "24bit") || has_word("TERM", "direct");
}

bool engine_preview_due(const struct engine_preview *preview)
{
	return preview->mode != ENGINE_PREVIEW_NONE &&
	       (preview->box_lines == 0 ||
		env_now_ns(env_system(), ENV_MONOTONIC) - preview->shown_ns >= REDRAW_NS);
}

static uint32_t at_least_one(uint64_t value)
{
	return value ? (uint32_t)value : 1;
}

/* Half blocks take a character for each pixel where there is room; pixels are as large as fits into some lines. The first picture decides. */
static void choose_box(struct engine_preview *it, const struct strata_picture *picture)
{
	bool blocks = it->mode == ENGINE_PREVIEW_BLOCKS;
	uint64_t width = picture->width, height = picture->height;
	uint64_t lines_max = blocks ? LINES_MAX : GRAPHIC_LINES_MAX;
	uint64_t room = it->rows > 3 ? it->rows - 2 : 1; /* a bar and a prompt stay in sight */
	uint64_t across = blocks ? 1 : it->cell_width, down = blocks ? 2 : it->cell_height;
	uint64_t lines = blocks ? (height + 1) / 2 : lines_max;
	uint64_t columns;

	lines = lines < lines_max ? lines : lines_max;
	lines = lines < room ? lines : room;
	columns = (lines * down * width + across * height - 1) / (across * height);
	if (columns >= it->columns) {
		columns = it->columns - 1;
		lines = (columns * across * height + down * width - 1) / (down * width);
	}
	it->box_columns = at_least_one(columns);
	it->box_lines = at_least_one(lines);
}

/* The picture as it is where `times` it fits into the box, else made smaller. */
static int fit(const struct engine_preview *it, const struct strata_picture *picture,
	       struct strata_arena *arena, uint32_t *ret_times,
	       struct terminal_picture *ret_picture)
{
	bool blocks = it->mode == ENGINE_PREVIEW_BLOCKS;
	uint32_t width = it->box_columns * (blocks ? 1 : it->cell_width);
	uint32_t height = it->box_lines * (blocks ? 2 : it->cell_height);
	uint32_t times = width / picture->width < height / picture->height
				 ? width / picture->width
				 : height / picture->height;
	const struct engine_picture whole = { picture->width, picture->height, picture->rgb, NULL };
	struct engine_picture small;
	int rc = 0;

	*ret_times = times && !blocks ? times : 1;
	*ret_picture = (struct terminal_picture){ picture->width, picture->height, picture->rgb };
	if (times == 0) {
		uint64_t by_height = (uint64_t)height * picture->width / picture->height;

		if (by_height < width)
			width = at_least_one(by_height);
		else
			height = at_least_one((uint64_t)width * picture->height / picture->width);
		rc = engine_picture_resize(&whole, width, height, arena, &small, &it->cli->err);
		if (rc == 0)
			*ret_picture = (struct terminal_picture){ width, height, small.rgb };
	}
	return rc;
}

static int add_picture(struct engine_preview *it, const struct strata_picture *picture,
		       struct strata_arena *arena, struct buf *buf)
{
	struct terminal_picture shown;
	uint32_t times;
	int rc = fit(it, picture, arena, &times, &shown);

	if (rc)
		return rc;
	if (it->mode == ENGINE_PREVIEW_SIXEL)
		return terminal_sixel(buf, &shown, times, arena, &it->cli->err);
	if (it->mode == ENGINE_PREVIEW_KITTY)
		terminal_kitty(buf, &shown, it->box_columns, it->box_lines, KITTY_ID);
	else
		terminal_blocks(buf, &shown, it->true_color);
	return 0;
}

static int draw(struct engine_preview *it, const struct strata_picture *picture,
		struct strata_arena *arena, struct buf *buf)
{
	if (!it->box_lines) {
		choose_box(it, picture);
		buf_add_repeat(buf, '\n', it->box_lines);
	}
	/* Up, draw, and back to the line of the bar. */
	buf_printf(buf, "\r\033[%uA\0337", it->box_lines);
	int rc = add_picture(it, picture, arena, buf);

	buf_printf(buf, "\0338\033[%uB", it->box_lines);
	return rc ? rc : buf_check(buf, &it->cli->err);
}

int engine_preview_show(struct engine_preview *preview, const struct strata_picture *picture,
			struct strata_arena *arena)
{
	struct buf buf;

	if (preview->mode == ENGINE_PREVIEW_NONE)
		return 0;
	buf_init(&buf, &preview->cli->memory, 0);
	int rc = draw(preview, picture, arena, &buf);

	if (rc == 0) {
		fwrite(buf.text, 1, buf.length, stderr);
		fflush(stderr);
		preview->shown_ns = env_now_ns(env_system(), ENV_MONOTONIC);
	}
	buf_fini(&buf);
	return rc;
}

void engine_preview_bar(struct engine_preview *preview, double done)
{
	cli_progress_show(&preview->progress, done);
}

void engine_preview_end(struct engine_preview *preview)
{
	cli_progress_end(&preview->progress);
}
