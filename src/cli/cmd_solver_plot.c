/* strata solver plot: how fast solvers get close, as a picture. */
#include "cli/solver.h"

#include "core/env.h"
#include "bench/mixture.h"
#include "plot/svg.h"

#include <errno.h>
#include <string.h>

/* Divisors of the 1000 timesteps of training, which DDIM's even stride takes. */
static const int64_t step_counts[] = { 4, 5, 8, 10, 20, 25, 40, 50, 100 };
enum { COUNTS = sizeof(step_counts) / sizeof(step_counts[0]), CURVES_MAX = 16 };

static const struct named {
	const char *label, *solver;
} usual[] = {
	{ "DDIM", "ddim:set_alpha_to_one=true:timestep_spacing=trailing" },
	{ "Euler", "Euler Karras" },
	{ "Heun", "Heun Karras" },
	{ "DPM2", "DPM2 Karras" },
	{ "LMS", "LMS Karras" },
	{ "DEIS", "DEIS Karras" },
	{ "DPM++ 2M", "DPM++ 2M Karras" },
	{ "UniPC", "UniPC Karras" },
};

struct plot_conf {
	int64_t calls;
	const char *reuse;
};

static const struct strata_option plot_rows[] = {
	{ "calls", STRATA_INT, offsetof(struct plot_conf, calls), .integer = { 100, 10, 200 },
	  .help = "model calls, at most" },
	{ "reuse", STRATA_TEXT, offsetof(struct plot_conf, reuse), .value = "SPEC",
	  .help = "each solver once more with calls left out (`strata classes reuse`)" },
	{ 0 }
};
static const struct strata_schema plot_schema = { "solver plot", NULL, sizeof(struct plot_conf),
						  plot_rows };

/* One point of a curve. */
static int denoise(struct cli *cli, const char *name, const char *reuse, int64_t steps,
		   struct mixture_run *ret_run)
{
	const struct solver_flags flags = { .steps = steps, .reuse = reuse };
	struct strata_solver_table *table;
	int rc = solver_table(cli, name, &flags, &table);

	if (rc)
		return rc;
	rc = mixture_denoise(table, 0, strata_isa_best(), &cli->memory, ret_run, &cli->err);
	strata_solver_table_free(table, &cli->memory);
	return rc;
}

static int draw_curve(struct cli *cli, const struct named *named, const char *reuse,
		      int64_t calls_max, struct svg_series *ret_curve)
{
	double *x = strata_arena_array(&cli->arena, COUNTS, sizeof(*x));
	double *y = strata_arena_array(&cli->arena, COUNTS, sizeof(*y));
	size_t count = 0;

	if (!x || !y)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < COUNTS; i++) {
		struct mixture_run run;
		int rc = denoise(cli, named->solver, reuse, step_counts[i], &run);

		if (rc)
			return rc;
		if ((int64_t)run.calls > calls_max)
			break;
		if (count && (double)run.calls <= x[count - 1])
			continue; /* a solver that chooses its own number */
		x[count] = (double)run.calls;
		y[count++] = run.error;
	}
	*ret_curve = (struct svg_series){ named->label, x, y, count };
	return 0;
}

static int draw_reused(struct cli *cli, const struct named *named, const struct plot_conf *conf,
		       struct svg_series *ret_curve)
{
	const struct named other = { strata_arena_printf(&cli->arena, "%s, %s", named->label,
							 conf->reuse),
				     named->solver };

	return other.label ? draw_curve(cli, &other, conf->reuse, conf->calls, ret_curve)
			   : strata_fail_memory(&cli->err);
}

static int draw_page(struct cli *cli, const struct svg_series *curves, size_t count,
		     const char *path)
{
	struct svg_lines lines = {
		.title = "Error against model calls",
		.subtitle = "a mixture of three normal distributions, its exact score; "
			    "root mean square over 64 samples",
		.x = { "model calls", SVG_LOG },
		.y = { "error", SVG_LOG },
		.series = curves,
		.series_count = count,
	};
	struct buf buf;

	buf_init(&buf, &cli->memory, 0);
	int rc = svg_add_page(&buf, (struct svg_panel[]){ { .lines = &lines } }, 1, &cli->arena,
			      &cli->err);

	if (rc == 0)
		rc = buf_check(&buf, &cli->err);
	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, buf.text, buf.length, 0644,
				    &cli->err);
	buf_fini(&buf);
	return rc;
}

static json_t *curve_json(const struct svg_series *curve)
{
	json_t *points = json_array();

	for (size_t i = 0; points && i < curve->count; i++)
		json_array_append_new(points, json_pack("{s:i,s:f}", "calls", (int)curve->x[i],
							"error", curve->y[i]));
	return json_pack("{s:s,s:o}", "solver", curve->name, "points", points);
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct plot_conf *conf = conf_any;
	size_t count = operand_count > 1 ? operand_count - 1 : sizeof(usual) / sizeof(usual[0]);
	struct svg_series curves[2 * CURVES_MAX];
	size_t drawn = 0;
	const char *dot = strrchr(operands[0], '.');
	json_t *list;

	if (dot && strcmp(dot, ".svg") != 0 && !strchr(dot, '/'))
		return strata_fail(&cli->err, -EINVAL,
				   "%.100s would be an SVG picture by another name; say %.*s.svg",
				   operands[0], (int)(dot - operands[0]), operands[0]);
	for (size_t i = 0; i < count; i++) {
		struct named named = usual[operand_count > 1 ? 0 : i];

		if (operand_count > 1)
			named = (struct named){ operands[1 + i], operands[1 + i] };
		int rc = draw_curve(cli, &named, NULL, conf->calls, &curves[drawn++]);

		if (rc == 0 && conf->reuse)
			rc = draw_reused(cli, &named, conf, &curves[drawn++]);
		if (rc)
			return rc;
	}
	int rc = draw_page(cli, curves, drawn, operands[0]);

	if (rc || !cli->globals.json)
		return rc;
	list = json_array();
	for (size_t i = 0; list && i < drawn; i++)
		json_array_append_new(list, curve_json(&curves[i]));
	return cli_print_json(cli, list);
}

static void complete(struct cli *cli, size_t operand_index, struct buf *ret_lines)
{
	(void)cli;
	for (size_t i = 0; operand_index > 0 && strata_solver_kind.classes[i]; i++)
		buf_printf(ret_lines, "%s\t%s\n", strata_solver_kind.classes[i]->name,
			   strata_solver_kind.classes[i]->summary);
}

const struct cli_command cli_solver_plot = {
	.name = "solver plot",
	.operands = "OUT.svg [SOLVER…]",
	.summary = "draw the error of solvers against model calls",
	.about = "Solvers denoise a mixture of three normal distributions whose score is known, so "
		 "that all of the error is theirs.\n"
		 "Eight usual ones when none is named; only such as draw no noise. --json prints "
		 "the numbers as well.",
	.examples = "  strata solver plot solvers.svg\n"
		    "  strata solver plot two.svg 'UniPC Karras' unipc:solver_order=3",
	.options = &plot_schema,
	.operands_min = 1,
	.operands_max = 1 + CURVES_MAX,
	.run = run,
	.complete = complete,
};
