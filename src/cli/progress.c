/*
 * A progress bar on stderr, drawn at most ten times a second and only where stderr is a terminal
 * that wants it; or lines for a program that asked for them (study.h).
 */
#include "cli/study.h"

#include "core/env.h"

#include <unistd.h>

enum { BAR_CELLS = 30 };
#define REDRAW_NS 100000000

static int told_fd = -1; /* who is told in lines; -1: nobody */

void cli_progress_to(int fd)
{
	told_fd = fd;
}

void cli_progress_start(struct cli_progress *progress, struct cli *cli, const char *what,
			double total)
{
	*progress = (struct cli_progress){ .cli = cli, .what = what, .total = total };
}

void cli_progress_show(struct cli_progress *progress, double done)
{
	if (progress->total <= 0 ||
	    (told_fd < 0 && (!progress->cli->talk_color || !isatty(STDERR_FILENO))))
		return;
	int64_t now_ns = env_now_ns(env_system(), ENV_MONOTONIC);

	if (progress->drawn && now_ns - progress->shown_ns < REDRAW_NS)
		return;
	double part = done < progress->total ? done / progress->total : 1;
	int full = (int)(part * BAR_CELLS);

	if (told_fd >= 0) {
		dprintf(told_fd, "progress %.3f %s\n", part, progress->what);
		progress->shown_ns = now_ns;
		progress->drawn = true;
		return;
	}

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
	if (progress->drawn && told_fd < 0)
		fprintf(stderr, "\r\033[K");
	progress->drawn = false;
}
