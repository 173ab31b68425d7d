/* What the halves of a rerun share: the cluster's (rerun.c) and that of the pools (rerun_pool.c). */
#ifndef SIM_RERUN_INT_H
#define SIM_RERUN_INT_H

#include "core/map.h"
#include "sim/rerun.h"

enum { RERUN_SPEC_COUNT = 5 };

struct rerun {
	struct strata_memory *memory;
	struct strata_arena specs, line;
	struct strata_registry *registries[RERUN_SPEC_COUNT];
	struct strata_cluster *cluster; /* NULL: none yet, or it went its own way */
	struct map_text pools;          /* of struct rerun_pool, by name */
	struct buf text;
	struct rerun_result *result;
};

/* The line with what was decided now; ret_same: it has the same bytes as the text. The first that
 * has not is kept in the result. */
int rerun_compare(struct rerun *rerun, const struct recording_line *line, const char *text,
		  size_t length, bool *ret_same, struct strata_error *err);

/* ---- rerun_pool.c ---- */

int rerun_pool_line(struct rerun *rerun, struct recording_line *line, const char *text,
		    size_t length, struct strata_error *err);
/* The service has begun anew, or the record ends: there are no pools any more. */
void rerun_pool_end_all(struct rerun *rerun);

#endif
