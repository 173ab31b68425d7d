/* Watching a collection of the service, as `strata watch` and `strata tasks watch` do. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/service.h"

/* What is watched. */
struct watch_kind {
	const char *noun;       /* "job", with an s for several */
	const char *collection; /* that is asked for: "queue", "tasks" */
	const char *rows;       /* its list in the answer, and the collection that one is in */
	const char *state;      /* the member that says how it is with one */
	const char *only;       /* states that are asked for; NULL: all */
	const struct grid_column *columns;
	const size_t *column_count;
	int (*say)(struct cli *cli, const char *id, const json_t *row); /* one, in a sentence */
};

struct watch_conf {
	int64_t interval_ns, times;
	const char *user;
	bool me;
};

extern const struct strata_option watch_options[];

/* On a terminal the list is drawn over; elsewhere a line is printed for each whose state has
 * changed. */
int watch_all(struct cli *cli, const struct watch_kind *kind, const struct watch_conf *conf);

#endif
