/*
 * What the modes of the place level come to on real runs: a machine of two devices, all cores and one of them, of which small models want one and large ones
 * the other. Each mode has an engine that has learned; beside them each device alone, which is what somebody who knows would choose by hand.
 */
#include "cli/engine_bench.h"

#include <errno.h>

enum { LEARN_CALLS = 20, LEARN_TIMES = 3, ALONE = STRATA_MODE_COUNT, SIDES = ALONE + 2 };

/* Runs, is closed and opened again: a model is placed when it is opened, by what its engine knows by then. */
static int learn(struct engine_bench_runner *runner, const struct engine_bench_subject *subject)
{
	int rc = 0;

	for (int again = 0; rc == 0 && again < LEARN_TIMES; again++) {
		for (int i = 0; rc == 0 && i < LEARN_CALLS; i++)
			rc = engine_bench_call(runner);
		if (rc)
			break;
		for (size_t i = 0; i < runner->output_count; i++)
			strata_array_drop(&runner->outputs[i]);
		strata_engine_close(runner->model);
		runner->model = NULL;
		rc = strata_engine_open(runner->engine, subject->path, NULL, &runner->model,
					&runner->cli->err);
	}
	return rc;
}

/* Predicted over observed time of what it computes, or the inverse: how far they are apart. */
static double off_by(const struct engine_bench_runner *runner)
{
	struct strata_engine_subgraph subgraph;
	double predicted = 0, observed = 0;

	for (size_t i = 0; strata_engine_subgraph_at(runner->model, i, &subgraph); i++) {
		predicted += subgraph.predicted_ns;
		observed += subgraph.calls ? (double)subgraph.total_ns / (double)subgraph.calls : 0;
	}
	return observed > 0 ? predicted / observed : 0;
}

static json_t *make_row(const struct engine_bench_subject *subject,
			const struct engine_bench_side *sides,
			const struct engine_bench_runner *runners)
{
	double best = sides[ALONE].ns < sides[ALONE + 1].ns ? sides[ALONE].ns : sides[ALONE + 1].ns;

	return json_pack("{s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "model", subject->name, "basic_ms",
			 sides[STRATA_MODE_BASIC].ns / 1e6, "semantic_ms",
			 sides[STRATA_MODE_SEMANTIC].ns / 1e6, "advanced_ms",
			 sides[STRATA_MODE_ADVANCED].ns / 1e6, "auto_ms",
			 sides[STRATA_MODE_AUTO].ns / 1e6, "best_ms", best / 1e6, "ratio",
			 sides[STRATA_MODE_AUTO].ns / best, "off", off_by(&runners[STRATA_MODE_AUTO]));
}

json_t *engine_bench_place(struct cli *cli, const struct engine_bench_subject *subject)
{
	const char *all = strata_arena_printf(&cli->arena, "cpu:%d-%d", engine_bench_core(0),
					      engine_bench_core(1));
	const char *one = engine_bench_one_core(cli, 0);
	const char *both = strata_arena_printf(&cli->arena, "%s,%s", all, one);
	struct engine_bench_runner runners[SIDES] = { 0 };
	struct engine_bench_side sides[SIDES];
	int rc = engine_bench_core(1) == engine_bench_core(0) + 1
			 ? 0
			 : strata_fail(&cli->err, -ENOTSUP,
				       "this process has no two cores that follow each other");

	for (int i = 0; rc == 0 && i < SIDES; i++) {
		const struct strata_engine_conf conf = {
			.devices = i < ALONE ? both : i == ALONE ? all : one,
			.mode = i < ALONE ? (enum strata_mode)i : STRATA_MODE_BASIC,
		};

		sides[i] = (struct engine_bench_side){ engine_bench_call, &runners[i] };
		rc = engine_bench_open(&runners[i], cli, subject, &conf, 0);
		if (rc == 0)
			rc = learn(&runners[i], subject);
	}
	if (rc == 0)
		rc = engine_bench_compare(sides, SIDES, CLOCK_MONOTONIC, subject->rounds);
	json_t *row = rc ? engine_bench_why(cli, subject) : make_row(subject, sides, runners);

	for (int i = 0; i < SIDES; i++)
		engine_bench_close(&runners[i]);
	return row;
}
