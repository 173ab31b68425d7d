/* strata nodes: the machines, what is free on them, and taking them out of use. */
#include "cli/node_table.h"

#include <inttypes.h>
#include <string.h>

enum { BAR_CELLS = 8 };

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static void state_cell(const struct grid_cell *cell)
{
	const char *state = grid_string(cell->row, "state");
	enum cli_style style = !state                       ? CLI_PLAIN
			       : strcmp(state, "up") == 0   ? CLI_GREEN
			       : strcmp(state, "down") == 0 ? CLI_RED
							    : CLI_YELLOW;

	cli_table_add_styled(cell->table, style, "%s", state ? state : "?");
}

/* "████░░░░ 4/8": in use, of all. */
static void gpus_cell(const struct grid_cell *cell)
{
	double all = number(cell->row, "gpus"), used = all - number(cell->row, "gpus_free");
	struct buf buf;

	if (all <= 0) {
		cli_table_add(cell->table, "-");
		return;
	}
	buf_init(&buf, &cell->cli->memory, 0);
	grid_bar(&buf, used / all, BAR_CELLS);
	buf_printf(&buf, " %.3g/%.0f", used, all);
	cli_table_add_buf(cell->table, &buf, "");
}

static void cpus_cell(const struct grid_cell *cell)
{
	double all = number(cell->row, "cpus");

	cli_table_add(cell->table, "%.6g/%.6g", all - number(cell->row, "cpus_free"), all);
}

static void memory_cell(const struct grid_cell *cell)
{
	int64_t all = grid_int(cell->row, "memory_bytes");
	int64_t used = all - grid_int(cell->row, "memory_free_bytes");
	char used_text[STRATA_FORM_BYTES], all_text[STRATA_FORM_BYTES];

	cli_table_add(cell->table, "%s/%s", strata_size_print_short(used, used_text),
		      strata_size_print_short(all, all_text));
}

const struct grid_column node_columns[] = {
	{ { .title = "NODE", .style = CLI_BOLD }, grid_text, "name" },
	{ { .title = "STATE" }, state_cell, NULL },
	{ { .title = "GPUS" }, gpus_cell, NULL },
	{ { .title = "TYPE" }, grid_text, "gpu_type" },
	{ { .title = "CPUS", .right = true }, cpus_cell, NULL },
	{ { .title = "MEMORY", .right = true }, memory_cell, NULL },
	{ { .title = "FEATURES", .flexible = true, .optional = true }, grid_text, "features" },
	{ { .title = "PARTITIONS", .flexible = true, .optional = true }, grid_text, "partitions" },
	{ { .title = "RESERVED", .flexible = true, .optional = true }, grid_text, "reservations" },
	{ { .title = "JOBS", .flexible = true }, grid_text, "jobs" },
	{ { .title = "NOTE", .flexible = true }, grid_text, "reason" },
};
const size_t node_column_count = sizeof(node_columns) / sizeof(node_columns[0]);

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct buf path;

	(void)conf, (void)operands, (void)operand_count;
	service_path(cli, &path, "nodes", NULL, NULL);
	return grid_collection(cli, &path, "nodes", node_columns, node_column_count,
			       "the server has no nodes yet; its configuration names them");
}

const struct cli_command cli_nodes = {
	.name = "nodes",
	.summary = "show the machines and what is in use on them",
	.about = "GPUs, CPUs and memory are shown as used/all; features, partitions and "
		 "reservations where there are any.",
	.examples = "  strata nodes\n"
		    "  strata nodes drain n3 --reason 'new disk'",
	.run = run,
};
