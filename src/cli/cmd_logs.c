/*
 * strata logs: what a job has written, passed on as it comes. With --follow a connection that
 * breaks is opened again where it was, so that a restart of the server loses nothing.
 */
#include "cli/interactive.h"

#include <errno.h>
#include <inttypes.h>

struct logs_conf {
	bool follow, error;
	int64_t tail; /* -1: all of it */
};

static const struct strata_option logs_options[] = {
	{ "follow", STRATA_BOOL, offsetof(struct logs_conf, follow), .letter = 'f',
	  .help = "go on until the job ends" },
	{ "error", STRATA_BOOL, offsetof(struct logs_conf, error), .letter = 'e',
	  .help = "what it wrote to standard error, where that is a file of its own" },
	{ "tail", STRATA_INT, offsetof(struct logs_conf, tail), .integer = { -1, -1, 1000000 },
	  .letter = 'n', .value = "N", .help = "only the last N lines (-1: all)" },
	{ 0 }
};
static const struct strata_schema logs_schema = { "logs", NULL, sizeof(struct logs_conf),
						  logs_options };

enum { AWAY_MAX = 60 }; /* so often the server may be away in a row */
#define AGAIN_NS (500 * STRATA_MS_NS)

struct pouring {
	struct cli *cli;
	int64_t from;  /* the byte that comes next */
	int64_t bytes; /* so many have come */
};

static int pour(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	struct pouring *pouring = context;

	(void)err;
	buf_add_bytes(&pouring->cli->out, bytes, count);
	cli_flush(pouring->cli);
	pouring->bytes += (int64_t)count;
	pouring->from += (int64_t)count;
	return 0;
}

static int pour_from(struct pouring *pouring, struct client *client, const struct logs_conf *conf,
		     const char *id)
{
	struct cli *cli = pouring->cli;
	char from[24];
	struct buf path;

	snprintf(from, sizeof(from), "%" PRId64, pouring->from);
	service_path(cli, &path, "jobs", id, "/output");
	client_query(&path, "from", pouring->from ? from : NULL);
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

/* Where the last lines begin. */
static int find_tail(struct pouring *pouring, const struct logs_conf *conf, const char *id)
{
	struct cli *cli = pouring->cli;
	char lines[24];
	struct buf path;
	json_t *json;

	if (conf->tail < 0)
		return 0;
	snprintf(lines, sizeof(lines), "%" PRId64, conf->tail);
	service_path(cli, &path, "jobs", id, "/output");
	client_query(&path, "lines", lines);
	client_query(&path, "error", conf->error ? "1" : NULL);
	client_query(&path, "follow", conf->follow ? "1" : NULL);
	int rc = service_get(cli, &path, &json);

	if (rc == 0) {
		pouring->from = grid_int(json, "from");
		json_decref(json);
	}
	return rc;
}

static void say_nothing_written(struct cli *cli, const char *id)
{
	struct buf path;
	json_t *job = NULL;

	service_path(cli, &path, "jobs", id, NULL);
	bool ended = service_get(cli, &path, &job) == 0 && job_ended(job);

	json_decref(job);
	if (ended)
		cli_note(cli, "job %s wrote nothing; `strata show %s` tells how it ended", id, id);
	else
		cli_note(cli,
			 "job %s has written nothing yet; `strata logs -f %s` waits for it, "
			 "`strata show %s` tells how it is",
			 id, id, id);
}

static int show(struct cli *cli, struct client *client, const struct logs_conf *conf, const char *id)
{
	struct pouring pouring = { .cli = cli };
	int rc = find_tail(&pouring, conf, id), away = 0;

	if (rc == 0)
		rc = pour_all(&pouring, client, conf, id);
	for (bool seen = pouring.bytes > 0 || rc == -ECONNRESET;
	     seen && conf->follow && service_away(rc);) {
		int64_t before = pouring.bytes;

		if (away++ == 0)
			cli_note(cli, "%s; trying again", cli->err.text);
		if (away > AWAY_MAX)
			return rc;
		follow_sleep(STRATA_SECOND_NS);
		rc = pour_all(&pouring, client, conf, id);
		away = pouring.bytes > before ? 0 : away;
	}
	if (rc == -ENOENT)
		return interactive_explain(cli, id, rc);
	if (rc == 0 && pouring.bytes == 0 && !conf->follow && conf->tail != 0)
		say_nothing_written(cli, id);
	return rc;
}

/* Each under a heading, as tail does it, where there are several. One of which nothing can be shown
 * does not keep the others from their turn. */
static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct client *client;
	char **words;
	size_t count;
	int rc = job_expand(cli, operands, operand_count, &words, &count), first = 0;

	if (rc == 0)
		rc = service_open(cli, &client);
	if (rc || count == 1)
		return rc ? rc : show(cli, client, conf, words[0]);
	for (size_t i = 0; i < count; i++) {
		cli_printf(cli, "%s==> %s <==\n", i ? "\n" : "", words[i]);
		cli_flush(cli);
		rc = show(cli, client, conf, words[i]);
		if (rc == 0)
			continue;
		cli_say(cli, "%s", cli->err.text);
		first = first ? first : strata_error_kind(rc)->exit_code;
		if (service_away(rc))
			break;
	}
	return first;
}

const struct cli_command cli_logs = {
	.name = "logs",
	.operands = "ID…",
	.summary = "show what a job has written",
	.about = "Of several jobs, one after the other, each under its id; 35 is all of an array, "
		 "35_[1-4] some of it.",
	.examples = "  strata logs 17\n"
		    "  strata logs -f --tail 20 17\n"
		    "  strata logs 35_[1-4]",
	.options = &logs_schema,
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
