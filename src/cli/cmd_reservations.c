/* strata reservations: what is kept for whom and when; keeping nodes or GPUs, and letting them
 * go. */
#include "cli/entities.h"

#include <strata/limits.h>
#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

/* ---- show ---- */

/* "n1, n2, n3:0,1": nodes, and GPUs by their node. */
static void what_cell(const struct grid_cell *cell)
{
	static const char *const lists[] = { "gpus", "pieces" };
	struct buf buf;
	size_t index;
	json_t *item;

	buf_init(&buf, &cell->cli->memory, 0);
	json_array_foreach(json_object_get(cell->row, "nodes"), index, item)
		buf_printf(&buf, "%s%s", buf.length ? ", " : "", json_string_value(item));
	for (size_t list = 0; list < sizeof(lists) / sizeof(lists[0]); list++)
		json_array_foreach(json_object_get(cell->row, lists[list]), index, item)
		{
			json_t *id;
			size_t at;

			buf_printf(&buf, "%s%s", buf.length ? ", " : "", grid_string(item, "node"));
			json_array_foreach(json_object_get(item, "gpu_ids"), at, id)
				buf_printf(&buf, "%c%" JSON_INTEGER_FORMAT, at ? ',' : ':',
					   json_integer_value(id));
		}
	cli_table_add_buf(cell->table, &buf, "-");
}

static void name_cell(const struct grid_cell *cell)
{
	const char *name = grid_string(cell->row, "name");

	cli_table_add(cell->table, "%s", name ? name : grid_string(cell->row, "job_id"));
}

/* Under whichever of the two names it has: ours, or of what others have taken. */
static void time_cell(const struct grid_cell *cell)
{
	struct grid_cell either = *cell;

	if (!json_object_get(cell->row, "name"))
		either.key = strcmp(cell->key, "from") == 0 ? "since" : "until";
	grid_time(&either);
}

/* "ann, account lab"; "-" where it is for none (nobody is a user of most machines). */
static void whom_cell(const struct grid_cell *cell)
{
	struct buf buf;
	size_t index;
	json_t *name;

	buf_init(&buf, &cell->cli->memory, 0);
	json_array_foreach(json_object_get(cell->row, "users"), index, name)
		buf_printf(&buf, "%s%s", buf.length ? ", " : "", json_string_value(name));
	json_array_foreach(json_object_get(cell->row, "accounts"), index, name)
		buf_printf(&buf, "%saccount %s", buf.length ? ", " : "", json_string_value(name));
	cli_table_add_buf(cell->table, &buf,
			  json_object_get(cell->row, "name") ? "-" : "others' work");
}

static const struct grid_column columns[] = {
	{ { .title = "NAME", .style = CLI_BOLD }, name_cell, NULL },
	{ { .title = "FROM" }, time_cell, "from" },
	{ { .title = "TO" }, time_cell, "to" },
	{ { .title = "REPEAT" }, grid_text, "repeat" },
	{ { .title = "NODES", .flexible = true }, what_cell, NULL },
	{ { .title = "FOR", .flexible = true }, whom_cell, NULL },
	{ { .title = "REASON", .flexible = true }, grid_text, "reason" },
};

static int show(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct buf path;

	(void)conf, (void)operands, (void)operand_count;
	service_path(cli, &path, "reservations", NULL, NULL);
	return grid_collection(cli, &path, "reservations", columns,
			       sizeof(columns) / sizeof(columns[0]), "nothing is reserved");
}

/* ---- set ---- */

struct set_conf {
	const char *nodes, *from, *to, *reason;
	struct strata_list gpus, users, accounts; /* of const char * */
	int64_t duration_ns;
	int repeat;
};

#define OFFSET(field) offsetof(struct set_conf, field)
static const struct strata_option one_name = { .type = STRATA_TEXT };
static const struct strata_choice repeats[] = { { "no", 0, "once" },
						{ "daily", 1, "at the same time every day" },
						{ "weekly", 2, "on the same day every week" },
						{ 0 } };
static const struct strata_option set_options[] = {
	{ "nodes", STRATA_TEXT, OFFSET(nodes), .value = "LIST",
	  .help = "whole nodes: n1,n[3-4], or all" },
	{ "gpus", STRATA_LIST, OFFSET(gpus), .list = { &one_name, 4096 }, .value = "NODE:ID,…",
	  .help = "or single GPUs by their numbers: n1:0,1,n2:0" },
	{ "from", STRATA_TEXT, OFFSET(from), .value = "TIME",
	  .help = "when it begins, as 22:00, tomorrow or 2026-12-24T08:00; none: now" },
	{ "to", STRATA_TEXT, OFFSET(to), .value = "TIME", .help = "when it ends" },
	{ "for", STRATA_DURATION, OFFSET(duration_ns), .integer = { 0, 0, STRATA_DURATION_NS_MAX },
	  .unit = "s", .help = "or how long it lasts: 2h" },
	{ "repeat", STRATA_ENUM, OFFSET(repeat), .choice = { repeats, 0 },
	  .help = "whether it comes again" },
	{ "users", STRATA_LIST, OFFSET(users), .list = { &one_name, STRATA_ALLOWED_NAMES_MAX },
	  .help = "who may use it: ann,bob" },
	{ "accounts", STRATA_LIST, OFFSET(accounts),
	  .list = { &one_name, STRATA_ALLOWED_NAMES_MAX },
	  .help = "whose jobs may use it; without users and accounts nobody's" },
	{ "reason", STRATA_TEXT, OFFSET(reason), .letter = 'r', .value = "TEXT",
	  .help = "why, for the others" },
	{ 0 }
};
static const struct strata_schema set_schema = { "reservations set", NULL, sizeof(struct set_conf),
						 set_options };

static json_t *texts(const struct strata_list *list)
{
	const char *const *names = list->items;
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, json_string(names[i]));
	return array;
}

/* "n1:0", "1", "n2:3" become GPUs 0 and 1 of n1 and 3 of n2. */
static int read_gpus(struct cli *cli, const struct strata_list *list, json_t *gpus)
{
	const char *const *words = list->items;
	json_t *ids = NULL;

	for (size_t i = 0; i < list->count; i++) {
		const char *colon = strrchr(words[i], ':'), *number = colon ? colon + 1 : words[i];
		int64_t id;

		if ((!colon && !ids) || colon == words[i] ||
		    strata_int_parse(number, STRATA_TEXT_NUL, 0, 65535, &id, NULL))
			return strata_fail_at(&cli->err, -EINVAL, "gpus",
					      "--gpus '%.60s' is not a node and a number; expected "
					      "n1:0,1",
					      words[i]);
		if (colon) {
			ids = json_array();
			json_array_append_new(gpus, json_pack("{s:s%,s:o}", "node", words[i],
							      (size_t)(colon - words[i]), "gpu_ids",
							      ids));
		}
		json_array_append_new(ids, json_integer(id));
	}
	return 0;
}

static int set_time(struct cli *cli, json_t *body, const char *key, const char *text)
{
	char printed[STRATA_FORM_BYTES];
	int64_t ns, now_ns = when_now_ns();

	if (!text)
		return 0;
	if (strata_begin_parse(text, STRATA_TEXT_NUL, now_ns, when_zone(now_ns), &ns, NULL))
		return strata_fail_at(&cli->err, -EINVAL, key,
				      "--%s '%.60s' is not a time; expected 22:00, tomorrow, "
				      "now+2hours or 2026-12-24T08:00",
				      key, text);
	json_object_set_new(body, key, json_string(strata_time_print(ns, printed)));
	return 0;
}

static int fill(struct cli *cli, const struct set_conf *conf, json_t *body)
{
	json_t *gpus = json_array();
	int rc = read_gpus(cli, &conf->gpus, gpus);

	if (conf->gpus.count)
		json_object_set(body, "gpus", gpus);
	json_decref(gpus);
	if (rc == 0)
		rc = set_time(cli, body, "from", conf->from);
	if (rc == 0)
		rc = set_time(cli, body, "to", conf->to);
	if (conf->nodes)
		json_object_set_new(body, "nodes", json_pack("[s]", conf->nodes));
	if (conf->duration_ns)
		json_object_set_new(body, "duration",
				    json_real((double)conf->duration_ns / STRATA_SECOND_NS));
	if (conf->reason)
		json_object_set_new(body, "reason", json_string(conf->reason));
	json_object_set_new(body, "repeat", json_string(repeats[conf->repeat].name));
	json_object_set_new(body, "users", texts(&conf->users));
	json_object_set_new(body, "accounts", texts(&conf->accounts));
	return rc;
}

static int set(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	json_t *body = json_object(), *json = NULL;
	int rc = body ? fill(cli, conf, body) : strata_fail_memory(&cli->err);
	struct buf path;

	(void)operand_count;
	if (rc) {
		json_decref(body);
		return rc;
	}
	service_path(cli, &path, "reservations", operands[0], NULL);
	rc = service_ask(cli, "PUT", &path, body, &json);
	if (rc || service_printed(cli, json, &rc))
		return rc;
	int64_t now_ns = when_now_ns();
	char from[STRATA_FORM_BYTES], to[STRATA_FORM_BYTES];

	cli_printf(cli, "reservation %s: from %s to %s\n", operands[0],
		   when_print(when_json(json, "from"), now_ns, from),
		   when_print(when_json(json, "to"), now_ns, to));
	json_decref(json);
	return 0;
}

/* ---- delete ---- */

static int delete (struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return entities_delete(cli, operands, operand_count);
}

const struct cli_command cli_reservations = {
	.name = "reservations",
	.summary = "show what is reserved, for whom and when",
	.about = "Jobs are planned around what is reserved: one that would still run when a "
		 "reservation of others\n"
		 "begins starts elsewhere, or after it; `strata why` names it.",
	.examples = "  strata reservations\n"
		    "  strata reservations set disks --nodes n1,n2 --from 22:00 --for 2h --reason "
		    "'new disks'",
	.run = show,
};
const struct cli_command cli_reservations_set = {
	.name = "reservations set",
	.operands = "NAME",
	.summary = "keep nodes or GPUs for some, from a time to a time",
	.about =
		"Without users and accounts nobody may use them: a maintenance window. What runs "
		"there when it begins\n"
		"goes on; jobs whose time limit would reach into it do not start there. Setting it "
		"again changes it. For\noperators.",
	.examples = "  strata reservations set disks --nodes all --from 'tomorrow 06:00' --for 2h\n"
		    "  strata reservations set course --gpus n1:0,1 --users ann,bob --to 18:00\n"
		    "  strata reservations set nightly --nodes n3 --from 03:00 --for 30m --repeat "
		    "daily",
	.options = &set_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = set,
};
const struct cli_command cli_reservations_delete = {
	.name = "reservations delete",
	.operands = "NAME…",
	.summary = "let what was reserved be used again",
	.about = "For operators.",
	.examples = "  strata reservations delete disks",
	.operands_min = 1,
	.operands_max = -1,
	.run = delete,
};
