/*
 * Measuring in turns, A B A B, so that all that are compared meet the same machine; the median of each counts. CPU time is the process's, so what others do on
 * the machine hardly shows.
 */
#include "cli/engine_bench.h"

#include "core/env.h"

#include <assert.h>
#include <stdlib.h>

enum { ROUNDS_MAX = 1000, LOOP_NS = 5000000, LOOPS_MAX = 64, SIDES_MAX = 8 };

/* ---- the engine, with one model open ---- */

static void drop_outputs(struct engine_bench_runner *runner)
{
	for (size_t i = 0; runner->outputs && i < runner->output_count; i++)
		strata_array_drop(&runner->outputs[i]);
}

void engine_bench_close(struct engine_bench_runner *runner)
{
	drop_outputs(runner);
	for (size_t i = 0; runner->inputs && i < runner->input_count; i++)
		strata_array_drop(&runner->inputs[i]);
	strata_engine_close(runner->model);
	strata_engine_free(runner->engine);
	*runner = (struct engine_bench_runner){ 0 };
}

int engine_bench_open(struct engine_bench_runner *runner, struct cli *cli,
		       const struct engine_bench_subject *subject,
		       const struct strata_engine_conf *conf, double share)
{
	struct strata_engine_model_conf model = { 0 };
	int rc = strata_engine_new(conf, &cli->memory, &runner->engine, &cli->err);

	runner->cli = cli;
	if (rc == 0 && share > 0) {
		rc = strata_engine_open(runner->engine, subject->path, NULL, &runner->model,
					&cli->err);
		if (rc == 0)
			model.budget_bytes =
				(int64_t)((double)strata_engine_weight_bytes(runner->model) * share);
		strata_engine_close(runner->model);
		runner->model = NULL;
	}
	if (rc == 0)
		rc = strata_engine_open(runner->engine, subject->path, &model, &runner->model,
					&cli->err);
	if (rc)
		return rc;
	runner->input_count = strata_engine_input_count(runner->model);
	runner->output_count = strata_engine_output_count(runner->model);
	runner->inputs = strata_arena_array(&cli->arena, runner->input_count, sizeof(*runner->inputs));
	runner->outputs =
		strata_arena_array(&cli->arena, runner->output_count, sizeof(*runner->outputs));
	if (!runner->inputs || !runner->outputs)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; rc == 0 && i < runner->input_count; i++)
		rc = engine_input_made_up(runner->engine, strata_engine_input_at(runner->model, i),
					  subject->dims, (uint32_t)i + 1, &runner->inputs[i],
					  &cli->err);
	return rc;
}

int engine_bench_call(void *any)
{
	struct engine_bench_runner *runner = any;

	drop_outputs(runner);
	return strata_engine_run(runner->model, runner->inputs, runner->outputs, &runner->cli->err);
}

/* ---- in turns ---- */

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int by_value(const void *one, const void *two)
{
	double a = *(const double *)one, b = *(const double *)two;

	return a < b ? -1 : a > b;
}

double engine_bench_median(double *values, int64_t count)
{
	qsort(values, (size_t)count, sizeof(double), by_value);
	return values[count / 2];
}

/* Short ones run several times for one measurement. */
static int measure(const struct engine_bench_side *side, clockid_t clock, int64_t loops, double *ret_ns)
{
	int64_t total = 0;
	int rc = 0;

	for (int64_t i = 0; rc == 0 && i < loops; i++) {
		if (side->before)
			side->before(side->context);
		int64_t begin_ns = now_ns(clock);

		rc = side->run(side->subject);
		total += now_ns(clock) - begin_ns;
	}
	*ret_ns = (double)total / (double)loops;
	return rc;
}

int engine_bench_compare(struct engine_bench_side *sides, size_t side_count, clockid_t clock, int64_t rounds)
{
	static double took[SIDES_MAX][ROUNDS_MAX];
	int64_t loops = 1;
	double once = 0;
	int rc = 0;

	assert(side_count <= SIDES_MAX);
	for (int warm = 0; rc == 0 && warm < 2; warm++)
		for (size_t i = 0; rc == 0 && i < side_count; i++)
			rc = measure(&sides[i], clock, 1, &once);
	if (once > 0 && once < LOOP_NS)
		loops = once * LOOPS_MAX < LOOP_NS ? LOOPS_MAX : (int64_t)(LOOP_NS / once);
	for (int64_t round = 0; rc == 0 && round < rounds; round++)
		for (size_t i = 0; rc == 0 && i < side_count; i++)
			rc = measure(&sides[i], clock, loops, &took[i][round]);
	for (size_t i = 0; rc == 0 && i < side_count; i++)
		sides[i].ns = engine_bench_median(took[i], rounds);
	return rc;
}

/* ---- cores and rows ---- */

/* A core that this process may use, the index-th; -1: it has fewer. */
int engine_bench_core(int index)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -1;
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET((size_t)core, &allowed) && index-- == 0)
			return core;
	return -1;
}

/* This thread computes on one core from now on; ret_before: on what it did. A device "cpu" is that core then, and needs no thread of its own. */
void engine_bench_stay(cpu_set_t *ret_before)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)engine_bench_core(0), &one);
	sched_getaffinity(0, sizeof(*ret_before), ret_before);
	sched_setaffinity(0, sizeof(one), &one);
}

const char *engine_bench_one_core(struct cli *cli, int index)
{
	return strata_arena_printf(&cli->arena, "cpu:%d", engine_bench_core(index));
}

json_t *engine_bench_why(struct cli *cli, const struct engine_bench_subject *subject)
{
	json_t *row = json_pack("{s:s,s:s}", "model", subject->name, "why", cli->err.text);

	cli->err = (struct strata_error){ 0 };
	return row;
}
