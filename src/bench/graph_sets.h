/*
 * Graphs whose best is known: each case of a file is placed on the machine that its set is about, and what comes out is put beside the reference.
 */
#ifndef BENCH_GRAPH_SETS_H
#define BENCH_GRAPH_SETS_H

#include "formats/graph_reference.h"

struct graphs_row {
	const char *set, *name; /* in the arena */
	/* in the file's unit; reference NaN: none; result NaN: it does not fit */
	double result, reference;
	double ratio; /* NaN when one is not there */
	double ms;    /* that choosing took */
};

struct graphs_conf {
	struct strata_place_budget budget;    /* for each row */
	const struct strata_spec *strategies; /* NULL: portfolio */
	size_t strategy_count;
	size_t processors; /* for graphs without a machine that no reference gives one; 0: 4 */
	uint64_t seed;
	/* what time it is, and its context; may be NULL */
	int64_t (*now_ns)(void *context);
	void *now_context;
};

/* One row for each case and, of graphs without a machine, number of processors in the references (text NULL: there are none). path is
 * "directory/name" of the file.. */
int graphs_run(const char *text, size_t length, const char *path, const char *reference,
	       size_t reference_length, const struct graphs_conf *conf, struct strata_arena *arena,
	       struct graphs_row **ret_rows, size_t *ret_count, struct strata_error *err);

/* Over the rows of one set that have a ratio. */
struct graphs_summary {
	const char *set;
	size_t count, compared;
	size_t equal, within_1, within_10; /* no worse; by at most 1 and 10 percent */
	double mean, worst;
	double ms;
};
void graphs_summarise(const struct graphs_row *rows, size_t count, const char *set,
		      struct graphs_summary *ret_summary);

#endif
