/* The history as a study of policies replays it: a log of jobs, the nodes there are, and whose
 * numbers are whose. */
#ifndef SERVER_STUDY_HISTORY_H
#define SERVER_STUDY_HISTORY_H

#include "server/front.h"

#include <jansson.h>

struct study_history {
	char *log;    /* in the Standard Workload Format; malloc's */
	char *nodes;  /* as CSV; malloc's */
	json_t *users; /* their names, the first is number 1 */
	size_t jobs, left_out;
	bool cut; /* there are more jobs than one study may have */
};

/* The newest jobs submitted since then that have run to their end. */
int study_history_read(struct front *front, int64_t since_ns, const char *nodes_json,
		       struct study_history *ret_history, struct strata_error *err);
void study_history_fini(struct study_history *history);

#endif
