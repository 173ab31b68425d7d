/*
 * strata events: what has happened, a line each. With --follow first what there is, then what
 * comes, as the server sends it; a connection that breaks is opened again behind the last event
 * seen.
 */
#include "cli/service.h"

#include "core/text.h"

#include "client/sse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct events_conf {
	bool follow;
	int64_t after, limit, interval_ns;
};

static const struct strata_option events_options[] = {
	{ "follow", STRATA_BOOL, offsetof(struct events_conf, follow), .letter = 'f',
	  .help = "go on with what happens" },
	{ "after", STRATA_INT, offsetof(struct events_conf, after), .integer = { 0, 0, INT64_MAX },
	  .help = "only those behind this number" },
	{ "limit", STRATA_INT, offsetof(struct events_conf, limit), .integer = { 100, 1, 1000 },
	  .letter = 'n', .help = "the last so many; with --after the first behind it" },
	{ "interval", STRATA_DURATION, offsetof(struct events_conf, interval_ns),
	  .integer = { STRATA_SECOND_NS, STRATA_MS_NS, STRATA_HOUR_NS },
	  .help = "how long --follow waits before it looks for a server that went away" },
	{ 0 }
};
static const struct strata_schema events_schema = { "events", NULL, sizeof(struct events_conf),
						    events_options };

static const struct grid_column columns[] = {
	{ { .title = "NUMBER", .right = true, .style = CLI_DIM }, grid_text, "sequence" },
	{ { .title = "TIME" }, grid_time, "at" },
	{ { .title = "JOB", .right = true }, grid_text, "job" },
	{ { .title = "WHAT", .style = CLI_BOLD }, grid_text, "kind" },
	{ { .title = "ABOUT", .flexible = true }, grid_text, "about" },
};

struct paging {
	const struct events_conf *conf;
	int64_t after;
	bool seen;  /* something was printed */
	bool whole; /* the page was full: there may be more */
};

static int print_page(struct cli *cli, void *context)
{
	struct paging *paging = context;
	char after[24], limit[24];
	struct buf path;
	json_t *json;

	snprintf(after, sizeof(after), "%" PRId64, paging->after);
	snprintf(limit, sizeof(limit), "%" PRId64, paging->conf->limit);
	service_path(cli, &path, "events", NULL, "?format=json");
	if (paging->seen || origins_find(&cli->given, "after"))
		client_query(&path, "after", after);
	else
		client_query(&path, "last", limit);
	client_query(&path, "limit", limit);
	int rc = service_get(cli, &path, &json);

	if (rc)
		return rc;
	const json_t *events = json_object_get(json, "events");
	size_t count = json_array_size(events);

	paging->whole = count == (size_t)paging->conf->limit;
	if (count) {
		paging->seen = true;
		paging->after = grid_int(json_array_get(events, count - 1), "sequence");
	}
	if (cli->globals.json && (count || !paging->conf->follow))
		rc = cli_print_json(cli, json_incref(json));
	else if (count)
		rc = grid_print(cli, columns, sizeof(columns) / sizeof(columns[0]), events, 0);
	json_decref(json);
	return rc;
}

/* ---- following ---- */

struct following {
	struct cli *cli;
	struct paging *paging;
	struct sse sse;
};

static int print_event(struct cli *cli, const json_t *event)
{
	char time[STRATA_FORM_BYTES];
	struct buf about;

	if (cli->globals.json) {
		char *text = json_dumps(event, JSON_COMPACT);

		if (!text)
			return strata_fail_memory(&cli->err);
		text_show_json(&cli->out, text, strlen(text));
		cli_print(cli, "\n");
		free(text);
		return 0;
	}
	buf_init(&about, &cli->memory, 0);
	grid_add(&about, json_object_get(event, "about"));
	cli_printf(cli, "%s%6" PRId64 "%s  %s  %5" PRId64 "  %s%s%s  %s\n", cli_style(cli, CLI_DIM),
		   grid_int(event, "sequence"), cli_style(cli, CLI_PLAIN),
		   when_print(when_json(event, "at"), when_now_ns(), time), grid_int(event, "job"),
		   cli_style(cli, CLI_BOLD), grid_or(json_object_get(event, "kind"), "?"),
		   cli_style(cli, CLI_PLAIN), about.text);
	buf_fini(&about);
	return 0;
}

static int take_event(void *context, const char *data, size_t length, struct strata_error *err)
{
	struct following *following = context;
	json_t *event = json_loadb(data, length, 0, NULL);
	int64_t number = grid_int(event, "sequence");
	int rc = json_is_object(event)
			 ? 0
			 : strata_fail(err, -EBADMSG, "an event of the server is not JSON");

	service_show(following->cli, event);
	if (rc == 0 && number > following->paging->after) {
		following->paging->after = number;
		rc = print_event(following->cli, event);
		cli_flush(following->cli);
	}
	json_decref(event);
	return rc;
}

static int feed(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	struct following *following = context;

	return sse_feed(&following->sse, bytes, count, err);
}

static int follow_once(struct cli *cli, struct client *client, struct paging *paging)
{
	struct following following = { .cli = cli, .paging = paging };
	char after[24];
	struct buf path;

	snprintf(after, sizeof(after), "%" PRId64, paging->after);
	service_path(cli, &path, "events", NULL, NULL);
	client_query(&path, "after", after);
	int rc = buf_check(&path, &cli->err);

	sse_init(&following.sse, &cli->memory, take_event, &following);
	if (rc == 0)
		rc = client_stream(client, path.text, feed, &following, &cli->err);
	sse_fini(&following.sse);
	buf_fini(&path);
	return rc;
}

/* Until something fails that waiting does not mend. */
static int follow(struct cli *cli, struct paging *paging)
{
	struct client *client;
	bool away = false;
	int rc = service_open(cli, &client);

	while (rc == 0 || service_away(rc)) {
		int64_t before = paging->after;

		rc = follow_once(cli, client, paging);
		away &= paging->after == before;
		if (rc && service_away(rc) && !away)
			cli_note(cli, "%s; waiting for it", cli->err.text);
		away |= rc != 0;
		if (rc == 0 || service_away(rc))
			follow_sleep(paging->conf->interval_ns);
	}
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct events_conf *conf = conf_any;
	struct paging paging = { .conf = conf, .after = conf->after };
	int rc;

	(void)operands, (void)operand_count;
	do {
		rc = print_page(cli, &paging);
		cli_flush(cli);
	} while (rc == 0 && conf->follow && paging.whole);
	if (rc == 0 && conf->follow)
		rc = follow(cli, &paging);
	if (rc == 0 && !paging.seen && !cli->globals.json)
		cli_note(cli, "there are no events yet; `strata events -f` waits for them");
	return rc;
}

const struct cli_command cli_events = {
	.name = "events",
	.summary = "show what has happened",
	.about = "Each event has a number; --after goes on behind one. With --follow and --json "
		 "each "
		 "event that comes is a line.",
	.examples = "  strata events -n 20\n"
		    "  strata events -f",
	.options = &events_schema,
	.run = run,
};
