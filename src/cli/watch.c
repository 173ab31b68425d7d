/* Watching a collection: see watch.h. */
#include "cli/watch.h"

#include <inttypes.h>
#include <string.h>

const struct strata_option watch_options[] = {
	{ "interval", STRATA_DURATION, offsetof(struct watch_conf, interval_ns),
	  .integer = { 2 * STRATA_SECOND_NS, STRATA_MS_NS, STRATA_HOUR_NS },
	  .help = "how often to look" },
	{ "times", STRATA_INT, offsetof(struct watch_conf, times), .integer = { 0, 0, INT64_MAX },
	  .help = "so often, then end (0: until stopped)" },
	{ "me", STRATA_BOOL, offsetof(struct watch_conf, me), .help = "only your own" },
	{ "user", STRATA_TEXT, offsetof(struct watch_conf, user), .letter = 'u', .value = "NAME",
	  .help = "only this user's" },
	{ 0 }
};
struct watching {
	const struct watch_kind *kind;
	const char *user;
	json_t *known; /* id as text → state; what was last printed */
};

static int get_rows(struct cli *cli, const struct watching *watching, json_t **ret_json)
{
	struct buf path;

	service_path(cli, &path, watching->kind->collection, NULL, NULL);
	client_query(&path, "user", watching->user);
	client_query(&path, watching->kind->state, watching->kind->only);
	return service_get(cli, &path, ret_json);
}

static int draw_screen(struct cli *cli, const struct watch_kind *kind, const json_t *json)
{
	const json_t *rows = json_object_get(json, kind->rows);
	size_t count = json_array_size(rows), room = cli->rows > 6 ? (size_t)cli->rows - 4 : 0;
	int64_t now_ns = when_now_ns();
	char text[STRATA_FORM_BYTES];

	cli_printf(cli, "%s%zu %s%s at %s; ctrl-C ends\n\n", cli_style(cli, CLI_PLAIN), count,
		   kind->noun, cli_plural(count), when_print(now_ns, now_ns, text));
	int rc = grid_print(cli, kind->columns, *kind->column_count, rows, room);

	if (room && count > room)
		cli_printf(cli, "… and %zu more\n", count - room);
	return rc;
}

/* Prints one whose state is not the one known. */
static int print_changed(struct cli *cli, struct watching *watching, const json_t *row)
{
	const char *state = grid_string(row, watching->kind->state);
	char id[24];

	snprintf(id, sizeof(id), "%" PRId64, grid_int(row, "id"));
	const char *known = grid_string(watching->known, id);

	if (!state || (known && strcmp(known, state) == 0))
		return 0;
	if (json_object_set_new(watching->known, id, json_string(state)))
		return strata_fail_memory(&cli->err);
	return watching->kind->say(cli, id, row);
}

/* One that is no longer in the list has ended: how, it says itself. */
static int print_gone(struct cli *cli, struct watching *watching, const json_t *rows)
{
	json_t *here = json_object(), *value, *row;
	const char *id;
	void *next;
	size_t i;
	int rc = here ? 0 : strata_fail_memory(&cli->err);

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		char text[24];

		snprintf(text, sizeof(text), "%" PRId64, grid_int(row, "id"));
		json_object_set_new(here, text, json_true());
	}
	json_object_foreach_safe(watching->known, next, id, value)
	{
		struct buf path;

		if (rc || json_object_get(here, id))
			continue;
		service_path(cli, &path, watching->kind->rows, id, NULL);
		rc = service_get(cli, &path, &row);
		if (rc)
			continue;
		watching->kind->say(cli, id, row);
		json_decref(row);
		json_object_del(watching->known, id);
	}
	json_decref(here);
	return rc;
}

static int draw(struct cli *cli, void *context)
{
	struct watching *watching = context;
	json_t *json, *row;
	size_t i;
	int rc = get_rows(cli, watching, &json);

	if (rc)
		return rc;
	if (cli->globals.json) {
		rc = cli_print_json(cli, json_incref(json));
	} else if (cli->rows && cli->color) {
		rc = draw_screen(cli, watching->kind, json);
	} else {
		json_array_foreach(json_object_get(json, watching->kind->rows), i, row)
			if (rc == 0) rc = print_changed(cli, watching, row);
		if (rc == 0)
			rc = print_gone(cli, watching,
					json_object_get(json, watching->kind->rows));
	}
	json_decref(json);
	return rc;
}

int watch_all(struct cli *cli, const struct watch_kind *kind, const struct watch_conf *conf)
{
	struct watching watching = { .kind = kind,
				     .user = conf->me ? service_own_name(cli) : conf->user,
				     .known = json_object() };
	struct screen screen = { .interval_ns = conf->interval_ns,
				 .times = conf->times,
				 .draw = draw,
				 .context = &watching };
	int rc = watching.known ? screen_run(cli, &screen) : strata_fail_memory(&cli->err);

	json_decref(watching.known);
	return rc;
}
