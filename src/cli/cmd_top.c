/*
 * strata top: the cluster on one screen, drawn again and again: how full the nodes are, what runs,
 * what waits, why, and until when.
 */
#include "cli/service.h"

#include <string.h>
#include <unistd.h>

struct top_conf {
	int64_t interval_ns, times;
	bool once;
};

static const struct strata_option top_options[] = {
	{ "interval", STRATA_DURATION, offsetof(struct top_conf, interval_ns),
	  .integer = { 2 * STRATA_SECOND_NS, 10 * STRATA_MS_NS, STRATA_HOUR_NS },
	  .help = "how often to look" },
	{ "times", STRATA_INT, offsetof(struct top_conf, times), .integer = { 0, 0, INT64_MAX },
	  .help = "so often, then end (0: until q or ctrl-C)" },
	{ "once", STRATA_BOOL, offsetof(struct top_conf, once),
	  .help = "print it once; so it is where the output is no terminal" },
	{ 0 }
};
static const struct strata_schema top_schema = { "top", NULL, sizeof(struct top_conf),
						 top_options };

enum { BAR_CELLS = 10, LINES_AROUND = 9, NODES_MIN = 3 };

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* ---- nodes ---- */

/* What a node has of something, and what of it is free. */
struct amount {
	const char *all, *free, *title;
	double unit; /* in which it is shown */
};
static const struct amount amounts[] = {
	{ "gpus", "gpus_free", "GPUs", 1 },
	{ "cpus", "cpus_free", "CPUs", 1 },
	{ "memory_bytes", "memory_free_bytes", "GiB", 1 << 30 },
};

static enum cli_style fullness(double part)
{
	return part > 0.95 ? CLI_RED : part > 0.7 ? CLI_YELLOW : CLI_GREEN;
}

/* "██████░░░░ 5/8"; "-" where there is none. */
static void add_bar(struct buf *buf, double used, double all)
{
	if (all <= 0) {
		buf_add_char(buf, '-');
		return;
	}
	grid_bar(buf, used / all, BAR_CELLS);
	buf_printf(buf, " %.3g/%.4g", used, all);
}

static void amount_cell(const struct grid_cell *cell)
{
	const struct amount *amount = amounts;
	struct buf buf;

	while (strcmp(amount->all, cell->key) != 0)
		amount++;
	double all = number(cell->row, amount->all);
	double used = all - number(cell->row, amount->free);

	buf_init(&buf, &cell->cli->memory, 0);
	add_bar(&buf, used / amount->unit, all / amount->unit);
	cli_table_add_styled(cell->table, all > 0 ? fullness(used / all) : CLI_DIM, "%s", buf.text);
	buf_fini(&buf);
}

static void state_cell(const struct grid_cell *cell)
{
	const char *state = grid_string(cell->row, "state");
	bool up = state && strcmp(state, "up") == 0;

	cli_table_add_styled(cell->table, up ? CLI_PLAIN : CLI_YELLOW, "%s", state ? state : "?");
}

static void jobs_cell(const struct grid_cell *cell)
{
	cli_table_add(cell->table, "%zu", json_array_size(json_object_get(cell->row, "jobs")));
}

static const struct grid_column node_bars[] = {
	{ { .title = "NODE", .style = CLI_BOLD, .flexible = true }, grid_text, "name" },
	{ { .title = "STATE" }, state_cell, NULL },
	{ { .title = "GPUS" }, amount_cell, "gpus" },
	{ { .title = "CPUS" }, amount_cell, "cpus" },
	{ { .title = "MEMORY, GIB" }, amount_cell, "memory_bytes" },
	{ { .title = "JOBS", .right = true }, jobs_cell, NULL },
};

/* ---- the screen ---- */

struct look {
	json_t *nodes, *queue; /* answers */
	json_t *running, *waiting;
};

static void free_look(struct look *look)
{
	json_decref(look->nodes);
	json_decref(look->queue);
	json_decref(look->running);
	json_decref(look->waiting);
}

static int take_look(struct cli *cli, struct look *look)
{
	json_t *job;
	size_t i;
	int rc = service_list(cli, "nodes", &look->nodes);

	if (rc == 0)
		rc = service_list(cli, "queue", &look->queue);
	if (rc)
		return rc;
	look->running = json_array();
	look->waiting = json_array();
	json_array_foreach(json_object_get(look->queue, "jobs"), i, job) json_array_append(
		json_array_size(json_object_get(job, "node_names")) ? look->running : look->waiting,
		job);
	return look->running && look->waiting ? 0 : strata_fail_memory(&cli->err);
}

static void print_totals(struct cli *cli, const struct look *look)
{
	const json_t *nodes = json_object_get(look->nodes, "nodes");
	int64_t now_ns = when_now_ns();
	char time[STRATA_FORM_BYTES];

	cli_printf(cli, "%s%s%s  %zu node%s, %zu running, %zu waiting\n", cli_style(cli, CLI_BOLD),
		   when_print(now_ns, now_ns, time), cli_style(cli, CLI_PLAIN),
		   json_array_size(nodes), cli_plural(json_array_size(nodes)),
		   json_array_size(look->running), json_array_size(look->waiting));
	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
		double all = 0, used = 0;
		struct buf bar;

		for (size_t k = 0; k < json_array_size(nodes); k++) {
			const json_t *node = json_array_get(nodes, k);

			all += number(node, amounts[i].all) / amounts[i].unit;
			used += (number(node, amounts[i].all) - number(node, amounts[i].free)) /
				amounts[i].unit;
		}
		if (all <= 0)
			continue;
		buf_init(&bar, &cli->memory, 0);
		add_bar(&bar, used, all);
		cli_printf(cli, "%s%s %s%s%s", i ? "   " : "", amounts[i].title,
			   cli_style(cli, fullness(used / all)), bar.text,
			   cli_style(cli, CLI_PLAIN));
		buf_fini(&bar);
	}
	cli_print(cli, "\n");
}

/* At most `room` rows (0: all), and how many more there are. */
static int print_part(struct cli *cli, const struct grid_column *columns, size_t column_count,
		      const json_t *rows, size_t room)
{
	size_t count = json_array_size(rows);

	if (count == 0)
		return 0;
	cli_print(cli, "\n");
	int rc = grid_print(cli, columns, column_count, rows, room);

	if (room && count > room)
		cli_printf(cli, "… and %zu more\n", count - room);
	return rc;
}

/* The rows of a terminal among nodes, running and waiting jobs: none gets more than it can use. */
static void share_rows(const struct cli *cli, const struct look *look, size_t ret_rooms[3])
{
	const size_t wanted[3] = { json_array_size(json_object_get(look->nodes, "nodes")),
				   json_array_size(look->running), json_array_size(look->waiting) };
	size_t left = cli->rows > LINES_AROUND + 3 * NODES_MIN ? (size_t)cli->rows - LINES_AROUND
							       : 3 * NODES_MIN;

	for (size_t i = 0; i < 3; i++) {
		size_t fair = left / (3 - i), later = 0;

		for (size_t k = i + 1; k < 3; k++)
			later += wanted[k];
		if (later < left - fair)
			fair = left - later;
		ret_rooms[i] = wanted[i] < fair ? wanted[i] : fair > 1 ? fair - 1 : 1;
		left -= wanted[i] < fair ? wanted[i] : fair;
		if (cli->rows == 0)
			ret_rooms[i] = 0;
	}
}

static int draw(struct cli *cli, void *context)
{
	struct look look = { 0 };
	size_t rooms[3];
	int rc = take_look(cli, &look);

	(void)context;
	if (rc == 0 && cli->globals.json) {
		json_t *at = json_object_get(look.queue, "at");

		rc = cli_print_json(cli, json_pack("{s:O?,s:O?,s:O?,s:O?}", "at", at, "nodes",
						   json_object_get(look.nodes, "nodes"), "jobs",
						   json_object_get(look.queue, "jobs"), "counts",
						   json_object_get(look.queue, "counts")));
	} else if (rc == 0) {
		share_rows(cli, &look, rooms);
		print_totals(cli, &look);
		rc = print_part(cli, node_bars, sizeof(node_bars) / sizeof(node_bars[0]),
				json_object_get(look.nodes, "nodes"), rooms[0]);
		if (rc == 0)
			rc = print_part(cli, job_columns, job_column_count, look.running, rooms[1]);
		if (rc == 0)
			rc = print_part(cli, job_columns, job_column_count, look.waiting, rooms[2]);
	}
	free_look(&look);
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct top_conf *conf = conf_any;
	bool terminal = isatty(STDOUT_FILENO) && cli->color;
	struct screen screen = { .interval_ns = conf->interval_ns,
				 .times = conf->once || (!terminal && !conf->times) ? 1
										    : conf->times,
				 .keys = !conf->once,
				 .draw = draw };

	(void)operands, (void)operand_count;
	return screen_run(cli, &screen);
}

const struct cli_command cli_top = {
	.name = "top",
	.summary = "show nodes, running and waiting jobs on one screen, live",
	.about = "Bars show what is in use. Waiting jobs come in the order in which they are "
		 "considered, with the reason and the\n"
		 "expected start (≈), or the promised one (by). q or ctrl-C ends it, any other key "
		 "draws it at once.",
	.examples = "  strata top\n"
		    "  strata top --once\n"
		    "  strata top --json | jq .counts",
	.options = &top_schema,
	.run = run,
};
