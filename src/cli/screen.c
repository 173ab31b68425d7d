/* A screen that is drawn again and again, as top does. Where stdout is no terminal, each drawing is printed below the last. */
#include "cli/service.h"

#include <unistd.h>

/* Draws with memory of its own, so that a screen may stand for weeks. */
static int draw(struct cli *cli, const struct screen *screen)
{
	struct strata_arena kept = cli->arena;

	strata_arena_init(&cli->arena, &cli->memory, 0);
	int rc = screen->draw(cli, screen->context);

	strata_arena_fini(&cli->arena);
	cli->arena = kept;
	return rc;
}

int screen_run(struct cli *cli, const struct screen *screen)
{
	bool terminal = isatty(STDOUT_FILENO) && cli->color;
	bool seen = false, away = false;

	for (int64_t drawn = 0; screen->times == 0 || drawn < screen->times; drawn++) {
		if (drawn)
			follow_sleep(screen->interval_ns);
		cli_output_init(cli); /* it may have another size by now */
		if (terminal)
			cli_print(cli, "\033[H\033[J");
		int rc = draw(cli, screen);

		if (rc && !(seen && service_away(rc)))
			return rc;
		if (rc && !away)
			cli_note(cli, "%s; waiting for it", cli->err.text);
		away = rc != 0;
		if (rc)
			buf_reset(&cli->out); /* what was drawn before stays */
		else
			seen = true;
		cli_flush(cli);
	}
	return 0;
}
