/* sdiag: how the scheduler has fared since the service started, from its own figures. */
#include "cli/slurm/command.h"

#include "cli/service.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME "sdiag"

struct sdiag {
	bool by_id;
	const char *clusters;
};

#define FIELD(name) offsetof(struct sdiag, name)

/* clang-format off */
static const struct slurm_row rows[] = {
	SLURM_ROW_HOLDS("all", 'a', "all figures"),
	{ { "cluster", 'M', STRATA_SLURM_REQUIRED, .help = "of this cluster" }, slurm_read_text, FIELD(clusters) },
	SLURM_ROW_HELP('h'),
	{ { "reset", 'r', STRATA_SLURM_NONE, 0, NULL, STRATA_SLURM_REFUSED, "begin the figures anew" }, NULL, 0 },
	{ { "sort-by-id", 'i', .help = "requests by the class of their answers" }, slurm_read_flag, FIELD(by_id) },
	SLURM_ROW_HOLDS("sort-by-time", 't', "requests by the time they took together"),
	SLURM_ROW_HOLDS("sort-by-time2", 'T', "requests by the time they took each"),
	SLURM_ROW_USAGE(0),
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

static int add_text(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	(void)err;
	buf_add_bytes(context, bytes, count);
	return 0;
}

/* A figure of the list, "strata_passes_total 12"; 0: it is not there. */
static double figure(const struct buf *all, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = all->text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, "strata_", 7) == 0 && strncmp(at + 7, name, length) == 0 &&
		    at[7 + length] == ' ')
			return strtod(at + 8 + length, NULL);
	}
	return 0;
}

static void print_date(struct cli *cli, const char *before, time_t when)
{
	struct tm parts;
	char text[64] = "";

	if (localtime_r(&when, &parts))
		strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", &parts);
	cli_printf(cli, "%s%s (%lld)\n", before, text, (long long)when);
}

static double mean_us(const struct buf *all, const char *sum, const char *count)
{
	double times = figure(all, count);

	return times > 0 ? 1e6 * figure(all, sum) / times : 0;
}

static void print_jobs(struct cli *cli, const struct buf *all)
{
	static const char rule[] = "*******************************************************\n";
	time_t now = time(NULL);
	double started = figure(all, "wait_seconds_count"),
	       ended = figure(all, "run_seconds_count");

	cli_print(cli, rule);
	print_date(cli, "sdiag output at ", now);
	cli_print(cli, rule);
	cli_printf(cli,
		   "Server thread count:  1\nAgent queue size:     0\nAgent count:          0\n"
		   "Agent thread count:   0\nDBD Agent queue size: 0\n\n");
	cli_printf(cli, "Jobs submitted: %.0f\nJobs started:   %.0f\nJobs completed: %.0f\n",
		   started + figure(all, "jobs{state=\"queued\"}"), started, ended);
	cli_printf(cli, "Jobs canceled:  %.0f\nJobs failed:    %.0f\n\n",
		   figure(all, "jobs{state=\"cancelled\"}"), figure(all, "jobs{state=\"failed\"}"));
	print_date(cli, "Job states ts:  ", now);
	cli_printf(cli, "Jobs pending:   %.0f\nJobs running:   %.0f\n\n",
		   figure(all, "jobs{state=\"queued\"}") + figure(all, "jobs{state=\"preempted\"}"),
		   figure(all, "jobs{state=\"running\"}") +
			   figure(all, "jobs{state=\"scheduled\"}"));
}

static void print_cycles(struct cli *cli, const struct buf *all, const struct sdiag *sdiag)
{
	double passes = figure(all, "passes_total"), commits = figure(all, "store_seconds_count");
	double answers = figure(all, "http_seconds_count");

	cli_printf(cli,
		   "Main schedule statistics (microseconds):\n\tTotal cycles: %.0f\n"
		   "\tMean cycle:   %.0f\n\n",
		   passes, mean_us(all, "pass_seconds_sum", "pass_seconds_count"));
	cli_printf(cli,
		   "Backfilling stats\n\tTotal backfilled jobs (since last slurm start): 0\n"
		   "\tLast queue length: %.0f\n\n",
		   figure(all, "jobs{state=\"queued\"}"));
	cli_printf(cli,
		   "Remote Procedure Call statistics by message type\n"
		   "\t%-40s count:%-6.0f ave_time:%-6.0f total_time:%.0f\n",
		   "REQUEST (all)", answers, mean_us(all, "http_seconds_sum", "http_seconds_count"),
		   1e6 * figure(all, "http_seconds_sum"));
	for (int i = 1; sdiag->by_id && i <= 5; i++) {
		char name[64];

		snprintf(name, sizeof(name), "http_requests_total{code=\"%dxx\"}", i);
		cli_printf(cli, "\tanswers %dxx%28s count:%.0f\n", i, "", figure(all, name));
	}
	cli_printf(cli, "\t%-40s count:%-6.0f ave_time:%-6.0f total_time:%.0f\n", "STORE_COMMIT",
		   commits, mean_us(all, "store_seconds_sum", "store_seconds_count"),
		   1e6 * figure(all, "store_seconds_sum"));
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sdiag sdiag = { 0 };
	struct slurm_reading reading;
	struct client *client;
	struct buf all;
	int code = slurm_options(cli, &slurm_sdiag, argc, argv, &sdiag, &reading);

	if (code >= 0)
		return code;
	if (!slurm_cluster_known(cli, NAME, sdiag.clusters))
		return 1;
	buf_init(&all, &cli->memory, 1 << 22);
	int rc = service_open(cli, &client);

	if (rc == 0)
		rc = client_stream(client, "/metrics", add_text, &all, &cli->err);
	if (rc == 0) {
		print_jobs(cli, &all);
		print_cycles(cli, &all, &sdiag);
	}
	buf_fini(&all);
	return rc ? slurm_unreachable(cli, "slurm_get_statistics") : 0;
}

const struct slurm_command slurm_sdiag = {
	.name = NAME, .summary = "show how the scheduler has fared", .syntax = &syntax, .run = run
};
