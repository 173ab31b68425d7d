/* strata events: what has happened, a line each. With --follow the next page is asked for again and again, from the last one seen. */
#include "cli/service.h"

#include <inttypes.h>

struct events_conf {
	bool follow;
	int64_t after, limit, interval_ns;
};

static const struct strata_option events_options[] = {
	{ "follow", STRATA_BOOL, offsetof(struct events_conf, follow), .letter = 'f',
	  .help = "go on with what happens" },
	{ "after", STRATA_INT, offsetof(struct events_conf, after), .integer = { 0, 0, INT64_MAX },
	  .help = "only those behind this number" },
	{ "limit", STRATA_INT, offsetof(struct events_conf, limit), .integer = { 100, 1, 10000 },
	  .letter = 'n', .help = "so many at once" },
	{ "interval", STRATA_DURATION, offsetof(struct events_conf, interval_ns),
	  .integer = { STRATA_SECOND_NS, STRATA_MS_NS, STRATA_HOUR_NS },
	  .help = "how often --follow looks" },
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
	bool seen; /* something was printed */
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
	client_query(&path, "after", after);
	client_query(&path, "limit", limit);
	int rc = service_get(cli, &path, &json);

	if (rc)
		return rc;
	const json_t *events = json_object_get(json, "events");
	size_t count = json_array_size(events);

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

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct events_conf *conf = conf_any;
	struct paging paging = { .conf = conf, .after = conf->after };
	int rc;

	(void)operands, (void)operand_count;
	do {
		rc = print_page(cli, &paging);
		cli_flush(cli);
		if (rc == 0 && conf->follow)
			follow_sleep(conf->interval_ns);
	} while (rc == 0 && conf->follow);
	if (rc == 0 && !paging.seen && !cli->globals.json)
		cli_note(cli, "nothing has happened yet; `strata events -f` waits for it");
	return rc;
}

const struct cli_command cli_events = {
	.name = "events",
	.summary = "show what has happened",
	.about = "Each event has a number; --after goes on behind one.",
	.examples = "  strata events -n 20\n"
		    "  strata events -f",
	.options = &events_schema,
	.run = run,
};
