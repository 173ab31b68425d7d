/* strata checkpoints: what a job could continue from. */
#include "cli/service.h"

struct checkpoints_conf {
	bool forget;
};

static const struct strata_option checkpoints_options[] = {
	{ "forget", STRATA_BOOL, offsetof(struct checkpoints_conf, forget),
	  .help = "forget them: the job starts over" },
	{ 0 }
};
static const struct strata_schema checkpoints_schema = { "checkpoints", NULL,
							 sizeof(struct checkpoints_conf),
							 checkpoints_options };

/* Yes, not yet, or what went wrong; where nothing is copied there is no such column. */
static void copied_cell(const struct grid_cell *cell)
{
	const json_t *copied = json_object_get(cell->row, cell->key);
	const char *why = grid_string(cell->row, "not_copied");

	cli_table_add(cell->table, "%s",
		      !copied			? "-"
		      : json_is_true(copied) ? "yes"
		      : why		? why
					: "not yet");
}

static const struct grid_column columns[] = {
	{ { .title = "STEP", .right = true }, grid_text, "step" },
	{ { .title = "TIME" }, grid_time, "time" },
	{ { .title = "SIZE", .right = true }, grid_size, "size_bytes" },
	{ { .title = "COPIED", .optional = true }, copied_cell, "copied" },
	{ { .title = "PATH", .flexible = true }, grid_text, "path" },
};

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct checkpoints_conf *conf = conf_any;
	struct buf path;
	json_t *json;

	(void)operand_count;
	service_path(cli, &path, "jobs", operands[0], "/checkpoints");
	if (!conf->forget)
		return grid_collection(cli, &path, "checkpoints", columns,
				       sizeof(columns) / sizeof(columns[0]),
				       "the job has no checkpoints; `strata submit --checkpoint "
				       "10m` asks a job for them");
	int rc = service_ask(cli, "DELETE", &path, NULL, &json);

	if (rc || service_printed(cli, json, &rc))
		return rc;
	json_decref(json);
	cli_printf(cli, "the checkpoints of job %s are forgotten\n", operands[0]);
	return 0;
}

const struct cli_command cli_checkpoints = {
	.name = "checkpoints",
	.operands = "ID",
	.summary = "show what a job could continue from",
	.examples = "  strata checkpoints 17",
	.options = &checkpoints_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
