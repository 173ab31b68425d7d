/* The generation tasks of the service that were drawn to their end, as requests that the simulator
 * replays, and what became of them. */
#ifndef CLI_TASK_HISTORY_H
#define CLI_TASK_HISTORY_H

#include "cli/service.h"

#include "formats/requests.h"
#include "sim/metrics.h"

struct task_history {
	struct requests requests;
	struct metrics_job *jobs; /* of each request in its order: how it really went */
	size_t left_out;          /* tasks that were not drawn to their end */
	const char *model;
};

/* since is as the user wrote it: "7d", or a time; may be NULL. model NULL: the only one there is a
 * history of, since each has a line of its own. In cli's arena. */
int task_history_read(struct cli *cli, const char *since, const char *model,
		      struct task_history *ret_history);

#endif
