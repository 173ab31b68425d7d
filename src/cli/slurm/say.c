/* What Slurm's commands say on stderr. What was printed before goes out first, so that both are in order on a terminal. */
#include "cli/slurm/slurm.h"

#include <stdarg.h>

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
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
}

void slurm_say(struct cli *cli, const char *format, ...)
{
	va_list list;

	cli_flush(cli);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
}

int slurm_unreachable(struct cli *cli, const char *call)
{
	slurm_say(cli, "%s error: Unable to contact slurm controller (connect failure)", call);
	slurm_say(cli, "strata: %s", cli->err.text);
	return 1;
}

int slurm_version(struct cli *cli)
{
	cli_print(cli, "slurm-wlm 22.05.8\n");
	return 0;
}
