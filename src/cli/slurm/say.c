/* What Slurm's commands say, and how often. What was printed before goes out first, so that both are in order on a terminal. */
#include "cli/slurm/slurm.h"

#include "cli/service.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

int slurm_option(int argc, char **argv, const char *letters, const struct option *options)
{
	int letter = getopt_long(argc, argv, letters, options, NULL);

	if (letter == '?')
		fprintf(stderr, "Try \"%s --help\" for more information\n", argv[0]);
	return letter;
}

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

int slurm_repeat(struct cli *cli, long every_s, int (*print)(struct cli *cli, const void *context),
		 const void *context)
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
