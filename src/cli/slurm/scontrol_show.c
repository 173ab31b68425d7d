/* scontrol show: what kind of thing, and the small ones themselves. */
#include "cli/slurm/scontrol.h"

#include "cli/service.h"

#include <strata/slurm.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *scontrol_gap(const struct scontrol *scontrol)
{
	return scontrol->oneline ? " " : "\n   ";
}

static int show_hostnames(struct scontrol *scontrol, const char *text)
{
	struct cli *cli = scontrol->cli;
	const char **names;
	size_t count;

	if (!text)
		text = getenv("SLURM_JOB_NODELIST");
	if (!text) {
		slurm_say(cli, "need to supply SLURM_JOB_NODELIST");
		return 1;
	}
	if (strata_hostlist_expand(text, STRATA_TEXT_NUL, &cli->arena, &names, &count, &cli->err)) {
		slurm_say(cli, "Invalid hostlist: %s", text);
		return 1;
	}
	for (size_t i = 0; i < count; i++)
		cli_printf(cli, "%s\n", names[i]);
	return 0;
}

/* Names in their order, or each once in ascending order. */
static int print_hostlist(struct scontrol *scontrol, const char *text, bool sorted)
{
	struct cli *cli = scontrol->cli;
	const char **names, *list;
	size_t count, kept = 0;

	if (!text ||
	    strata_hostlist_expand(text, STRATA_TEXT_NUL, &cli->arena, &names, &count, &cli->err)) {
		slurm_say(cli, "Invalid hostlist: %s", text ? text : "");
		return 1;
	}
	for (size_t i = 0; sorted && i < count; i++)
		for (size_t j = i; j > 0 && strcmp(names[j - 1], names[j]) > 0; j--) {
			const char *other = names[j];

			names[j] = names[j - 1];
			names[j - 1] = other;
		}
	for (size_t i = 0; i < count; i++)
		if (!sorted || !kept || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	list = slurm_hosts(cli, names, kept);
	cli_printf(cli, "%s\n", list ? list : "");
	return 0;
}

static int show_hostlist(struct scontrol *scontrol, const char *text)
{
	return print_hostlist(scontrol, text, false);
}

static int show_hostlist_sorted(struct scontrol *scontrol, const char *text)
{
	return print_hostlist(scontrol, text, true);
}

/* What scripts look for, as far as it means something here. */
static int show_config(struct scontrol *scontrol, const char *text)
{
	static const char *const rows[][2] = {
		{ "AccountingStorageType", "accounting_storage/strata" },
		{ "AuthType", "auth/strata" },
		{ "BatchStartTimeout", "10 sec" },
		{ "ClusterName", "strata" },
		{ "InactiveLimit", "0 sec" },
		{ "JobRequeue", "1" },
		{ "KillWait", "30 sec" },
		{ "MaxArraySize", "100001" },
		{ "MaxJobCount", "200000" },
		{ "MessageTimeout", "10 sec" },
		{ "MinJobAge", "300 sec" },
		{ "PreemptMode", "REQUEUE" },
		{ "PriorityDecayHalfLife", "7-00:00:00" },
		{ "PriorityType", "priority/multifactor" },
		{ "SchedulerParameters", "(null)" },
		{ "SchedulerType", "sched/backfill" },
		{ "SelectType", "select/cons_tres" },
		{ "SLURM_VERSION", "22.05.8" },
	};
	struct cli *cli = scontrol->cli;
	struct buf date;

	(void)text;
	buf_init(&date, &cli->memory, 0);
	slurm_date(&date, when_now_ns(), "");
	cli_printf(cli, "Configuration data as of %s\n", date.text);
	buf_fini(&date);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cli_printf(cli, "%-23s = %s\n", rows[i][0], rows[i][1]);
	return 0;
}

/* What there is none of, in the words in which Slurm says so. */
static int show_licenses(struct scontrol *scontrol, const char *name)
{
	(void)name;
	cli_print(scontrol->cli, "No licenses configured in Slurm.\n");
	return 0;
}

static int show_topology(struct scontrol *scontrol, const char *name)
{
	(void)name;
	slurm_error(scontrol->cli, "scontrol", "No topology information available");
	return 0;
}

static int show_nothing(struct scontrol *scontrol, const char *name)
{
	(void)scontrol, (void)name;
	return 0;
}

static int show_daemons(struct scontrol *scontrol, const char *name)
{
	(void)name;
	cli_print(scontrol->cli, "slurmctld slurmd\n");
	return 0;
}

static const struct {
	const char *name;
	int (*show)(struct scontrol *scontrol, const char *name);
} kinds[] = {
	{ "aliases", show_nothing },
	{ "burstbuffer", show_nothing },
	{ "config", show_config },
	{ "daemons", show_daemons },
	{ "federation", show_nothing },
	{ "hostlist", show_hostlist },
	{ "hostlistsorted", show_hostlist_sorted },
	{ "hostnames", show_hostnames },
	{ "hosts", show_hostnames },
	{ "job", scontrol_show_jobs },
	{ "jobs", scontrol_show_jobs },
	{ "license", show_licenses },
	{ "licenses", show_licenses },
	{ "node", scontrol_show_nodes },
	{ "nodes", scontrol_show_nodes },
	{ "partition", scontrol_show_partitions },
	{ "partitions", scontrol_show_partitions },
	{ "reservation", scontrol_show_reservations },
	{ "reservations", scontrol_show_reservations },
	{ "step", scontrol_show_steps },
	{ "steps", scontrol_show_steps },
	{ "topology", show_topology },
};

/* As in Slurm a word may be cut short ("show res", "show conf"), while only one thing begins so. */
static int find_kind(const char *word, size_t length)
{
	int found = -1;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!length || strncasecmp(kinds[i].name, word, length) != 0)
			continue;
		if (!kinds[i].name[length])
			return (int)i;
		if (found >= 0 && kinds[found].show != kinds[i].show)
			return -1;
		found = (int)i;
	}
	return found;
}

/* "show job 7", "show job=7" */
int scontrol_show(struct scontrol *scontrol, int count, char **words)
{
	if (count < 2) {
		slurm_say(scontrol->cli, "too few arguments for keyword:%s", words[0]);
		return 1;
	}
	size_t length = strcspn(words[1], "=");
	const char *name = words[1][length] ? words[1] + length + 1 : count > 2 ? words[2] : NULL;

	int kind = find_kind(words[1], length);

	if (kind >= 0)
		return kinds[kind].show(scontrol, name);
	slurm_say(scontrol->cli, "invalid entity:%s for keyword:%s ", words[1], words[0]);
	return 1;
}
