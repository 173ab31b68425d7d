/* Insides of the scheduler, for its two files. */
#ifndef PODS_PODS_SCHEDULER_INT_H
#define PODS_PODS_SCHEDULER_INT_H

#include "kubernetes/kube_watch.h"
#include "pods/pods_ask.h"
#include "pods/pods_lease.h"
#include "pods/pods_ports.h"
#include "pods/pods_scheduler.h"

enum { ON_NODES, ON_PODS, ON_ANSWERS, ON_LEASE, ON_SIGNAL, SOURCE_COUNT };

struct scheduler {
	const struct pods_scheduler_conf *conf;
	struct strata_memory memory;
	struct strata_arena scratch; /* of one round */
	struct pods_mirror mirror;
	struct pods_usage usage;
	struct pods_figures figures;
	struct kube_watch *watches[2]; /* ON_NODES, ON_PODS */
	bool synced[2];
	struct pods_ask *ask;
	struct pods_lease *lease;
	struct pods_ports *ports;
	int signals;
	bool leads, ends;
	uint64_t decided; /* changes of the mirror that the last round knew of */
	int64_t soon_ns;  /* no round before, even if something has changed; monotonic */
	int64_t due_ns;   /* the next one; monotonic */
	int64_t saved_ns; /* the usage; monotonic */
	char self[128], usage_name[300];
};

/* pods_scheduler_open.c: signals, watches, the lease, the threads that ask. What was opened is
 * closed by pods_scheduler_run, whatever comes of it. */
int scheduler_open(struct scheduler *scheduler, struct strata_error *err);

#endif
