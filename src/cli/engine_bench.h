/* What `strata engine bench` measures, part by part; each row is an object that the command prints as JSON or as a line of a table. In the full program. */
#ifndef CLI_ENGINE_BENCH_H
#define CLI_ENGINE_BENCH_H

#include "cli/engine_options.h"

struct engine_bench_subject {
	const char *name, *path; /* borrowed */
	const struct strata_map *dims;
	int64_t rounds;
	double share;
};

/* A row; "why" says why it has no figures. NULL when there is no memory. */
json_t *engine_bench_native(struct cli *cli, const struct engine_bench_subject *subject);
json_t *engine_bench_ort(struct cli *cli, const struct engine_bench_subject *subject);
json_t *engine_bench_budget(struct cli *cli, const struct engine_bench_subject *subject);
json_t *engine_bench_devices(struct cli *cli, const struct engine_bench_subject *subject);

#endif
