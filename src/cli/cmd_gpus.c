/* strata gpus: every GPU, how much of it is free, and who has it. */
#include "cli/service.h"

static void free_cell(const struct grid_cell *cell)
{
	double part = json_number_value(json_object_get(cell->row, "free"));

	cli_table_add_styled(cell->table, part > 0 ? CLI_GREEN : CLI_DIM, "%.0f %%", part * 100);
}

static const struct grid_column columns[] = {
	{ { .title = "NODE", .style = CLI_BOLD }, grid_text, "node" },
	{ { .title = "GPU", .right = true }, grid_text, "index" },
	{ { .title = "TYPE" }, grid_text, "type" },
	{ { .title = "MEMORY", .right = true }, grid_size, "memory_bytes" },
	{ { .title = "NUMA", .right = true }, grid_text, "numa" },
	{ { .title = "FREE", .right = true }, free_cell, NULL },
	{ { .title = "JOBS" }, grid_text, "jobs" },
	{ { .title = "RESERVED FOR", .flexible = true }, grid_text, "reservations" },
	{ { .title = "UUID", .flexible = true }, grid_text, "uuid" },
};

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct buf path;

	(void)conf, (void)operands, (void)operand_count;
	service_path(cli, &path, "gpus", NULL, NULL);
	return grid_collection(cli, &path, "gpus", columns, sizeof(columns) / sizeof(columns[0]),
			       "no node has GPUs; `strata nodes` shows the nodes");
}

const struct cli_command cli_gpus = {
	.name = "gpus",
	.summary = "show every GPU and who has it",
	.examples = "  strata gpus\n"
		    "  strata gpus --json | jq '.gpus[] | select(.free == 1)'",
	.run = run,
};
