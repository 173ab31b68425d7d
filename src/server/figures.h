/*
 * The service's own key figures: waits by class, the time of a pass, of a transaction, of a step by
 * model and size, how far off the expected run times were. Values of today are counted in a sketch
 * (day_sketch.h); when the day (of UTC) is over its median is kept, in the store, too, and
 * baseline.h says whether the figure has changed. A value costs the same however many there were;
 * a day that begins costs what there are figures. The decider's.
 */
#ifndef SERVER_FIGURES_H
#define SERVER_FIGURES_H

#include "core/buf.h"
#include "core/map.h"
#include "server/baseline.h"
#include "server/day_sketch.h"

#include <strata/error.h>

struct decider;

enum figure_kind {
	FIGURE_WAIT,       /* seconds from when a job could start to its place, of a class */
	FIGURE_TASK_WAIT,  /* of generation tasks, of a model */
	FIGURE_PASS,       /* seconds of a pass that started or stopped something */
	FIGURE_STORE,      /* seconds of a transaction */
	FIGURE_STEP,       /* seconds of a step of one task, of a model and size */
	FIGURE_PREDICTION, /* the factor by which run times differed from what was expected */
};
enum { FIGURE_KIND_COUNT = FIGURE_PREDICTION + 1 };

struct figure_day {
	int64_t day; /* since 1970 */
	double median, low, high;
	int64_t count;
};

struct figure {
	enum figure_kind kind;
	struct figure_day days[BASELINE_DAYS_MAX]; /* those that are over */
	size_t day_count;
	struct day_sketch today;
	int64_t open_day; /* that it is of, once it has a value */
	bool written;     /* its row is in the store … */
	bool changed;     /* … and is not as it is here */
	struct baseline_verdict verdict;
	size_t bytes; /* of this block */
	char of[];    /* "band normal", "digits 28x28"; "": the service */
};

struct figures {
	struct map_text all;                       /* of struct figure, by "kind/of" */
	struct figure *service[FIGURE_KIND_COUNT]; /* those that are of "" */
	int64_t day;                               /* that goes on, since 1970 */
	int64_t write_ns;                          /* today's rows are due; monotonic */
	/* of jobs that ended by themselves, since the service began */
	uint64_t predictions;
	double predicted_s, ran_s, prediction_error_s;
};

const char *figure_name(enum figure_kind kind); /* "wait" */
bool figure_is_time(enum figure_kind kind);     /* else a factor */

/* Reads what there is. Once the store is read, before anything is added. */
int figures_load(struct decider *decider, struct strata_error *err);
void figures_free(struct decider *decider); /* none: nothing */

/* A value of the figure of something ("": the service). For lack of memory it is not counted. */
void figures_add(struct decider *decider, enum figure_kind kind, const char *of, double value);
/* A job ended by itself after it had been expected to run that long. */
void figures_predicted(struct decider *decider, int64_t predicted_ns, int64_t ran_ns);
/* Once a round: ends the day when it is over, writes what has changed now and then. */
void figures_look(struct decider *decider);

/* Has it grown, and is that so of these days? */
bool figure_is_worse(const struct figure *figure);
/* The next one; NULL: the first, and at the end. */
const struct figure *figures_next(const struct figures *figures, const struct figure *figure);

/* In the text form of Prometheus. */
void figures_print(const struct decider *decider, struct buf *buf);

#endif
