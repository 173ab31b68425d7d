/* What easy and easy_sjbf share: they differ in the order in which jobs behind the head are looked
 * at. */
#ifndef CLUSTER_BACKFILL_EASY_H
#define CLUSTER_BACKFILL_EASY_H

#include "cluster/cluster_int.h"

struct easy_conf {
	bool bands[STRATA_BAND_COUNT]; /* whose jobs may be started out of order */
	double patience;               /* in times the head's limit */
};

struct easy_state {
	struct shadow shadow; /* .job NULL: none */
};

extern const struct strata_option backfill_easy_options[];

/* One pass; shortest: jobs behind the head by their predicted run times, else in the order of the
 * queue. */
int backfill_easy_pass(struct pass *pass, const struct easy_conf *conf, struct easy_state *state,
		       bool shortest);

#endif
