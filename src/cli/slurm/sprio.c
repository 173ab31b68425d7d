/*
 * sprio: what makes the priority of waiting jobs. Slurm adds up weighted factors; here the order is decided by bands and shares of use, so
 * that FAIRSHARE is 10000 times the user's factor and SITE what band and nice make of it. Age and size do not count.
 */
#include "cli/slurm/format.h"
#include "cli/slurm/jobs.h"

#include "cli/service.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME "sprio"
#define FORMAT "%.15i %9r %.10Y %.10S %.10A %.10F %.10J"
#define FORMAT_LONG "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T"

struct line {
	const struct slurm_job *job;
	int64_t share;
};

#define NUMBER_FIELD(name, value)                              \
	static void name(struct buf *buf, const void *row)     \
	{                                                      \
		const struct line *line = row;                 \
		buf_printf(buf, "%" PRId64, (int64_t)(value)); \
	}

NUMBER_FIELD(id, line->job->id)
NUMBER_FIELD(priority, line->job->priority)
NUMBER_FIELD(site, line->job->priority - line->share)
NUMBER_FIELD(share, line->share)
NUMBER_FIELD(nice, grid_int(line->job->json, "nice"))

static void zero(struct buf *buf, const void *row)
{
	(void)row;
	buf_add_char(buf, '0');
}

static void nothing(struct buf *buf, const void *row)
{
	(void)buf, (void)row;
}

static void partition(struct buf *buf, const void *row)
{
	buf_add(buf, ((const struct line *)row)->job->partition);
}

static void user(struct buf *buf, const void *row)
{
	buf_add(buf, ((const struct line *)row)->job->user);
}

static void account(struct buf *buf, const void *row)
{
	buf_add(buf, ((const struct line *)row)->job->account);
}

static void part(struct buf *buf, const void *row)
{
	buf_printf(buf, "%.14f", (double)((const struct line *)row)->job->priority / 4294967295.0);
}

static void share_part(struct buf *buf, const void *row)
{
	buf_printf(buf, "%.7f", (double)((const struct line *)row)->share / 10000);
}

/* clang-format off */
static const struct slurm_field fields[] = {
	{ 'a', NULL, "AGE", zero, false },
	{ 'A', NULL, "AGE", zero, false },
	{ 'B', NULL, "ASSOC", zero, false },
	{ 'f', NULL, "FAIRSHARE", share_part, false },
	{ 'F', NULL, "FAIRSHARE", share, false },
	{ 'i', NULL, "JOBID", id, false },
	{ 'j', NULL, "JOBSIZE", zero, false },
	{ 'J', NULL, "JOBSIZE", zero, false },
	{ 'N', NULL, "NICE", nice, false },
	{ 'o', NULL, "ACCOUNT", account, false },
	{ 'P', NULL, "PARTITION", zero, false },
	{ 'Q', NULL, "QOS", zero, false },
	{ 'r', NULL, "PARTITION", partition, false },
	{ 'S', NULL, "SITE", site, false },
	{ 'T', NULL, "TRES", nothing, false },
	{ 'u', NULL, "USER", user, false },
	{ 'y', NULL, "PRIORITY", part, false },
	{ 'Y', NULL, "PRIORITY", priority, false },
	{ 0, NULL, NULL, NULL, false },
};
/* clang-format on */

struct sprio {
	const char *jobs, *users, *partitions, *format;
	bool head, detailed, weights;
};

enum { NOTHING = 256, HELP, USAGE };

static const struct option options[] = {
	{ "clusters", required_argument, NULL, NOTHING },
	{ "federation", no_argument, NULL, NOTHING },
	{ "format", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, HELP },
	{ "jobs", required_argument, NULL, 'j' },
	{ "local", no_argument, NULL, NOTHING },
	{ "long", no_argument, NULL, 'l' },
	{ "noheader", no_argument, NULL, 'h' },
	{ "norm", no_argument, NULL, 'n' },
	{ "partition", required_argument, NULL, 'p' },
	{ "sibling", no_argument, NULL, NOTHING },
	{ "sort", required_argument, NULL, NOTHING },
	{ "usage", no_argument, NULL, USAGE },
	{ "user", required_argument, NULL, 'u' },
	{ "verbose", no_argument, NULL, NOTHING },
	{ "version", no_argument, NULL, 'V' },
	{ "weights", no_argument, NULL, 'w' },
	{ 0 },
};

static int take_option(struct cli *cli, struct sprio *sprio, int letter)
{
	switch (letter) {
	case 'h':
		sprio->head = false;
		break;
	case 'j':
		sprio->jobs = optarg;
		break;
	case 'l':
		sprio->detailed = true;
		break;
	case 'n':
		sprio->format = "%.15i %9r %.16y %.10f";
		break;
	case 'o':
		sprio->format = optarg;
		break;
	case 'p':
		sprio->partitions = optarg;
		break;
	case 'u':
		sprio->users = optarg;
		break;
	case 'w':
		sprio->weights = true;
		break;
	case 'V':
		return slurm_version(cli);
	case HELP:
	case USAGE:
		slurm_help(cli, &slurm_sprio, options, NOTHING);
		return 0;
	case '?':
		return 1;
	}
	return -1;
}

/* Those whose turn could come: not held, not to begin later, not waiting for others. */
static bool wanted(const struct sprio *sprio, const struct slurm_job *job)
{
	char id[24];

	snprintf(id, sizeof(id), "%" PRId64, job->id);
	return job->pending && job->priority > 0 && strcmp(job->reason, "BeginTime") != 0 &&
	       strncmp(job->reason, "Dependency", 10) != 0 &&
	       (!sprio->jobs || slurm_listed(sprio->jobs, id)) &&
	       (!sprio->users || slurm_listed(sprio->users, job->user)) &&
	       (!sprio->partitions || slurm_listed(sprio->partitions, job->partition));
}

static int compare(const void *left_any, const void *right_any)
{
	const struct slurm_job *left = left_any, *right = right_any;

	return (left->id > right->id) - (left->id < right->id);
}

static int64_t share_of(const struct slurm_jobs *jobs, const char *name)
{
	const json_t *row;
	size_t index;

	json_array_foreach(jobs->users, index, row)
	{
		if (strcmp(grid_or(json_object_get(row, "name"), ""), name) == 0)
			return (int64_t)(10000 * json_number_value(json_object_get(row, "factor")));
	}
	return 10000;
}

static int print(struct cli *cli, const struct sprio *sprio)
{
	const char *text = sprio->format ? sprio->format : sprio->detailed ? FORMAT_LONG : FORMAT;
	struct slurm_format format;
	struct slurm_jobs jobs;
	size_t shown = 0;

	if (slurm_jobs_load(cli, false, &jobs))
		return slurm_unreachable(cli, "slurm_load_jobs");
	int rc = slurm_jobs_fold(cli, &jobs);

	if (rc == 0)
		rc = slurm_format_read(cli, NAME, "job format specification", fields, text,
				       &format);
	if (rc == 0) {
		qsort(jobs.list, jobs.count, sizeof(*jobs.list), compare);
		if (sprio->head)
			slurm_format_head(cli, &format);
	}
	for (size_t i = 0; rc == 0 && i < jobs.count; i++) {
		struct line line = { &jobs.list[i], share_of(&jobs, jobs.list[i].user) };

		if (!wanted(sprio, line.job))
			continue;
		slurm_format_row(cli, &format, &line);
		shown++;
	}
	slurm_jobs_fini(&jobs);
	if (rc == 0 && !shown && (sprio->jobs || sprio->users))
		cli_print(cli, "Unable to find jobs matching user/id(s) specified\n");
	return rc ? 1 : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sprio sprio = { .head = true, .format = getenv("SPRIO_FORMAT") };
	int letter, code;

	while ((letter = slurm_option(argc, argv, "hj:lM:no:p:S:u:vVw", options)) >= 0) {
		code = take_option(cli, &sprio, letter);
		if (code >= 0)
			return code;
	}
	if (!sprio.weights)
		return print(cli, &sprio);
	cli_print(cli, "          JOBID PARTITION   PRIORITY       SITE  FAIRSHARE\n"
		       "        Weights                               1      10000\n");
	return 0;
}

const struct slurm_command slurm_sprio = { NAME, "show what makes jobs' priorities", run };
