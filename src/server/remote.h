/*
 * An inventory service beside this one (conf.inventory_url), which has the last word on who may use
 * which GPUs: nodes are read from it at the start, each job's place is reserved there before the
 * job is started and given back when it has ended. The calls are made by a thread of their own, in
 * order, so that a slow service delays starts and nothing else. All of them may be repeated.
 *
 * Reservations are called CLUSTER.JOB. What a service that died left reserved is given back at the
 * next start.
 */
#ifndef SERVER_REMOTE_H
#define SERVER_REMOTE_H

#include "machine/inventory.h"
#include "server/live.h"

struct remote;

/* The nodes. */
int remote_nodes(const struct server_conf *conf, struct strata_arena *arena,
		 struct inventory *ret_inventory, struct strata_error *err);

/* Nothing without an inventory_url. Calls can be made from the opening on; the thread that
 * carries them out starts after the recovery, when it is known what of the earlier ones is still
 * needed. */
int remote_open(struct decider *decider, struct strata_error *err);
int remote_start(struct decider *decider, struct strata_error *err);
void remote_close(struct decider *decider);

/* Asks for the job's place; the answer comes by remote_take. */
void remote_reserve(struct decider *decider, const struct live *live);
void remote_give_back(struct decider *decider, int64_t job);

/* The next answer: true, and whether the attempt may start; `why_not` until the next call. The
 * decider's. */
struct remote_answer {
	int64_t job, attempt;
	bool granted;
	const char *why_not;
};
bool remote_take(struct decider *decider, struct remote_answer *ret_answer);
/* Why the other service was not reached when it was last asked, and since when it is so; NULL: it
 * was, or there is none. */
const char *remote_trouble(const struct decider *decider, int64_t *ret_since_ns);

#endif
