/* What `strata engine bench` measures, part by part; each row is an object that the command prints as JSON or as a line of a table. In the full program. */
#ifndef CLI_ENGINE_BENCH_H
#define CLI_ENGINE_BENCH_H

#include "cli/engine_options.h"

#include <strata/engine.h>

#include <sched.h>
#include <time.h>

struct engine_bench_subject {
	const char *name, *path; /* borrowed */
	const struct strata_map *dims;
	int64_t rounds;
	double share;
};

/* An engine with one model open, and inputs that are made up. */
struct engine_bench_runner {
	struct cli *cli;
	struct strata_engine *engine;
	struct strata_engine_model *model;
	struct strata_array *inputs, *outputs;
	size_t input_count, output_count;
};
/* share: of the weights that are in memory; 0: all. A runner that failed to open is closed too. */
int engine_bench_open(struct engine_bench_runner *runner, struct cli *cli,
		      const struct engine_bench_subject *subject,
		      const struct strata_engine_conf *conf, double share);
void engine_bench_close(struct engine_bench_runner *runner);
int engine_bench_call(void *runner); /* one call */

/* Up to eight that are compared: each round runs all of them, short ones several times. */
struct engine_bench_side {
	int (*run)(void *subject);
	void *subject;
	void (*before)(void *context); /* each run; NULL: nothing */
	void *context;
	double ns; /* of one run, the median */
};
int engine_bench_compare(struct engine_bench_side *sides, size_t side_count, clockid_t clock,
			 int64_t rounds);
double engine_bench_median(double *values, int64_t count); /* sorts them */

/* A core that this process may use, the index-th; -1: it has fewer. And as a device. */
int engine_bench_core(int index);
const char *engine_bench_one_core(struct cli *cli, int index);
/* This thread computes on one core from now on; ret_before: on what it did. A device "cpu" is that core then, and needs no thread of its own. */
void engine_bench_stay(cpu_set_t *ret_before);
/* A row that has no figures, because of the last error. */
json_t *engine_bench_why(struct cli *cli, const struct engine_bench_subject *subject);

/* A row; "why" says why it has no figures. NULL when there is no memory. */
json_t *engine_bench_native(struct cli *cli, const struct engine_bench_subject *subject);
json_t *engine_bench_ort(struct cli *cli, const struct engine_bench_subject *subject);
json_t *engine_bench_budget(struct cli *cli, const struct engine_bench_subject *subject);
json_t *engine_bench_devices(struct cli *cli, const struct engine_bench_subject *subject);
json_t *engine_bench_place(struct cli *cli, const struct engine_bench_subject *subject);

#endif
