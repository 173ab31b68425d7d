/* The service's history, page by page, and as a log of jobs. */
#ifndef CLI_JOB_HISTORY_H
#define CLI_JOB_HISTORY_H

#include "cli/service.h"

#include "formats/openb.h"

#include <strata/swf.h>

typedef int history_sink(void *context, const json_t *job, struct strata_error *err);
/* Every job, live ones included, newest first; since (a text of the API, may be NULL) leaves out
 * those submitted before. */
int history_walk(struct cli *cli, const char *since, history_sink *sink, void *context);

/* The log of what has ended, and the nodes as they are now; left_out: jobs that have not run to
 * their end. */
struct history_log {
	struct strata_swf swf;
	struct openb_node *nodes;
	size_t node_count, left_out;
};
/* since is as the user wrote it: "7d", or a time; may be NULL. In cli's arena. */
int history_read(struct cli *cli, const char *since, struct history_log *ret_log);

#endif
