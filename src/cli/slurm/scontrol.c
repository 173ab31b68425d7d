/* scontrol: showing what there is in full; what changes something is in scontrol_change.c. To add a verb, add a row to the table. */
#include "cli/slurm/scontrol.h"

#include "cli/service.h"
#include "cli/slurm/scontrol_change.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NAME "scontrol"

static int ping(struct scontrol *scontrol, int count, char **words)
{
	struct cli *cli = scontrol->cli;
	char host[256] = "localhost";
	json_t *json = NULL;
	bool up;

	(void)count, (void)words;
	gethostname(host, sizeof(host) - 1);
	up = service_list(cli, "partitions", &json) == 0;
	json_decref(json);
	cli_printf(cli, "Slurmctld(primary) at %s is %s\n", host, up ? "UP" : "DOWN");
	return up ? 0 : 1;
}

static int version(struct scontrol *scontrol, int count, char **words)
{
	(void)count, (void)words;
	return slurm_version(scontrol->cli);
}

/* Sorted. */
static const struct scontrol_verb verbs[] = {
	{ "ping", ping },
	{ "show", scontrol_show },
	{ "version", version },
};

enum { JSON = 256, NOTHING, HELP, USAGE };

static const struct option options[] = {
	{ "all", no_argument, NULL, NOTHING },
	{ "cluster", required_argument, NULL, NOTHING },
	{ "clusters", required_argument, NULL, NOTHING },
	{ "details", no_argument, NULL, 'd' },
	{ "federation", no_argument, NULL, NOTHING },
	{ "future", no_argument, NULL, NOTHING },
	{ "help", no_argument, NULL, HELP },
	{ "hide", no_argument, NULL, NOTHING },
	{ "json", no_argument, NULL, JSON },
	{ "local", no_argument, NULL, NOTHING },
	{ "oneliner", no_argument, NULL, 'o' },
	{ "quiet", no_argument, NULL, 'Q' },
	{ "sibling", no_argument, NULL, NOTHING },
	{ "uid", required_argument, NULL, NOTHING },
	{ "usage", no_argument, NULL, USAGE },
	{ "verbose", no_argument, NULL, NOTHING },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static void print_help(struct cli *cli)
{
	slurm_help(cli, &slurm_scontrol, options, NOTHING);
	cli_print(cli, "Its verbs:\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		cli_printf(cli, "  %s\n", verbs[i].name);
	cli_print(cli, "  hold, release, requeue, requeuehold, resume, suspend, uhold, update\n");
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct scontrol scontrol = { .cli = cli };
	int letter;

	/* "+": the first word that is no option is the verb, and what follows is its own */
	while ((letter = slurm_option(argc, argv, "+adhM:oQu:vVF", options)) >= 0) {
		switch (letter) {
		case 'd':
			scontrol.details = true;
			break;
		case 'o':
			scontrol.oneline = true;
			break;
		case 'Q':
			scontrol.quiet = true;
			break;
		case JSON:
			scontrol.json = true;
			break;
		case 'V':
			return slurm_version(cli);
		case 'h':
		case HELP:
		case USAGE:
			print_help(cli);
			return 0;
		case '?':
			return 1;
		}
	}
	if (optind >= argc) {
		print_help(cli);
		return 1;
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcasecmp(verbs[i].name, argv[optind]) == 0)
			return verbs[i].run(&scontrol, argc - optind, argv + optind);
	if (scontrol_changes(argv[optind]))
		return scontrol_change(cli, argv[optind], argv + optind + 1,
				       (size_t)(argc - optind - 1));
	slurm_say(cli, "invalid keyword: %s", argv[optind]);
	return 1;
}

const struct slurm_command slurm_scontrol = { NAME, "show jobs, nodes and partitions in full",
					      run };
