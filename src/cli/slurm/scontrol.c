/* scontrol: showing what there is in full; what changes something is in scontrol_change.c. To add a
 * verb, add a row to the table. */
#include "cli/slurm/scontrol.h"

#include "cli/service.h"
#include "cli/slurm/scontrol_change.h"
#include "cli/slurm/scontrol_do.h"

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

enum { SHORTEST = 3 };

/* Sorted; no two have the same first letters. */
static const struct scontrol_verb verbs[] = {
	{ "completing", scontrol_completing },
	{ "create", scontrol_create },
	{ "delete", scontrol_delete },
	{ "errnumstr", scontrol_errnumstr },
	{ "ping", ping },
	{ "reboot", scontrol_refuse },
	{ "reconfigure", scontrol_reconfigure },
	{ "setdebug", scontrol_refuse },
	{ "show", scontrol_show },
	{ "shutdown", scontrol_refuse },
	{ "takeover", scontrol_refuse },
	{ "token", scontrol_refuse },
	{ "top", scontrol_top },
	{ "version", version },
	{ "wait_job", scontrol_wait_job },
	{ "write", scontrol_write },
};

#define FIELD(name) offsetof(struct scontrol, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	SLURM_ROW_HOLDS("all", 'a', "hidden partitions too"),
	{ { "cluster", 0, VALUE, .help = "of this cluster" }, slurm_read_text, FIELD(clusters) },
	{ { "clusters", 'M', VALUE, .help = "of this cluster" }, slurm_read_text, FIELD(clusters) },
	{ { "details", 'd', .help = "what jobs have on each node" }, slurm_read_flag, FIELD(details) },
	SLURM_ROW_HOLDS("federation", 0, "of the federation"),
	SLURM_ROW_HOLDS("future", 'F', "nodes that are to come"),
	SLURM_ROW_HELP('h'),
	SLURM_ROW_HOLDS("hide", 0, "no hidden partitions"),
	{ { "json", 0, .help = "as JSON" }, slurm_read_flag, FIELD(json) },
	SLURM_ROW_HOLDS("local", 0, "of this cluster only"),
	{ { "oneliner", 'o', .help = "a line for each" }, slurm_read_flag, FIELD(oneline) },
	{ { "quiet", 'Q', .help = "say less" }, slurm_read_flag, FIELD(quiet) },
	SLURM_ROW_HOLDS("sibling", 0, "of the federation's other clusters"),
	SLURM_ROW_IGNORED("uid", 'u', VALUE, "in the name of this user"),
	SLURM_ROW_USAGE(0),
	SLURM_ROW_IGNORED("verbose", 'v', STRATA_SLURM_NONE, "say more"),
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows, .stops = true };

static void print_verbs(struct cli *cli)
{
	const char *name;

	cli_print(cli, "Its verbs:");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		cli_printf(cli, "%s %s", i ? "," : "", verbs[i].name);
	for (size_t i = 0; (name = scontrol_change_at(i)); i++)
		cli_printf(cli, ", %s", name);
	cli_print(cli, "\n");
}

/* In full, or as in Slurm its first three letters or more: "sho", "vers". */
static const struct scontrol_verb *find_verb(const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (length >= SHORTEST && strncasecmp(verbs[i].name, word, length) == 0)
			return &verbs[i];
	return NULL;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct scontrol scontrol = { .cli = cli };
	struct slurm_reading reading;
	int code = slurm_options(cli, &slurm_scontrol, argc, argv, &scontrol, &reading);

	if (code >= 0)
		return code;
	int count = (int)reading.operand_count;
	char **words = argv + argc - count;

	if (count == 0) {
		slurm_help(cli, &slurm_scontrol);
		return 1;
	}
	if (!slurm_cluster_known(cli, NAME, scontrol.clusters))
		return 1;
	const struct scontrol_verb *verb = find_verb(words[0]);

	if (verb)
		return verb->run(&scontrol, count, words);
	if (scontrol_changes(words[0]))
		return scontrol_change(cli, words[0], words + 1, (size_t)count - 1);
	slurm_say(cli, "invalid keyword: %s", words[0]);
	return 1;
}

const struct slurm_command slurm_scontrol = {
	.name = NAME,
	.summary = "show jobs, nodes and partitions in full",
	.operands = "VERB [WORD…]",
	.syntax = &syntax,
	.help = print_verbs,
	.run = run,
};
