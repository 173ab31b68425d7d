/*
 * sreport: what was used, by cluster, account and user, and sizes of jobs; from the service's
 * history. To add a report, add a row to the table: how its rows are made, and its columns.
 */
#include "cli/slurm/jobs.h"
#include "cli/slurm/listing.h"

#include "cli/service.h"
#include "slurm/output_field.h"

#include <strata/slurm.h>

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define NAME "sreport"
enum { TOP = 10, SIZES = 5, RULE = 80 };

struct sreport {
	struct listing listing;
	const char *clusters, *tres, *unit;
	bool gpus; /* counted in GPUs instead of CPUs */
	int64_t verbose, quiet;
	int64_t from_ns, until_ns;
	int64_t top;
	const char *format;
	const char *accounts, *users;
};

/* A line of a report. */
struct entry {
	const struct sreport *sreport;
	const char *account, *user; /* "": of all */
	double used_s;              /* of CPUs, or GPUs */
	double sizes_s[SIZES];
	double all_s; /* of the whole cluster */
	double down_s;
};

#define FIELD_ROW const struct entry *entry = row

static void add_amount(struct buf *buf, const struct entry *entry, double seconds)
{
	const char *unit = entry->sreport->unit;
	double part = entry->all_s > 0 ? 100 * seconds / entry->all_s : 0;

	if (strncasecmp(unit, "percent", 7) == 0)
		buf_printf(buf, "%.2f%%", part);
	else if (strncasecmp(unit, "hour", 4) == 0)
		buf_printf(buf, "%.0f", seconds / 3600);
	else if (strncasecmp(unit, "sec", 3) == 0)
		buf_printf(buf, "%.0f", seconds);
	else
		buf_printf(buf, "%.0f", seconds / 60);
}

#define AMOUNT_FIELD(name, value)                          \
	static void name(struct buf *buf, const void *row) \
	{                                                  \
		FIELD_ROW;                                 \
		add_amount(buf, entry, value);             \
	}

TEXT_FIELD(account, entry->account)
TEXT_FIELD(user, entry->user)
AMOUNT_FIELD(used, entry->used_s)
AMOUNT_FIELD(idle, entry->all_s - entry->used_s - entry->down_s)
AMOUNT_FIELD(down, entry->down_s)
AMOUNT_FIELD(all, entry->all_s)
AMOUNT_FIELD(size_0, entry->sizes_s[0])
AMOUNT_FIELD(size_1, entry->sizes_s[1])
AMOUNT_FIELD(size_2, entry->sizes_s[2])
AMOUNT_FIELD(size_3, entry->sizes_s[3])
AMOUNT_FIELD(size_4, entry->sizes_s[4])
CONSTANT_FIELD(cluster, "strata")
CONSTANT_FIELD(zero, "0")

static void proper(struct buf *buf, const void *row)
{
	FIELD_ROW;
	const struct passwd *entry_of = *entry->user ? getpwnam(entry->user) : NULL;
	const char *name = entry_of && entry_of->pw_gecos ? entry_of->pw_gecos : "";

	buf_add_bytes(buf, name, strcspn(name, ","));
}

static void part(struct buf *buf, const void *row)
{
	FIELD_ROW;

	buf_printf(buf, "%.2f%%", entry->all_s > 0 ? 100 * entry->used_s / entry->all_s : 0);
}

/* clang-format off */
static const struct slurm_field fields[] = {
	{ 0, "Cluster", "Cluster", cluster, .width = 9 },
	{ 0, "Account", "Account", account, .width = 15, .chosen = true },
	{ 0, "Login", "Login", user, .width = 9 },
	{ 0, "Proper", "Proper Name", proper, .width = 15 },
	{ 0, "Used", "Used", used, .width = 8 },
	{ 0, "Energy", "Energy", zero, .width = 8 },
	{ 0, "Allocated", "Allocate", used, .width = 8 },
	{ 0, "Down", "Down", down, .width = 8 },
	{ 0, "PlannedDown", "PLND Dow", zero, .width = 8 },
	{ 0, "Idle", "Idle", idle, .width = 8 },
	{ 0, "Planned", "Planned", zero, .width = 8 },
	{ 0, "Reported", "Reported", all, .width = 8 },
	{ 0, "Size0", "0-49 CPUs", size_0, .width = 13 },
	{ 0, "Size1", "50-249 CPUs", size_1, .width = 13 },
	{ 0, "Size2", "250-499 CPUs", size_2, .width = 13 },
	{ 0, "Size3", "500-999 CPUs", size_3, .width = 13 },
	{ 0, "Size4", ">= 1000 CPUs", size_4, .width = 13 },
	{ 0, "Percent", "% of cluster", part, .width = 12 },
	{ .write = NULL },
};
/* clang-format on */

/* ---- options ---- */

/* -p and -P: a delimiter between columns; of -p also behind the last. */
static int read_parsable(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	struct sreport *sreport = reading->into;

	(void)value, (void)err;
	sreport->listing.delimiter = "|";
	sreport->listing.delimiter_last = row->option.letter == 'p';
	return 0;
}

#define FIELD(name) offsetof(struct sreport, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	SLURM_ROW_HOLDS("all_clusters", 'a', "of all clusters"),
	{ { "cluster", 'M', VALUE, .help = "of this cluster" }, slurm_read_text, FIELD(clusters) },
	SLURM_ROW_HOLDS("federation", 0, "of the federation"),
	SLURM_ROW_HELP('h'),
	SLURM_ROW_HOLDS("local", 0, "of this cluster only"),
	{ { "noheader", 'n', .help = "no titles" }, slurm_read_flag, FIELD(listing.headless) },
	{ { "parsable", 'p', .help = "columns between bars, one behind the last" }, read_parsable, 0 },
	{ { "parsable2", 'P', .help = "columns between bars" }, read_parsable, 0 },
	{ { "quiet", 'Q', .help = "no frame around the list" }, slurm_read_tally, FIELD(quiet) },
	{ { "time", 't', VALUE, .help = "unit: Minutes, Hours, Seconds, Percent" }, slurm_read_text, FIELD(unit) },
	{ { "tres", 'T', VALUE, .help = "what is counted: cpu or gres/gpu" }, slurm_read_text, FIELD(tres) },
	SLURM_ROW_USAGE(0),
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows, .stops = true };

/* ---- adding up ---- */

struct sums {
	struct entry *entries;
	size_t count;
	double all_s, down_s, used_s;
};

/* Seconds of the job within the time of the report. */
static double seconds_of(const struct sreport *sreport, const struct slurm_job *job)
{
	int64_t start = job->start_ns > sreport->from_ns ? job->start_ns : sreport->from_ns;
	int64_t end = job->ended ? job->end_ns : when_now_ns();

	end = end < sreport->until_ns ? end : sreport->until_ns;
	if (job->pending || !when_json(job->json, "started_at") || end <= start)
		return 0;
	return (double)(end - start) / (double)STRATA_SECOND_NS *
	       (double)(sreport->gpus ? job->gpus : job->cpus);
}

static struct entry *entry_of(struct sums *sums, const struct sreport *sreport, const char *account,
			      const char *user)
{
	for (size_t i = 0; i < sums->count; i++)
		if (strcmp(sums->entries[i].account, account) == 0 &&
		    strcmp(sums->entries[i].user, user) == 0)
			return &sums->entries[i];
	sums->entries[sums->count] =
		(struct entry){ .sreport = sreport, .account = account, .user = user };
	return &sums->entries[sums->count++];
}

enum sum_by { BY_CLUSTER, BY_ACCOUNT_USER, BY_USER, BY_ACCOUNT };

static void add_job(struct sums *sums, const struct sreport *sreport, const struct slurm_job *job,
		    enum sum_by by)
{
	static const int64_t bounds[SIZES - 1] = { 50, 250, 500, 1000 };
	double seconds = seconds_of(sreport, job);
	size_t size = 0;

	if (seconds <= 0 || (sreport->accounts && !slurm_listed(sreport->accounts, job->account)) ||
	    (sreport->users && !slurm_listed(sreport->users, job->user)))
		return;
	while (size < SIZES - 1 && job->cpus >= bounds[size])
		size++;
	sums->used_s += seconds;
	if (by == BY_ACCOUNT_USER) /* the account's own line is before those of its users */
		entry_of(sums, sreport, job->account, "")->used_s += seconds;
	struct entry *entry = entry_of(sums, sreport, by == BY_CLUSTER ? "" : job->account,
				       by == BY_USER || by == BY_ACCOUNT_USER ? job->user : "");

	entry->used_s += seconds;
	entry->sizes_s[size] += seconds;
}

/* All CPUs there are, for as long as the report is about. */
static int add_capacity(struct cli *cli, const struct sreport *sreport, struct sums *sums)
{
	json_t *answer;
	const json_t *node;
	size_t index;
	int64_t now_ns = when_now_ns(),
		end_ns = sreport->until_ns < now_ns ? sreport->until_ns : now_ns;
	double span_s = (double)(end_ns - sreport->from_ns) / (double)STRATA_SECOND_NS;

	if (service_list(cli, "nodes", &answer))
		return -1;
	json_array_foreach(json_object_get(answer, "nodes"), index, node)
	{
		double count =
			json_number_value(json_object_get(node, sreport->gpus ? "gpus" : "cpus"));

		sums->all_s += span_s > 0 ? span_s * count : 0;
		if (strcmp(grid_or(json_object_get(node, "state"), ""), "down") == 0)
			sums->down_s += span_s > 0 ? span_s * count : 0;
	}
	json_decref(answer);
	return 0;
}

static int compare_used(const void *left_any, const void *right_any)
{
	const struct entry *left = left_any, *right = right_any;

	return (left->used_s < right->used_s) - (left->used_s > right->used_s);
}

static int compare_names(const void *left_any, const void *right_any)
{
	const struct entry *left = left_any, *right = right_any;
	int order = strcmp(left->account, right->account);

	return order ? order : strcmp(left->user, right->user);
}

/* ---- reports ---- */

static const struct report {
	const char *kind, *name, *title;
	enum sum_by by;
	const char *fields;
	bool seconds; /* the title says how long it is about */
} reports[] = {
	{ "cluster", "AccountUtilizationByUser", "Cluster/Account/User Utilization",
	  BY_ACCOUNT_USER, "Cluster,Account,Login,Proper,Used,Energy", true },
	{ "cluster", "UserUtilizationByAccount", "Cluster/User/Account Utilization", BY_USER,
	  "Cluster,Login,Proper,Account,Used,Energy", true },
	{ "cluster", "Utilization", "Cluster Utilization", BY_CLUSTER,
	  "Cluster,Allocated,Down,PlannedDown,Idle,Planned,Reported", false },
	{ "job", "SizesByAccount", "Job Sizes", BY_ACCOUNT,
	  "Cluster,Account%9,Size0,Size1,Size2,Size3,Size4,Percent", true },
	{ "user", "TopUsage", "Top 10 Users", BY_USER, "Cluster,Login,Proper,Account,Used,Energy",
	  true },
};

static const struct report *find_report(struct cli *cli, const char *kind, const char *name)
{
	bool known = false;

	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		known |= strncasecmp(reports[i].kind, kind, strlen(kind)) == 0;
		if (strncasecmp(reports[i].kind, kind, strlen(kind)) == 0 && *name &&
		    strncasecmp(reports[i].name, name, strlen(name)) == 0)
			return &reports[i];
	}
	if (!known) {
		slurm_say(cli, "invalid keyword: %s", kind);
		return NULL;
	}
	slurm_say(cli, "Not valid report %s", name);
	cli_flush(cli);
	fprintf(stderr, "Valid %s reports are,", kind);
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		if (strncasecmp(reports[i].kind, kind, strlen(kind)) == 0)
			fprintf(stderr, " \"%s\"", reports[i].name);
	fputc('\n', stderr);
	return NULL;
}

static void print_rule(struct cli *cli)
{
	for (int i = 0; i < RULE; i++)
		cli_print(cli, "-");
	cli_print(cli, "\n");
}

static void print_title(struct cli *cli, const struct sreport *sreport, const struct report *report)
{
	struct buf from, until;

	if (sreport->listing.headless || sreport->listing.delimiter || sreport->quiet)
		return;
	buf_init(&from, &cli->memory, 0);
	buf_init(&until, &cli->memory, 0);
	slurm_date(&from, sreport->from_ns, "");
	slurm_date(&until, sreport->until_ns - STRATA_SECOND_NS, "");
	print_rule(cli);
	cli_printf(cli, "%s %s - %s", report->title, from.text, until.text);
	if (report->seconds)
		cli_printf(cli, " (%lld secs)",
			   (long long)((sreport->until_ns - sreport->from_ns) / STRATA_SECOND_NS));
	cli_printf(cli, "\n%s reported in %s%s\n", report->by == BY_ACCOUNT ? "Time" : "Usage",
		   report->by == BY_ACCOUNT ? ""
		   : sreport->gpus          ? "TRES "
					    : "CPU ",
		   sreport->unit);
	print_rule(cli);
	buf_fini(&from);
	buf_fini(&until);
}

static int print(struct cli *cli, struct sreport *sreport, const struct report *report)
{
	const int64_t longest_ns = INT64_C(62) * 86400 * STRATA_SECOND_NS;
	char since[STRATA_FORM_BYTES];
	struct sums sums = { 0 };
	struct slurm_jobs jobs;

	if (!listing_read(cli, NAME, fields, sreport->format ? sreport->format : report->fields,
			  &sreport->listing))
		return 1;
	strata_time_print(sreport->from_ns > longest_ns ? sreport->from_ns - longest_ns : 0, since);
	if (add_capacity(cli, sreport, &sums) || slurm_jobs_history(cli, since, NULL, &jobs))
		return slurm_unreachable(cli, "slurmdbd");
	sums.entries = strata_arena_array(&cli->arena, 2 * jobs.count + 1, sizeof(*sums.entries));
	for (size_t i = 0; sums.entries && i < jobs.count; i++)
		add_job(&sums, sreport, &jobs.list[i], report->by);
	if (report->by == BY_CLUSTER && sums.entries && !sums.count)
		entry_of(&sums, sreport, "", "");
	bool top = strcmp(report->name, "TopUsage") == 0;

	if (sums.count)
		qsort(sums.entries, sums.count, sizeof(*sums.entries),
		      top ? compare_used : compare_names);
	print_title(cli, sreport, report);
	listing_head(cli, &sreport->listing);
	for (size_t i = 0; i < sums.count && (!top || (int64_t)i < sreport->top); i++) {
		sums.entries[i].all_s = sums.all_s;
		sums.entries[i].down_s = sums.down_s;
		listing_row(cli, &sreport->listing, &sums.entries[i]);
	}
	slurm_jobs_fini(&jobs);
	return 0;
}

/* ---- words ---- */

static bool read_time(struct cli *cli, const char *text, int64_t *ret_ns)
{
	int64_t now_ns = when_now_ns();

	if (strata_begin_parse(text, STRATA_TEXT_NUL, now_ns, when_zone(now_ns), ret_ns, NULL) == 0)
		return true;
	slurm_say(cli, "Invalid time specification (pos=0): %s", text);
	return false;
}

static bool read_word(struct cli *cli, struct sreport *sreport, const char *word)
{
	size_t length = strcspn(word, "=");
	const char *value = word[length] ? word + length + 1 : "";

	if (strncasecmp(word, "start", length < 5 ? length : 5) == 0 && *value)
		return read_time(cli, value, &sreport->from_ns);
	if (strncasecmp(word, "end", length < 3 ? length : 3) == 0 && *value)
		return read_time(cli, value, &sreport->until_ns);
	if (strncasecmp(word, "topcount", length) == 0 && length > 2)
		return strata_int_parse(value, STRATA_TEXT_NUL, 1, INT32_MAX, &sreport->top,
					NULL) == 0;
	if (strncasecmp(word, "format", length) == 0 && length > 2)
		sreport->format = value;
	else if (strncasecmp(word, "accounts", length) == 0 && length > 2)
		sreport->accounts = value;
	else if (strncasecmp(word, "users", length) == 0 && length > 2)
		sreport->users = value;
	else if (strncasecmp(word, "tree", length) != 0 &&
		 strncasecmp(word, "cluster", length) != 0) {
		slurm_say(cli, " Unknown condition: %s", word);
		return false;
	}
	return true;
}

/* Yesterday, unless the words say otherwise. */
static void set_yesterday(struct sreport *sreport)
{
	time_t now = time(NULL);
	struct tm parts;

	localtime_r(&now, &parts);
	parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
	sreport->until_ns = (int64_t)mktime(&parts) * STRATA_SECOND_NS;
	parts.tm_mday--;
	sreport->from_ns = (int64_t)mktime(&parts) * STRATA_SECOND_NS;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sreport sreport = { .unit = "Minutes", .top = TOP };
	struct slurm_reading reading;

	set_yesterday(&sreport);
	int code = slurm_options(cli, &slurm_sreport, argc, argv, &sreport, &reading);

	if (code >= 0)
		return code;
	if (reading.operand_count < 2) {
		if (reading.operand_count == 1)
			find_report(cli, reading.operands[0], "");
		else
			slurm_help(cli, &slurm_sreport);
		return 1;
	}
	const struct report *report = find_report(cli, reading.operands[0], reading.operands[1]);

	if (!report || !slurm_cluster_known(cli, NAME, sreport.clusters))
		return 1;
	for (size_t i = 2; i < reading.operand_count; i++)
		if (!read_word(cli, &sreport, reading.operands[i]))
			return 1;
	sreport.gpus = sreport.tres && strstr(sreport.tres, "gpu");
	if (sreport.verbose)
		slurm_say(cli, "sreport: %s of %s", report->name, report->kind);
	return print(cli, &sreport, report);
}

static void print_reports(struct cli *cli)
{
	cli_print(cli, "Its reports:");
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		cli_printf(cli, "%s %s %s", i ? "," : "", reports[i].kind, reports[i].name);
	cli_print(cli, "\n");
}

static const struct slurm_field_table tables[] = { { "reports", fields }, { 0 } };

const struct slurm_command slurm_sreport = { .name = NAME,
					     .summary = "show what was used, added up",
					     .operands = "KIND REPORT [NAME=VALUE…]",
					     .syntax = &syntax,
					     .fields = tables,
					     .help = print_reports,
					     .run = run };
