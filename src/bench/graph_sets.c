/* Cases of graph files run one after the other; graph_sets.h says what for. */
#include "bench/graph_sets.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { PROCESSORS = 4 };
static const double workflow_speeds[] = { 1, 1, 2, 4 };
#define WORKFLOW_BYTES_PER_S 125e6

struct runner {
	const struct graphs_conf *conf;
	struct strata_arena *arena;
	const char *path;
	struct graphs_row *rows;
	size_t count, room;
};

static struct graphs_row *add_row(struct runner *runner)
{
	if (runner->count == runner->room) {
		size_t more = runner->room ? 2 * runner->room : 16;
		struct graphs_row *rows = strata_arena_array(runner->arena, more, sizeof(*rows));

		if (!rows)
			return NULL;
		if (runner->count)
			memcpy(rows, runner->rows, runner->count * sizeof(*rows));
		runner->rows = rows;
		runner->room = more;
	}
	return &runner->rows[runner->count++];
}

static int64_t now_ns(const struct graphs_conf *conf)
{
	return conf->now_ns ? conf->now_ns(conf->now_context) : 0;
}

/* Places one case; -ENOSPC becomes a row without a result. */
static int place(struct runner *runner, const struct graph_case *one,
		 const struct strata_machine *machine, enum strata_objective objective,
		 double *ret_result, double *ret_ms, struct strata_error *err)
{
	const struct graphs_conf *conf = runner->conf;
	struct strata_place_request ask = { .graph = one->graph,
					    .machine = machine,
					    .objective = objective,
					    .strategies = conf->strategies,
					    .strategy_count = conf->strategy_count,
					    .budget = conf->budget,
					    .fixed_order = one->fixed_order,
					    .seed = conf->seed };
	struct strata_place_plan plan;
	struct strata_arena scratch;
	int64_t begin = now_ns(conf);
	int rc;

	strata_arena_init(&scratch, runner->arena->memory, 0);
	rc = strata_place_plan(&ask, &scratch, &plan, err);
	*ret_ms = (double)(now_ns(conf) - begin) / 1e6;
	*ret_result = rc ? NAN : plan.value / one->unit_ns;
	strata_arena_fini(&scratch);
	return rc == -ENOSPC ? 0 : rc;
}

static int run_one(struct runner *runner, const struct graph_case *one,
		   const struct strata_machine *machine, enum strata_objective objective,
		   const char *name, double reference, struct strata_error *err)
{
	struct graphs_row *row = add_row(runner);
	double result = NAN, ms = 0;

	if (!row || !name)
		return strata_fail_memory(err);
	int rc = place(runner, one, machine, objective, &result, &ms, err);

	if (rc)
		return rc;
	*row = (struct graphs_row){ graph_form_name(one->form), name, result, reference,
				    result / reference,         ms };
	return 0;
}

/* Graphs that are only tasks: on the processors that the reference row says, or the file, or the caller. */
static int run_tasks(struct runner *runner, const struct graph_case *one,
		     const struct graph_reference_row *row, struct strata_error *err)
{
	const char *name = strrchr(runner->path, '/');
	size_t count = row && row->processors     ? row->processors
		       : one->processors          ? one->processors
		       : runner->conf->processors ? runner->conf->processors
						  : PROCESSORS;
	bool workflow = one->form == GRAPH_WFCOMMONS;
	struct strata_machine machine;
	int rc = graph_processors(workflow ? 4 : count, workflow ? workflow_speeds : NULL,
				  workflow ? WORKFLOW_BYTES_PER_S : 0, runner->arena, &machine,
				  err);

	name = name ? name + 1 : runner->path;
	name = workflow ? strata_arena_text(runner->arena, name, strlen(name))
			: strata_arena_printf(runner->arena, "%s p=%zu", name, count);
	return rc ? rc
		  : run_one(runner, one, &machine, STRATA_LATENCY, name, row ? row->value : NAN,
			    err);
}

static double own_reference(const struct graph_case *one)
{
	for (size_t i = 0; i < one->reference_count; i++)
		if (strcmp(one->references[i].name, "optimum") == 0)
			return one->references[i].value;
	return NAN;
}

static int run_case(struct runner *runner, const struct graph_case *one,
		    const struct graph_reference_row *rows, size_t row_count,
		    struct strata_error *err)
{
	int rc = 0;

	if (one->machine.device_count) {
		double reference = row_count ? rows[0].value : own_reference(one);
		enum strata_objective objective =
			row_count && one->form == GRAPH_DNN ? rows[0].metric : one->objective;

		return run_one(runner, one, &one->machine, objective,
			       strata_arena_printf(runner->arena, "%s",
						   *one->name ? one->name : runner->path),
			       reference, err);
	}
	if (row_count == 0)
		return run_tasks(runner, one, NULL, err);
	for (size_t i = 0; i < row_count && rc == 0; i++)
		rc = run_tasks(runner, one, &rows[i], err);
	return rc;
}

int graphs_run(const char *text, size_t length, const char *path, const char *reference,
	       size_t reference_length, const struct graphs_conf *conf, struct strata_arena *arena,
	       struct graphs_row **ret_rows, size_t *ret_count, struct strata_error *err)
{
	struct runner runner = { .conf = conf, .arena = arena, .path = path };
	struct graph_file file;
	int rc = graph_file_read(text, length, path, arena, &file, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < file.count && rc == 0; i++) {
		struct graph_reference_row *rows = NULL;
		size_t count = 0;

		if (reference && file.cases[i].form != GRAPH_OPT)
			rc = graph_reference_find(reference, reference_length, file.cases[i].form,
						  path, arena, &rows, &count, err);
		if (rc == 0)
			rc = run_case(&runner, &file.cases[i], rows, count, err);
	}
	graph_file_fini(&file);
	if (rc)
		return rc;
	*ret_rows = runner.rows;
	*ret_count = runner.count;
	return 0;
}

void graphs_summarise(const struct graphs_row *rows, size_t count, const char *set,
		      struct graphs_summary *ret_summary)
{
	struct graphs_summary summary = { .set = set };

	for (size_t i = 0; i < count; i++) {
		double ratio = rows[i].ratio;

		if (strcmp(rows[i].set, set) != 0)
			continue;
		summary.count++;
		summary.ms += rows[i].ms;
		if (isnan(ratio))
			continue;
		summary.compared++;
		summary.equal += ratio <= 1 + 1e-6;
		summary.within_1 += ratio <= 1.01;
		summary.within_10 += ratio <= 1.1;
		summary.mean += ratio;
		summary.worst = fmax(summary.worst, ratio);
	}
	summary.mean = summary.compared ? summary.mean / (double)summary.compared : NAN;
	*ret_summary = summary;
}
