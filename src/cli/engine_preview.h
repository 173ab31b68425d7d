/*
 * A picture in the terminal while it is drawn: lines are kept for it above the progress bar, and it is drawn over itself. What stays in the end is the
 * finished picture. In the full program only.
 */
#ifndef CLI_ENGINE_PREVIEW_H
#define CLI_ENGINE_PREVIEW_H

#include "cli/cli.h"
#include "cli/engine_options.h"

struct strata_picture;

struct engine_preview {
	struct cli *cli;
	struct cli_progress progress;
	int mode; /* enum engine_preview_mode, not AUTO */
	bool true_color;
	uint32_t columns, rows;           /* of the terminal */
	uint32_t cell_width, cell_height; /* of a character, in pixels */
	uint32_t box_columns, box_lines;  /* what the picture fills; 0: none was drawn */
	int64_t shown_ns;                 /* when it was last drawn */
};

/* `mode` is the option's value; AUTO becomes half blocks in a terminal with colours, else nothing. */
void engine_preview_start(struct engine_preview *preview, struct cli *cli, int mode, double total);
/* Whether it is time for the next: not more than eight a second. */
bool engine_preview_due(const struct engine_preview *preview);
/* Draws a picture in place of the last. The arena is for scratch. */
int engine_preview_show(struct engine_preview *preview, const struct strata_picture *picture,
			struct strata_arena *arena);
/* The bar below. */
void engine_preview_bar(struct engine_preview *preview, double done);
/* No more of it: the bar goes, the picture stays. */
void engine_preview_end(struct engine_preview *preview);

#endif
