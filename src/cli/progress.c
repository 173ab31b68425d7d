/*
 * A progress bar on stderr, drawn at most ten times a second and only where stderr is a terminal
 * that wants it.
 */
#include "cli/cli.h"

#include "core/env.h"

#include <unistd.h>

enum { BAR_CELLS = 30 };
#define REDRAW_NS 100000000

void cli_progress_start(struct cli_progress *progress, struct cli *cli, const char *what,
			double total)
{
	*progress = (struct cli_progress){ .cli = cli, .what = what, .total = total };
}

void cli_progress_show(struct cli_progress *progress, double done)
{
	if (!progress->cli->talk_color || !isatty(STDERR_FILENO) || progress->total <= 0)
		return;
	int64_t now_ns = env_now_ns(env_system(), ENV_MONOTONIC);

	if (progress->drawn && now_ns - progress->shown_ns < REDRAW_NS)
		return;
	double part = done < progress->total ? done / progress->total : 1;
	int full = (int)(part * BAR_CELLS);

	fprintf(stderr, "\r%s [", progress->what);
	for (int i = 0; i < BAR_CELLS; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %3.0f %%", part * 100);
	fflush(stderr);
	progress->drawn = true;
	progress->shown_ns = now_ns;
}

void cli_progress_end(struct cli_progress *progress)
{
	if (progress->drawn)
		fprintf(stderr, "\r\033[K");
	progress->drawn = false;
}
