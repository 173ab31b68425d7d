/*
 * strata logs: what a job has written, passed on as it comes. With --follow a connection that
 * breaks is opened again where it was, so that a restart of the server loses nothing.
 */
#include "cli/interactive.h"

#include <errno.h>
#include <inttypes.h>

struct logs_conf {
	bool follow, error;
};

static const struct strata_option logs_options[] = {
	{ "follow", STRATA_BOOL, offsetof(struct logs_conf, follow), .letter = 'f',
	  .help = "go on until the job ends" },
	{ "error", STRATA_BOOL, offsetof(struct logs_conf, error), .letter = 'e',
	  .help = "what it wrote to standard error, where that is a file of its own" },
	{ 0 }
};
static const struct strata_schema logs_schema = { "logs", NULL, sizeof(struct logs_conf),
						  logs_options };

enum { AWAY_MAX = 60 }; /* so often the server may be away in a row */
#define AGAIN_NS (500 * STRATA_MS_NS)

struct pouring {
	struct cli *cli;
	int64_t bytes;
};

static int pour(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	struct pouring *pouring = context;

	(void)err;
	buf_add_bytes(&pouring->cli->out, bytes, count);
	cli_flush(pouring->cli);
	pouring->bytes += (int64_t)count;
	return 0;
}

static int pour_from(struct pouring *pouring, struct client *client, const struct logs_conf *conf,
		     const char *id)
{
	struct cli *cli = pouring->cli;
	char from[24];
	struct buf path;

	snprintf(from, sizeof(from), "%" PRId64, pouring->bytes);
	service_path(cli, &path, "jobs", id, "/output");
	client_query(&path, "from", pouring->bytes ? from : NULL);
	client_query(&path, "error", conf->error ? "1" : NULL);
	client_query(&path, "follow", conf->follow ? "1" : NULL);
	int rc = buf_check(&path, &cli->err);

	if (rc == 0)
		rc = client_stream(client, path.text, pour, pouring, &cli->err);
	buf_fini(&path);
	return rc;
}

static int job_goes_on(struct cli *cli, const char *id, bool *ret_going)
{
	struct buf path;
	json_t *job;

	service_path(cli, &path, "jobs", id, NULL);
	int rc = service_get(cli, &path, &job);

	if (rc == 0) {
		*ret_going = !job_ended(job);
		json_decref(job);
	}
	return rc;
}

/* An answer may end before the job does: then there is more to come. What was written up to the
 * job's end is read after that. */
static int pour_all(struct pouring *pouring, struct client *client, const struct logs_conf *conf,
		    const char *id)
{
	bool going = false;

	for (bool last = !conf->follow;; last = !going) {
		int rc = pour_from(pouring, client, conf, id);

		if (rc || last)
			return rc;
		rc = job_goes_on(pouring->cli, id, &going);
		if (rc)
			return rc;
		if (going)
			follow_sleep(AGAIN_NS);
	}
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct logs_conf *conf = conf_any;
	struct pouring pouring = { .cli = cli };
	struct client *client;
	int rc = service_open(cli, &client), away = 0;

	(void)operand_count;
	if (rc == 0)
		rc = pour_all(&pouring, client, conf, operands[0]);
	for (bool seen = pouring.bytes > 0 || rc == -ECONNRESET;
	     seen && conf->follow && service_away(rc);) {
		int64_t before = pouring.bytes;

		if (away++ == 0)
			cli_note(cli, "%s; trying again", cli->err.text);
		if (away > AWAY_MAX)
			return rc;
		follow_sleep(STRATA_SECOND_NS);
		rc = pour_all(&pouring, client, conf, operands[0]);
		away = pouring.bytes > before ? 0 : away;
	}
	if (rc == -ENOENT)
		return interactive_explain(cli, operands[0], rc);
	if (rc == 0 && pouring.bytes == 0 && !conf->follow)
		cli_note(cli,
			 "job %s has written nothing yet; `strata logs -f %s` waits for it, "
			 "`strata show %s` tells how it is",
			 operands[0], operands[0], operands[0]);
	return rc;
}

const struct cli_command cli_logs = {
	.name = "logs",
	.operands = "ID",
	.summary = "show what a job has written",
	.examples = "  strata logs 17\n"
		    "  strata logs -f 17",
	.options = &logs_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
