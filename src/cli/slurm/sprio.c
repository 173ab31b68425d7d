/*
 * sprio: what makes the priority of waiting jobs. Slurm adds up weighted factors; here the order is
 * decided by bands and shares of use, so that FAIRSHARE is 10000 times the user's factor and SITE
 * what band and nice make of it. Age and size do not count.
 */
#include "cli/slurm/columns.h"
#include "cli/slurm/jobs.h"

#include "cli/service.h"
#include "slurm/output_field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME "sprio"
#define FORMAT "%.15i %9r %.10Y %.10S %.10A %.10F %.10J"
#define FORMAT_NORM "%.15i %9r %.16y %.10f"
#define FORMAT_LONG "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T"

struct line {
	const struct slurm_job *job;
	int64_t share;
};

#define FIELD_ROW const struct line *line = row

NUMBER_FIELD(id, line->job->id)
NUMBER_FIELD(priority, line->job->priority)
NUMBER_FIELD(site, line->job->priority - line->share)
NUMBER_FIELD(share, line->share)
NUMBER_FIELD(nice, grid_int(line->job->json, "nice"))
TEXT_FIELD(partition, line->job->partition)
TEXT_FIELD(user, line->job->user)
TEXT_FIELD(account, line->job->account)
CONSTANT_FIELD(zero, "0")
CONSTANT_FIELD(nothing, "")

static void part(struct buf *buf, const void *row)
{
	FIELD_ROW;

	buf_printf(buf, "%.14f", (double)line->job->priority / 4294967295.0);
}

static void share_part(struct buf *buf, const void *row)
{
	FIELD_ROW;

	buf_printf(buf, "%.7f", (double)line->share / 10000);
}

/* clang-format off */
static const struct slurm_field fields[] = {
	{ 'a', NULL, "AGE", zero },
	{ 'A', NULL, "AGE", zero },
	{ 'B', NULL, "ASSOC", zero },
	{ 'f', NULL, "FAIRSHARE", share_part },
	{ 'F', NULL, "FAIRSHARE", share },
	{ 'i', NULL, "JOBID", id },
	{ 'j', NULL, "JOBSIZE", zero },
	{ 'J', NULL, "JOBSIZE", zero },
	{ 'N', NULL, "NICE", nice },
	{ 'o', NULL, "ACCOUNT", account },
	{ 'P', NULL, "PARTITION", zero },
	{ 'Q', NULL, "QOS", zero },
	{ 'r', NULL, "PARTITION", partition },
	{ 'S', NULL, "SITE", site },
	{ 'T', NULL, "TRES", nothing },
	{ 'u', NULL, "USER", user },
	{ 'y', NULL, "PRIORITY", part },
	{ 'Y', NULL, "PRIORITY", priority },
	{ .write = NULL },
};
/* clang-format on */

struct sprio {
	const char *jobs, *users, *partitions, *format;
	bool headless, detailed, weights;
};

#define FIELD(name) offsetof(struct sprio, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	SLURM_ROW_IGNORED("cluster", 0, VALUE, "jobs of these clusters"),
	SLURM_ROW_IGNORED("clusters", 'M', VALUE, "jobs of these clusters"),
	SLURM_ROW_HOLDS("federation", 0, "jobs of the federation"),
	{ { "format", 'o', VALUE, .env = "SPRIO_FORMAT", .help = "columns as letters: %.15i %Y" }, slurm_read_text, FIELD(format) },
	SLURM_ROW_HELP(0),
	{ { "jobs", 'j', VALUE, .help = "these jobs" }, slurm_read_text, FIELD(jobs) },
	SLURM_ROW_HOLDS("local", 0, "jobs of this cluster only"),
	{ { "long", 'l', .help = "more columns" }, slurm_read_flag, FIELD(detailed) },
	{ { "noheader", 'h', .help = "no titles" }, slurm_read_flag, FIELD(headless) },
	{ { "norm", 'n', .help = "parts of one instead of numbers" }, slurm_read_text, FIELD(format), FORMAT_NORM },
	{ { "partition", 'p', VALUE, .help = "jobs of these partitions" }, slurm_read_text, FIELD(partitions) },
	SLURM_ROW_IGNORED("sibling", 0, STRATA_SLURM_NONE, "jobs of the federation's other clusters"),
	SLURM_ROW_IGNORED("sort", 'S', VALUE, "the order, as letters of columns"),
	SLURM_ROW_USAGE(0),
	{ { "user", 'u', VALUE, .help = "jobs of these users" }, slurm_read_text, FIELD(users) },
	SLURM_ROW_IGNORED("verbose", 'v', STRATA_SLURM_NONE, "say more"),
	SLURM_ROW_VERSION,
	{ { "weights", 'w', .help = "what each part counts" }, slurm_read_flag, FIELD(weights) },
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

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
		rc = slurm_columns_read(cli, NAME, "job format specification", fields, text, NULL,
					&format);
	if (rc == 0) {
		qsort(jobs.list, jobs.count, sizeof(*jobs.list), slurm_job_compare);
		if (!sprio->headless)
			slurm_columns_head(cli, &format);
	}
	for (size_t i = 0; rc == 0 && i < jobs.count; i++) {
		struct line line = { &jobs.list[i], share_of(&jobs, jobs.list[i].user) };

		if (!wanted(sprio, line.job))
			continue;
		slurm_columns_row(cli, &format, &line);
		shown++;
	}
	slurm_jobs_fini(&jobs);
	if (rc == 0 && !shown && (sprio->jobs || sprio->users))
		cli_print(cli, "Unable to find jobs matching user/id(s) specified\n");
	return rc ? 1 : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sprio sprio = { 0 };
	struct slurm_reading reading;
	int code = slurm_options(cli, &slurm_sprio, argc, argv, &sprio, &reading);

	if (code >= 0)
		return code;
	if (!sprio.weights)
		return print(cli, &sprio);
	cli_print(cli, "          JOBID PARTITION   PRIORITY       SITE  FAIRSHARE\n"
		       "        Weights                               1      10000\n");
	return 0;
}

static const struct slurm_field_table tables[] = { { "jobs", fields }, { 0 } };

const struct slurm_command slurm_sprio = { .name = NAME,
					   .summary = "show what makes jobs' priorities",
					   .syntax = &syntax,
					   .fields = tables,
					   .run = run };
