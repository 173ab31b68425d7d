/*
 * strata top: the cluster on one screen, drawn again and again: how full the nodes are, what runs,
 * what waits, why, and until when; and the generation tasks that wait or are being drawn. At a
 * terminal a job can be selected, its log and its reasons looked at, and cancelled (top_view.h).
 */
#include "cli/task.h"
#include "cli/top_view.h"

#include "core/text.h"

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
enum { BAR_CELLS = 10, LINES_TOP = 3, LINES_AROUND = 2, LINES_KEYS = 1, ROWS_MIN = 3 };

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

/* ---- what jobs use ---- */

static void rate_cell(const struct grid_cell *cell)
{
	const json_t *value = json_object_get(cell->row, cell->key);

	if (value)
		cli_table_add(cell->table, "%.2f", json_number_value(value));
	else
		cli_table_add_styled(cell->table, CLI_DIM, "-");
}

static void size_cell(const struct grid_cell *cell)
{
	const json_t *value = json_object_get(cell->row, cell->key);
	char text[STRATA_FORM_BYTES];

	if (value)
		cli_table_add(cell->table, "%s",
			      strata_size_print_short(json_integer_value(value), text));
	else
		cli_table_add_styled(cell->table, CLI_DIM, "-");
}

/* Each is shown when it is known of a job. */
static const struct grid_column used_columns[] = {
	{ { .title = "CPU USE", .right = true }, rate_cell, "cpus_used" },
	{ { .title = "MEMORY", .right = true }, size_cell, "memory_used_bytes" },
	{ { .title = "GPU USE", .right = true }, rate_cell, "gpus_used" },
	{ { .title = "GPU MEMORY", .right = true }, size_cell, "gpu_memory_used_bytes" },
};
enum { USED_COUNT = sizeof(used_columns) / sizeof(used_columns[0]) };

static bool is_known(const json_t *rows, const char *key)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (json_object_get(row, key))
			return true;
	return false;
}

/* ---- the screen ---- */

struct look {
	json_t *nodes, *queue, *tasks, *problems; /* answers; the last may be NULL */
	json_t *parts[PART_COUNT];     /* what is shown of them */
};

static void free_look(struct look *look)
{
	json_decref(look->nodes);
	json_decref(look->queue);
	json_decref(look->tasks);
	json_decref(look->problems);
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

/* What the service finds wrong; an older one does not tell. */
static int get_problems(struct cli *cli, json_t **ret_json)
{
	struct strata_error before = cli->err;
	int rc = service_list(cli, "problems", ret_json);

	if (rc != -ENOENT)
		return rc;
	cli->err = before;
	*ret_json = NULL;
	return 0;
}

/* For programs each job, for people arrays as one row. */
static int get_queue(struct cli *cli, json_t **ret_json)
{
	struct buf path;

	service_path(cli, &path, "queue", NULL, NULL);
	client_query(&path, "collapse", cli->globals.json ? NULL : "1");
	client_query(&path, "used", "1");
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
		rc = get_problems(cli, &look->problems);
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

/* ", 2 problems: c2 is down", the gravest by its name. */
static void print_problems(struct cli *cli, const json_t *problems)
{
	size_t count = json_array_size(problems);
	const json_t *first = json_array_get(problems, 0);

	if (count)
		cli_printf(cli, ", %s%zu problem%s: %s%s",
			   cli_style(cli, json_is_true(json_object_get(first, "grave"))
						  ? CLI_RED
						  : CLI_YELLOW),
			   count, cli_plural(count),
			   grid_or(json_object_get(first, "title"), "?"),
			   cli_style(cli, CLI_PLAIN));
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
	print_problems(cli, json_object_get(look->problems, "problems"));
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

/* "▸" where the selection is. */
static void marker_cell(const struct grid_cell *cell)
{
	cli_table_add_styled(cell->table, CLI_BOLD, "%s",
			     json_object_get(cell->row, "selected") ? "▸" : " ");
}

/* The rows of a list from one on. */
static json_t *slice(const json_t *rows, size_t first)
{
	json_t *list = json_array();

	for (size_t i = first; i < json_array_size(rows); i++)
		json_array_append(list, json_array_get(rows, i));
	return list;
}

/* At most `room` rows from one on (0: all), and how many more there are. */
static int print_part(struct cli *cli, const struct grid_column *columns, size_t column_count,
		      const json_t *all, size_t first, size_t room)
{
	size_t count = json_array_size(all);

	if (count == 0)
		return 0;
	cli_print(cli, "\n");
	json_t *rows = slice(all, first);
	int rc = grid_print(cli, columns, column_count, rows, room);

	json_decref(rows);

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
	around += parts * LINES_AROUND + LINES_KEYS;
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

/* The columns of jobs, with what is known of their use, and room for the mark where somebody
 * sits. */
static const struct grid_column *columns_of_jobs(struct cli *cli, const struct top_view *view,
						 const json_t *rows, size_t *ret_count)
{
	static const struct grid_column marker = { { .title = " " }, marker_cell, NULL };
	struct grid_column *columns = strata_arena_array(
		&cli->arena, job_column_count + 1 + USED_COUNT, sizeof(*columns));
	size_t count = 0;

	*ret_count = job_column_count;
	if (!columns)
		return job_columns;
	if (view->keys)
		columns[count++] = marker;
	memcpy(columns + count, job_columns, job_column_count * sizeof(*columns));
	count += job_column_count;
	for (size_t i = 0; i < USED_COUNT; i++)
		if (is_known(rows, used_columns[i].key))
			columns[count++] = used_columns[i];
	*ret_count = count;
	return columns;
}

/* The last line: what can be done, or what is being asked. */
static void print_keys(struct cli *cli, const struct top_view *view)
{
	const char *dim = cli_style(cli, CLI_DIM), *plain = cli_style(cli, CLI_PLAIN);

	if (view->typing)
		cli_printf(cli, "\nfilter: %s▏", view->filter);
	else if (view->asks)
		cli_printf(cli, "\ncancel job %s? y for yes, any other key for no", view->selected);
	else if (view->note[0])
		cli_printf(cli, "\n%s", view->note);
	else
		cli_printf(cli,
			   "\n%s↑↓ select  l log  w why  c cancel  s sort: %s  / filter%s%s  ? "
			   "help  q quit%s",
			   dim, top_sort_name(view->sort), view->filter[0] ? ": " : "",
			   view->filter, plain);
}

static int print_parts(struct cli *cli, const struct look *look, const struct top_view *view)
{
	size_t running_count, waiting_count;
	const struct grid_column *jobs =
		columns_of_jobs(cli, view, look->parts[RUNNING], &running_count);
	const struct grid_column *rest =
		columns_of_jobs(cli, view, look->parts[WAITING], &waiting_count);
	const struct {
		const struct grid_column *columns;
		size_t count;
	} how[PART_COUNT] = {
		[NODES] = { node_bars, sizeof(node_bars) / sizeof(node_bars[0]) },
		[RUNNING] = { jobs, running_count },
		[WAITING] = { rest, waiting_count },
		[TASKS] = { task_columns, task_column_count },
	};
	size_t rooms[PART_COUNT], running = json_array_size(look->parts[RUNNING]);
	int rc = 0;

	share_rows(cli, look, rooms);
	print_totals(cli, look);
	for (size_t i = 0; rc == 0 && i < PART_COUNT; i++)
		rc = print_part(cli, how[i].columns, how[i].count, look->parts[i],
				i == RUNNING || i == WAITING
					? top_view_first(view, i == WAITING ? running : 0,
							 json_array_size(look->parts[i]), rooms[i])
					: 0,
				rooms[i]);
	if (rc == 0 && view->keys)
		print_keys(cli, view);
	return rc;
}

/* ---- what keys ask for ---- */

static void cancel_selected(struct cli *cli, struct top_view *view)
{
	json_t *json = NULL;
	struct buf path;

	view->cancels = false;
	job_path(cli, &path, view->selected);
	if (service_ask(cli, "DELETE", &path, NULL, &json))
		snprintf(view->note, sizeof(view->note), "%.150s", cli->err.text);
	else
		snprintf(view->note, sizeof(view->note), "job %s is cancelled", view->selected);
	json_decref(json);
}

static int add_bytes(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	(void)err;
	buf_add_bytes(context, bytes, count);
	return 0;
}

/* The end of what the job wrote, as many lines as there is room for. */
static int draw_log(struct cli *cli, const struct top_view *view)
{
	char lines[16];
	struct client *client;
	struct buf path, text;
	int rc = service_open(cli, &client);

	snprintf(lines, sizeof(lines), "%d",
		 cli->rows > LINES_TOP + 1 ? cli->rows - LINES_TOP : 20);
	service_path(cli, &path, "jobs", view->selected, "/output");
	client_query(&path, "tail", lines);
	buf_init(&text, &cli->memory, 1 << 20);
	if (rc == 0)
		rc = buf_check(&path, &cli->err);
	cli_printf(cli, "%sjob %s%s: the end of its output; any key leads back\n\n",
		   cli_style(cli, CLI_BOLD), view->selected, cli_style(cli, CLI_PLAIN));
	if (rc == 0 && client_stream(client, path.text, add_bytes, &text, &cli->err))
		cli_printf(cli, "%s\n", cli->err.text);
	for (const char *at = text.text; rc == 0 && at && *at;) {
		size_t length = strcspn(at, "\n");

		text_show(&cli->out, at, length);
		cli_print(cli, "\n");
		at += length + (at[length] == '\n');
	}
	buf_fini(&text);
	buf_fini(&path);
	return rc;
}

static int draw_why(struct cli *cli, const struct top_view *view)
{
	const json_t *sentence;
	json_t *json;
	struct buf path;
	size_t i;

	service_path(cli, &path, "jobs", view->selected, "/why");
	int rc = service_get(cli, &path, &json);

	if (rc)
		return service_away(rc) ? rc : (cli_printf(cli, "%s\n", cli->err.text), 0);
	json_array_foreach(json_object_get(json, "sentences"), i, sentence)
		cli_printf(cli, "%s\n", json_string_value(sentence));
	cli_print(cli, "\nany key leads back");
	json_decref(json);
	return 0;
}

static void draw_help(struct cli *cli)
{
	cli_print(cli, "↑ ↓ j k        select a job\n"
		       "PgUp PgDn g G  further, first, last\n"
		       "l or enter     the end of its output\n"
		       "w              why it waits\n"
		       "c              cancel it, after a question\n"
		       "s              sort by queue, user, GPUs or name\n"
		       "/              show only jobs with this in id, name, user, account, "
		       "partition or state; esc: all\n"
		       "q or ctrl-C    end\n"
		       "\nany key leads back");
}

/* The lists as they were chosen, and where the selection is. */
static int settle(struct cli *cli, struct look *look, struct top_view *view)
{
	json_t *lists[2];

	for (int part = RUNNING; part <= WAITING; part++) {
		json_t *chosen = top_view_choose(view, look->parts[part]);

		if (!chosen)
			return strata_fail_memory(&cli->err);
		json_decref(look->parts[part]);
		look->parts[part] = lists[part - RUNNING] = chosen;
	}
	top_view_settle(view, lists, 2);
	return 0;
}

static int draw(struct cli *cli, void *context)
{
	struct top_view *view = context;
	struct look look = { 0 };

	if (view->cancels)
		cancel_selected(cli, view);
	if (view->page == TOP_LOG)
		return draw_log(cli, view);
	if (view->page == TOP_WHY)
		return draw_why(cli, view);
	if (view->page == TOP_HELP) {
		draw_help(cli);
		return 0;
	}
	int rc = take_look(cli, &look);

	if (rc == 0 && view->keys)
		rc = settle(cli, &look, view);
	if (rc == 0 && cli->globals.json) {
		json_t *at = json_object_get(look.queue, "at");

		rc = cli_print_json(
			cli, json_pack("{s:O?,s:O?,s:O?,s:O?,s:O?,s:O?}", "at", at, "nodes",
				       look.parts[NODES], "jobs",
				       json_object_get(look.queue, "jobs"), "counts",
				       json_object_get(look.queue, "counts"), "tasks",
				       look.parts[TASKS], "problems",
				       json_object_get(look.problems, "problems")));
	} else if (rc == 0) {
		rc = print_parts(cli, &look, view);
	}
	free_look(&look);
	return rc;
}

static bool press(void *context, const char *bytes, size_t count)
{
	return top_view_key(context, bytes, count);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct top_conf *conf = conf_any;
	bool terminal = isatty(STDOUT_FILENO) && cli->color;
	struct top_view view = { .keys = terminal && isatty(STDIN_FILENO) && !conf->once &&
					 !cli->globals.json };
	struct screen screen = { .interval_ns = conf->interval_ns,
				 .times = conf->once || (!terminal && !conf->times) ? 1
										    : conf->times,
				 .keys = !conf->once,
				 .key = press,
				 .draw = draw,
				 .context = &view };

	(void)operands, (void)operand_count;
	int rc = screen_run(cli, &screen);

	if (view.keys)
		cli_print(cli, "\n"); /* behind the line of keys */
	return rc;
}

const struct cli_command cli_top = {
	.name = "top",
	.summary = "show nodes, jobs and generation tasks on one screen, live",
	.about = "Bars show what is in use. Waiting jobs come in the order in which they are "
		 "considered, with the reason and the\n"
		 "expected start (≈), or the promised one (by). CPU USE and GPU USE are how many "
		 "a job keeps busy by the last look,\n"
		 "shown of your own jobs (an operator's: of all). At a terminal arrows select a job, "
		 "l "
		 "shows its log, w why it\n"
		 "waits, c cancels it after a question; s sorts, / filters, ? shows all keys, q "
		 "ends "
		 "it.",
	.examples = "  strata top\n"
		    "  strata top --once\n"
		    "  strata top --json | jq .counts",
	.options = &top_schema,
	.run = run,
};
