/* What Slurm's commands say, and how often. What was printed before goes out first, so that both
 * are in order on a terminal. */
#include "cli/slurm/command.h"

#include "cli/service.h"
#include "cli/slurm/jobs.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

void slurm_error(struct cli *cli, const char *command, const char *format, ...)
{
	va_list list;

	cli_flush(cli);
	fprintf(stderr, "%s: error: ", command);
	va_start(list, format);
	cli_talk(format, list);
	va_end(list);
}

void slurm_say(struct cli *cli, const char *format, ...)
{
	va_list list;

	cli_flush(cli);
	va_start(list, format);
	cli_talk(format, list);
	va_end(list);
}

int slurm_unreachable(struct cli *cli, const char *call)
{
	slurm_say(cli, "%s error: Unable to contact slurm controller (connect failure)", call);
	slurm_say(cli, "strata: %s", cli->err.text);
	return 1;
}

void slurm_print_date(struct cli *cli)
{
	time_t now = time(NULL);
	struct tm parts;
	char text[64];

	if (localtime_r(&now, &parts) &&
	    strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", &parts))
		cli_printf(cli, "%s\n", text);
}

void slurm_date(struct buf *buf, int64_t ns, const char *otherwise)
{
	time_t seconds = (time_t)(ns / STRATA_SECOND_NS);
	struct tm parts;
	char text[32];

	if (!ns || !localtime_r(&seconds, &parts) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts))
		buf_add(buf, otherwise);
	else
		buf_add(buf, text);
}

int slurm_repeat(struct cli *cli, int64_t every_s,
		 int (*print)(struct cli *cli, const void *context), const void *context)
{
	struct client *client;
	int code = 0;

	if (!every_s)
		return print(cli, context);
	service_open(cli, &client); /* what it keeps outlives the rounds */
	while (code == 0) {
		struct strata_arena kept = cli->arena;

		/* what a round needs is given back with it */
		strata_arena_init(&cli->arena, &cli->memory, 0);
		code = print(cli, context);
		strata_arena_fini(&cli->arena);
		cli->arena = kept;
		cli_print(cli, "\n");
		cli_flush(cli);
		if (code == 0)
			sleep((unsigned)every_s);
	}
	return code;
}

int slurm_version(struct cli *cli)
{
	cli_print(cli, "slurm-wlm 22.05.8\n");
	return 0;
}
