/*
 * strata top: the cluster on one screen, drawn again and again: how full the nodes are, what runs,
 * what waits, why, and until when; and the generation tasks that wait or are being drawn.
 */
#include "cli/task.h"

#include <errno.h>
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

enum { NODES, RUNNING, WAITING, TASKS, PART_COUNT };
enum { BAR_CELLS = 10, LINES_TOP = 3, LINES_AROUND = 2, ROWS_MIN = 3 };

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
	json_t *nodes, *queue, *tasks; /* answers */
	json_t *parts[PART_COUNT];     /* what is shown of them */
};

static void free_look(struct look *look)
{
	json_decref(look->nodes);
	json_decref(look->queue);
	json_decref(look->tasks);
	for (size_t i = 0; i < PART_COUNT; i++)
		json_decref(look->parts[i]);
}

/* A service without tasks has none to show. */
static int get_tasks(struct cli *cli, json_t **ret_json)
{
	struct buf path;

	service_path(cli, &path, "tasks", NULL, NULL);
	client_query(&path, "status", "pending,encoding,denoising,decoding");
	int rc = service_get(cli, &path, ret_json);

	if (rc != -ENOENT)
		return rc;
	*ret_json = json_object();
	return 0;
}

/* For programs each job, for people arrays as one row. */
static int get_queue(struct cli *cli, json_t **ret_json)
{
	struct buf path;

	service_path(cli, &path, "queue", NULL, NULL);
	client_query(&path, "collapse", cli->globals.json ? NULL : "1");
	return service_get(cli, &path, ret_json);
}

/* So many jobs are in a list, of which a row may be several. */
static size_t count_jobs(const json_t *rows)
{
	size_t count = 0, i;
	const json_t *row;

	json_array_foreach(rows, i, row)
	{
		int64_t elements = grid_int(row, "elements");

		count += elements > 1 ? (size_t)elements : 1;
	}
	return count;
}

static int take_look(struct cli *cli, struct look *look)
{
	json_t *job;
	size_t i;
	int rc = service_list(cli, "nodes", &look->nodes);

	if (rc == 0)
		rc = get_queue(cli, &look->queue);
	if (rc == 0)
		rc = get_tasks(cli, &look->tasks);
	if (rc)
		return rc;
	look->parts[NODES] = json_incref(json_object_get(look->nodes, "nodes"));
	look->parts[TASKS] = json_incref(json_object_get(look->tasks, "tasks"));
	look->parts[RUNNING] = json_array();
	look->parts[WAITING] = json_array();
	json_array_foreach(json_object_get(look->queue, "jobs"), i, job) json_array_append(
		look->parts[json_array_size(json_object_get(job, "node_names")) ? RUNNING : WAITING],
		job);
	return look->parts[RUNNING] && look->parts[WAITING] ? 0 : strata_fail_memory(&cli->err);
}

static void print_totals(struct cli *cli, const struct look *look)
{
	const json_t *nodes = look->parts[NODES];
	size_t tasks = json_array_size(look->parts[TASKS]);
	int64_t now_ns = when_now_ns();
	char time[STRATA_FORM_BYTES];

	cli_printf(cli, "%s%s%s  %zu node%s, %zu running, %zu waiting", cli_style(cli, CLI_BOLD),
		   when_print(now_ns, now_ns, time), cli_style(cli, CLI_PLAIN),
		   json_array_size(nodes), cli_plural(json_array_size(nodes)),
		   count_jobs(look->parts[RUNNING]), count_jobs(look->parts[WAITING]));
	if (tasks)
		cli_printf(cli, ", %zu generation task%s", tasks, cli_plural(tasks));
	cli_print(cli, "\n");
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

/* The rows of a terminal among the parts: none gets more than it can use. */
static void share_rows(const struct cli *cli, const struct look *look, size_t ret_rooms[PART_COUNT])
{
	size_t around = LINES_TOP, parts = 0, left;

	for (size_t i = 0; i < PART_COUNT; i++)
		parts += json_array_size(look->parts[i]) > 0;
	around += parts * LINES_AROUND;
	left = (size_t)cli->rows > around + parts * ROWS_MIN ? (size_t)cli->rows - around
							     : parts * ROWS_MIN;
	for (size_t i = 0; i < PART_COUNT; i++) {
		size_t wanted = json_array_size(look->parts[i]), later = 0;

		ret_rooms[i] = 0;
		if (wanted == 0)
			continue;
		size_t fair = left / parts--;

		for (size_t k = i + 1; k < PART_COUNT; k++)
			later += json_array_size(look->parts[k]);
		if (later < left - fair)
			fair = left - later;
		ret_rooms[i] = wanted < fair ? wanted : fair > 1 ? fair - 1 : 1;
		left -= wanted < fair ? wanted : fair;
		if (cli->rows == 0)
			ret_rooms[i] = 0;
	}
}

static int print_parts(struct cli *cli, const struct look *look)
{
	const struct {
		const struct grid_column *columns;
		size_t count;
	} how[PART_COUNT] = {
		[NODES] = { node_bars, sizeof(node_bars) / sizeof(node_bars[0]) },
		[RUNNING] = { job_columns, job_column_count },
		[WAITING] = { job_columns, job_column_count },
		[TASKS] = { task_columns, task_column_count },
	};
	size_t rooms[PART_COUNT];
	int rc = 0;

	share_rows(cli, look, rooms);
	print_totals(cli, look);
	for (size_t i = 0; rc == 0 && i < PART_COUNT; i++)
		rc = print_part(cli, how[i].columns, how[i].count, look->parts[i], rooms[i]);
	return rc;
}

static int draw(struct cli *cli, void *context)
{
	struct look look = { 0 };
	int rc = take_look(cli, &look);

	(void)context;
	if (rc == 0 && cli->globals.json) {
		json_t *at = json_object_get(look.queue, "at");

		rc = cli_print_json(
			cli, json_pack("{s:O?,s:O?,s:O?,s:O?,s:O?}", "at", at, "nodes",
				       look.parts[NODES], "jobs",
				       json_object_get(look.queue, "jobs"), "counts",
				       json_object_get(look.queue, "counts"), "tasks",
				       look.parts[TASKS]));
	} else if (rc == 0) {
		rc = print_parts(cli, &look);
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
	.summary = "show nodes, jobs and generation tasks on one screen, live",
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
