/* strata solver bench: what a step costs on this machine, beside a plain loop and beside what
 * others take. */
#include "cli/solver.h"

#include "bench/stepcost.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { BENCH_STEPS = 20, ISA_BEST = -1 };

struct bench_conf {
	int element; /* enum strata_element */
	int isa;     /* enum strata_isa, or ISA_BEST */
	int64_t budget_ns;
	bool cached;
};

static const struct strata_choice elements[] = { { "f32", STRATA_F32, "float32" },
						 { "f16", STRATA_F16, "float16" },
						 { "bf16", STRATA_BF16, "bfloat16" },
						 { 0 } };
static const struct strata_choice isas[] = { { "best", ISA_BEST, "the best that this machine has" },
					     { "scalar", STRATA_ISA_SCALAR, "none: the reference" },
					     { "avx2", STRATA_ISA_AVX2, "AVX2" },
					     { "avx512", STRATA_ISA_AVX512, "AVX-512" },
					     { 0 } };

static const struct strata_option bench_rows[] = {
	{ "element", STRATA_ENUM, offsetof(struct bench_conf, element),
	  .choice = { elements, STRATA_F32 }, .help = "what tensors are made of" },
	{ "isa", STRATA_ENUM, offsetof(struct bench_conf, isa), .choice = { isas, ISA_BEST },
	  .help = "instruction set" },
	{ "budget", STRATA_DURATION, offsetof(struct bench_conf, budget_ns),
	  .integer = { 300000000, 0, 60000000000 }, .help = "CPU time for each line" },
	{ "cached", STRATA_BOOL, offsetof(struct bench_conf, cached),
	  .help = "only the latent that fits into the cache" },
	{ 0 }
};
static const struct strata_schema bench_schema = { "solver bench", NULL, sizeof(struct bench_conf),
						   bench_rows };

static const struct latent {
	const char *name;
	size_t element_count;
} latents[] = { { "4x64x64", 4 * 64 * 64 }, { "2x4x1024x1024", 2 * 4 * 1024 * 1024 } };

/* diffusers 0.40 on torch 1.13: one step on a latent of 4x64x64, one thread of a server's
 * processor, in µs. */
static const struct peer {
	const char *solver;
	double step_us;
} peers[] = { { "ddim", 64 },   { "dpmpp_2m", 121 }, { "euler", 45 }, { "euler_ancestral", 115 },
	      { "unipc", 367 }, { "flow_euler", 11 } };

struct line {
	const char *solver;
	const struct latent *latent;
	struct stepcost cost;
	double peer_us; /* NAN: unknown */
};

static double peer_of(const char *solver, const struct latent *latent,
		      const struct bench_conf *conf)
{
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		if (latent == latents && conf->element == STRATA_F32 &&
		    strcmp(peers[i].solver, solver) == 0)
			return peers[i].step_us;
	return NAN;
}

static json_t *real_or_null(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static int print_json(struct cli *cli, const struct line *lines, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++) {
		const struct stepcost *cost = &lines[i].cost;
		json_t *one = json_pack(
			"{s:s,s:s,s:i,s:i,s:f,s:o,s:o,s:f,s:o}", "solver", lines[i].solver,
			"latent", lines[i].latent->name, "reads", (int)cost->reads, "writes",
			(int)cost->writes, "step_ns", cost->step_ns, "plain_ns",
			real_or_null(cost->plain_ns), "ratio", real_or_null(cost->ratio),
			"fixed_ns", cost->fixed_ns, "diffusers_us", real_or_null(lines[i].peer_us));

		if (json_array_append_new(list, one)) {
			json_decref(list);
			list = NULL;
		}
	}
	return cli_print_json(cli, list);
}

static void add_number(struct cli_table *table, const char *format, double value)
{
	char text[32];

	snprintf(text, sizeof(text), format, value);
	cli_table_add(table, "%s", isnan(value) ? "-" : text);
}

static int print_table(struct cli *cli, const struct line *lines, size_t count)
{
	static const struct cli_column columns[] = {
		{ "SOLVER", .style = CLI_BOLD },   { "LATENT" },
		{ "READS", .right = true },        { "WRITES", .right = true },
		{ "STEP µs", .right = true },      { "PLAIN LOOP µs", .right = true },
		{ "RATIO", .right = true },        { "FIXED µs", .right = true },
		{ "DIFFUSERS µs", .right = true },
	};
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++) {
		const struct stepcost *cost = &lines[i].cost;

		cli_table_add(table, "%s", lines[i].solver);
		cli_table_add(table, "%s", lines[i].latent->name);
		cli_table_add(table, "%u", cost->reads);
		cli_table_add(table, "%u", cost->writes);
		add_number(table, "%.2f", cost->step_ns / 1000);
		add_number(table, "%.2f", cost->plain_ns / 1000);
		add_number(table, "%.2f", cost->ratio);
		add_number(table, "%.3f", cost->fixed_ns / 1000);
		add_number(table, "%.0f", lines[i].peer_us);
	}
	return cli_table_print(table);
}

static size_t latent_count(const struct bench_conf *conf)
{
	return conf->cached ? 1 : sizeof(latents) / sizeof(latents[0]);
}

/* All latents, at the row in the middle of the table. */
static int measure_table(struct cli *cli, const struct bench_conf *conf, const char *text,
			 const struct strata_solver_table *table, struct line *lines)
{
	if (!table->row_count)
		return strata_fail(&cli->err, -EINVAL,
				   "%s makes its rows as it goes; there is none to measure", text);
	for (size_t i = 0; i < latent_count(conf); i++) {
		const struct stepcost_conf cost = {
			.row = strata_solver_row_at(table, table->row_count / 2),
			.slot_count = table->slot_count,
			.element_count = latents[i].element_count,
			.element = (enum strata_element)conf->element,
			.isa = conf->isa == ISA_BEST ? strata_isa_best()
						     : (enum strata_isa)conf->isa,
			.budget_ns = conf->budget_ns,
		};

		lines[i] = (struct line){ .solver = text,
					  .latent = &latents[i],
					  .peer_us = peer_of(text, &latents[i], conf) };
		int rc = stepcost_measure(&cost, &cli->memory, &lines[i].cost, &cli->err);

		if (rc)
			return rc;
	}
	return 0;
}

static int measure(struct cli *cli, const struct bench_conf *conf, const char *text,
		   struct line *lines)
{
	const struct solver_flags flags = { .steps = BENCH_STEPS };
	struct strata_solver_table *table;
	int rc = solver_table(cli, text, &flags, &table);

	if (rc)
		return rc;
	rc = measure_table(cli, conf, text, table, lines);
	strata_solver_table_free(table, &cli->memory);
	return rc;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	static const char *const usual[] = { "ddim", "euler", "dpmpp_2m", "unipc" };
	const struct bench_conf *conf = conf_any;
	const char *const *names = operand_count ? (const char *const *)operands : usual;
	size_t per_name = latent_count(conf);
	size_t name_count = operand_count ? operand_count : sizeof(usual) / sizeof(usual[0]);
	struct line *lines = strata_arena_array(&cli->arena, name_count * per_name, sizeof(*lines));

	if (!lines)
		return strata_fail_memory(&cli->err);
	if (conf->isa != ISA_BEST && !strata_isa_works((enum strata_isa)conf->isa))
		return strata_fail_at(&cli->err, -EINVAL, "isa",
				      "this processor does not have that instruction set");
	for (size_t i = 0; i < name_count; i++) {
		int rc = measure(cli, conf, names[i], &lines[i * per_name]);

		if (rc)
			return rc;
	}
	return cli->globals.json ? print_json(cli, lines, name_count * per_name)
				 : print_table(cli, lines, name_count * per_name);
}

static void complete(struct cli *cli, size_t operand_index, struct buf *ret_lines)
{
	(void)cli;
	(void)operand_index;
	for (size_t i = 0; strata_solver_kind.classes[i]; i++)
		buf_printf(ret_lines, "%s\t%s\n", strata_solver_kind.classes[i]->name,
			   strata_solver_kind.classes[i]->summary);
}

const struct cli_command cli_solver_bench = {
	.name = "solver bench",
	.operands = "[SOLVER…]",
	.summary = "measure what a step costs on this machine",
	.about = "The row in the middle of a schedule is applied to a latent that fits into the "
		 "cache and to one that does not.\n"
		 "STEP is the CPU time of one step, the least of many; PLAIN LOOP that of a loop "
		 "written by hand for just this row,\n"
		 "on the same tensors in the same run, where there is one. RATIO is the median of "
		 "short turns that follow each\n"
		 "other. FIXED is a step on 16 elements: what does not grow with the latent. "
		 "DIFFUSERS is what that library took\n"
		 "on one thread of a server, for a sense of scale.",
	.examples = "  strata solver bench\n"
		    "  strata solver bench ddim:thresholding=true heun --element bf16",
	.options = &bench_schema,
	.operands_max = -1,
	.run = run,
	.complete = complete,
};
