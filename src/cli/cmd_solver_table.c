/* strata solver table: the rows that a solver compiles to, for people and for programs. */
#include "cli/solver.h"

#include <strata/text.h>

#include <string.h>

static const struct strata_schema table_schema = { "solver table", NULL,
						   sizeof(struct solver_flags), solver_flag_rows };

static void add_term(struct buf *buf, double factor, const char *name, int index)
{
	char number[32];

	if (factor == 0)
		return;
	snprintf(number, sizeof(number), "%.5g", factor < 0 ? -factor : factor);
	buf_add(buf, buf->length ? (factor < 0 ? " - " : " + ") : factor < 0 ? "-" : "");
	if (strcmp(number, "1") != 0)
		buf_printf(buf, "%s ", number);
	buf_add(buf, name);
	if (index >= 0)
		buf_printf(buf, "%d", index);
}

/* "0.93 x - 0.1 m + 0.2 s0 + n" */
static void add_sum(struct buf *buf, const struct strata_solver_sum *sum)
{
	add_term(buf, sum->a, "x", -1);
	add_term(buf, sum->e, "m", -1);
	add_term(buf, sum->b, "y", -1);
	for (int k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		add_term(buf, sum->c[k], "s", k);
	add_term(buf, sum->d, "n", -1);
	if (buf->length == 0)
		buf_add_char(buf, '0');
}

static void add_row(struct cli *cli, struct cli_table *table, size_t index,
		    const struct strata_solver_row *row)
{
	struct buf next, writes, one;

	buf_init(&next, &cli->memory, 0);
	buf_init(&writes, &cli->memory, 0);
	buf_init(&one, &cli->memory, 0);
	add_sum(&next, &row->next);
	for (uint32_t w = 0; w < row->write_count; w++) {
		buf_reset(&one);
		add_sum(&one, &row->writes[w].sum);
		writes.failed |= one.failed;
		buf_printf(&writes, "%ss%u = %s", w ? ", " : "", row->writes[w].slot, one.text);
	}
	cli_table_add(table, "%zu", index);
	if (row->flags & STRATA_ROW_NO_MODEL)
		cli_table_add(table, "-");
	else
		cli_table_add(table, "%.6g", row->timestep);
	cli_table_add(table, "%.5g", row->input_scale);
	cli_table_add(table, "%.5g", row->alpha);
	cli_table_add(table, "%.5g", row->sigma);
	cli_table_add(table, "%s%s%s%s%s", row->flags & STRATA_ROW_CLIP ? "c" : "",
		      row->flags & STRATA_ROW_THRESHOLD ? "t" : "",
		      row->flags & STRATA_ROW_NOISE ? "n" : "",
		      row->flags & STRATA_ROW_UNGUIDED ? "u" : "",
		      row->flags & STRATA_ROW_FEATURES ? "f" : "");
	buf_fini(&one);
	cli_table_add_buf(table, &next, "");
	cli_table_add_buf(table, &writes, "");
}

static int print_rows(struct cli *cli, const struct strata_solver_table *solved)
{
	static const struct cli_column columns[] = {
		{ "ROW", .right = true, .style = CLI_DIM },
		{ "TIMESTEP", .right = true, .style = CLI_BOLD },
		{ "SCALE", .right = true },
		{ "ALPHA", .right = true },
		{ "SIGMA", .right = true },
		{ "", .style = CLI_DIM },
		{ "NEXT SAMPLE" },
		{ "SLOTS", .flexible = true },
	};
	struct cli_table *table;

	cli_printf(cli, "%s: %zu rows, %u slot%s, first sample = ", solved->cls->base.name,
		   solved->row_count, solved->slot_count, solved->slot_count == 1 ? "" : "s");
	if (solved->init_clean != 0)
		cli_printf(cli, "%.6g clean + ", solved->init_clean);
	cli_printf(cli, "%.6g noise\n", solved->init_noise_sigma);
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	for (size_t i = 0; rc == 0 && i < solved->row_count; i++)
		add_row(cli, table, i, &solved->rows[i]);
	if (rc == 0)
		rc = cli_table_print(table);
	if (rc == 0 && solved->cls->next_row)
		cli_print(cli, "the other rows depend on the error of each step\n");
	return rc;
}

static json_t *sum_json(const struct strata_solver_sum *sum, uint32_t slot_count)
{
	json_t *slots = json_array();

	for (uint32_t k = 0; slots && k < slot_count; k++)
		if (json_array_append_new(slots, json_real(sum->c[k]))) {
			json_decref(slots);
			slots = NULL;
		}
	return json_pack("{s:f,s:f,s:f,s:o,s:f}", "a", sum->a, "e", sum->e, "b", sum->b, "c", slots,
			 "d", sum->d);
}

static json_t *writes_json(const struct strata_solver_row *row, uint32_t slot_count)
{
	json_t *writes = json_array();

	for (uint32_t w = 0; writes && w < row->write_count; w++)
		if (json_array_append_new(
			    writes, json_pack("{s:i,s:o}", "slot", (int)row->writes[w].slot, "sum",
					      sum_json(&row->writes[w].sum, slot_count)))) {
			json_decref(writes);
			writes = NULL;
		}
	return writes;
}

static json_t *row_json(const struct strata_solver_row *row, uint32_t slot_count)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:i,s:b,s:b,s:b,s:b,s:b,s:f,s:f,s:o,s:o}",
			 "timestep", row->timestep, "input_scale", row->input_scale, "alpha",
			 row->alpha, "sigma", row->sigma, "p", row->p, "q", row->q, "step",
			 (int)row->step, "clip", (row->flags & STRATA_ROW_CLIP) != 0, "threshold",
			 (row->flags & STRATA_ROW_THRESHOLD) != 0, "noise",
			 (row->flags & STRATA_ROW_NOISE) != 0, "model",
			 !(row->flags & STRATA_ROW_NO_MODEL), "features",
			 (row->flags & STRATA_ROW_FEATURES) != 0, "limit", row->limit,
			 "threshold_ratio", row->threshold_ratio, "next",
			 sum_json(&row->next, slot_count), "writes", writes_json(row, slot_count));
}

static int print_json(struct cli *cli, const struct strata_solver_table *solved)
{
	json_t *rows = json_array();

	for (size_t i = 0; rows && i < solved->row_count; i++)
		if (json_array_append_new(rows, row_json(&solved->rows[i], solved->slot_count))) {
			json_decref(rows);
			rows = NULL;
		}
	return cli_print_json(cli,
			      json_pack("{s:s,s:i,s:i,s:f,s:f,s:b,s:o}", "solver",
					solved->cls->base.name, "steps", (int)solved->step_count,
					"slots", (int)solved->slot_count, "init_noise_sigma",
					solved->init_noise_sigma, "init_clean", solved->init_clean,
					"adaptive", solved->cls->next_row != NULL, "rows", rows));
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct strata_solver_table *table;
	int rc = solver_table(cli, operand_count ? operands[0] : NULL, conf, &table);

	if (rc)
		return rc;
	rc = cli->globals.json ? print_json(cli, table) : print_rows(cli, table);
	strata_solver_table_free(table, &cli->memory);
	return rc;
}

const struct cli_command cli_solver_table = {
	.name = "solver table",
	.operands = "[NAME]",
	.summary = "print what a solver compiles to",
	.about =
		"NAME is any name of a solver that users know, perhaps with a schedule and options "
		"behind it, or a\nfamily of models. In the table x is the sample, m the model's "
		"output, y the clean sample it predicts,\ns0, s1 … the slots and n the noise; c, t "
		"and n mark rows that clip, threshold and draw noise.",
	.examples = "  strata solver table ddim --steps 20\n"
		    "  strata solver table 'DPM++ 2M Karras' --steps 20 --json\n"
		    "  strata solver table --config scheduler_config.json --steps 30",
	.options = &table_schema,
	.operands_max = 1,
	.run = run,
};
