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
	const char *jobs, *users, *partitions, *format, *clusters, *sort;
	int64_t verbose;
	bool headless, detailed, weights;
};

#define FIELD(name) offsetof(struct sprio, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	{ { "cluster", 0, VALUE, .help = "jobs of these clusters" }, slurm_read_text, FIELD(clusters) },
	{ { "clusters", 'M', VALUE, .help = "jobs of these clusters" }, slurm_read_text, FIELD(clusters) },
	SLURM_ROW_HOLDS("federation", 0, "jobs of the federation"),
	{ { "format", 'o', VALUE, .env = "SPRIO_FORMAT", .help = "columns as letters: %.15i %Y" }, slurm_read_text, FIELD(format) },
	SLURM_ROW_HELP(0),
	{ { "jobs", 'j', VALUE, .help = "these jobs" }, slurm_read_text, FIELD(jobs) },
	SLURM_ROW_HOLDS("local", 0, "jobs of this cluster only"),
	{ { "long", 'l', .help = "more columns" }, slurm_read_flag, FIELD(detailed) },
	{ { "noheader", 'h', .help = "no titles" }, slurm_read_flag, FIELD(headless) },
	{ { "norm", 'n', .help = "parts of one instead of numbers" }, slurm_read_text, FIELD(format), FORMAT_NORM },
	{ { "partition", 'p', VALUE, .help = "jobs of these partitions" }, slurm_read_text, FIELD(partitions) },
	SLURM_ROW_HOLDS("sibling", 0, "jobs of the federation's other clusters"),
	{ { "sort", 'S', VALUE, .help = "the order, as letters of columns: -Y,i" }, slurm_read_text, FIELD(sort) },
	SLURM_ROW_USAGE(0),
	{ { "user", 'u', VALUE, .help = "jobs of these users" }, slurm_read_text, FIELD(users) },
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
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

struct sorting {
	const struct slurm_jobs *jobs;
	const char *keys;
	struct buf left, right; /* room for two cells */
};

/* Numbers in texts count as such. */
static int compare(const void *left_any, const void *right_any, void *context)
{
	struct sorting *sorting = context;
	const struct slurm_job *left = left_any, *right = right_any;
	struct line a = { left, share_of(sorting->jobs, left->user) },
		    b = { right, share_of(sorting->jobs, right->user) };

	for (const char *at = sorting->keys; at && *at; at++) {
		const struct slurm_field *field = slurm_field_find(fields, *at);

		if (!field)
			continue;
		buf_reset(&sorting->left);
		buf_reset(&sorting->right);
		field->write(&sorting->left, &a);
		field->write(&sorting->right, &b);
		int order = strverscmp(sorting->left.text, sorting->right.text);

		if (order)
			return at > sorting->keys && at[-1] == '-' ? -order : order;
	}
	return slurm_job_compare(left, right);
}

static void sort(struct cli *cli, const struct sprio *sprio, struct slurm_jobs *jobs)
{
	struct sorting sorting = { .jobs = jobs, .keys = sprio->sort };

	buf_init(&sorting.left, &cli->memory, 0);
	buf_init(&sorting.right, &cli->memory, 0);
	qsort_r(jobs->list, jobs->count, sizeof(*jobs->list), compare, &sorting);
	buf_fini(&sorting.left);
	buf_fini(&sorting.right);
}

static void tell(struct cli *cli, const struct sprio *sprio)
{
	char verbose[24];

	snprintf(verbose, sizeof(verbose), "%lld", (long long)sprio->verbose);
	const struct slurm_setting settings[] = {
		{ "format", sprio->format }, { "job_flag", sprio->jobs ? "1" : "0" },
		{ "jobs", sprio->jobs },     { "partition", sprio->partitions },
		{ "users", sprio->users },   { "verbose", verbose },
	};

	slurm_print_settings(cli, settings, sizeof(settings) / sizeof(settings[0]), 10);
	cli_print(cli, "\n\n");
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
		sort(cli, sprio, &jobs);
		slurm_print_cluster(cli, sprio->clusters);
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
	if (!slurm_cluster_known(cli, NAME, sprio.clusters))
		return 1;
	if (sprio.verbose)
		tell(cli, &sprio);
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
