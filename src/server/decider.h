/*
 * The decider: one thread owns the cluster, the live jobs, the store and the executor, and goes
 * round and round:
 *
 *	take what has come in (requests, what jobs report, the clock)
 *	tell the cluster, let it decide
 *	commit all of it in one transaction
 *	answer who asked, carry out what was decided
 *
 * While a commit takes its time the next requests gather, so that they share the next one. Nothing
 * is answered or done before it is durable. While the store is away the batch waits and grows with
 * what jobs report: nothing is decided, changes are refused, reads go on.
 *
 * Whatever takes a struct decider is called on that thread and on no other (before it runs: on the
 * thread that opens the service). A server that stands by has one, too, with what it has loaded to
 * look at (standby.h).
 */
#ifndef SERVER_DECIDER_H
#define SERVER_DECIDER_H

#include <strata/class.h>
#include <strata/cluster.h>

#include "core/heap.h"
#include "core/env.h"
#include "core/map.h"
#include "core/tree.h"
#include "exec/exec.h"
#include "server/write_batch.h"
#include "server/common.h"
#include "server/passes.h"
#include "server/entity_table.h"
#include "server/fairness.h"
#include "server/spec.h"
#include "server/task_traces.h"
#include "store/store.h"

enum { DECIDER_CLASSES = 6, DECIDER_FORGET_MAX = 4096 };

/* Starts are foreseen for so many of the jobs that wait, from the head of the queue. */
enum { DECIDER_FORESEEN_MAX = 1000 };

struct decider {
	struct common *common;
	const struct server_conf *conf; /* common's */
	const struct env *env;          /* common's */
	struct token_table *tokens;     /* the front's, which only looks them up: token.h */
	struct streams *streams;        /* the front's, with a lock of its own: event_stream.h */
	struct remover *remover;        /* remover.h */
	struct mirror *mirror;          /* mirror.h; NULL: none */
	struct strata_memory memory;

	/* what is decided about: load.h makes it and takes it away */
	struct strata_arena confs; /* until it is unloaded */
	struct strata_registry *registries[DECIDER_CLASSES];
	struct strata_cluster *cluster;
	struct recorder *recorder;                 /* recorder.h; NULL: none */
	struct strata_spec exec_spec;              /* class and options of the executor */
	struct exec *exec;                         /* NULL: only to look at */
	const struct strata_victims_conf *victims; /* who may be interrupted; NULL: nobody */
	struct spec_rules rules;
	struct node_about *nodes; /* nodes.h */
	uint32_t node_count;
	struct map_text node_names;            /* of struct node_about */
	struct remote *remote;                 /* remote.h; NULL: none */
	struct reservation *reservations;      /* reservation.h */
	uint64_t reservation_count;            /* so many were made */
	struct advance_about *advances;        /* advances.h */
	struct map_u64 array_limits;           /* array_limits.h */
	struct map_u64 jobs;                   /* of struct live, by id: live.h */
	struct map_text uuids;                 /* of them */
	struct tree by_id;                     /* of them: all, to be walked in order … */
	struct tree ranges;                    /* … those that stand for several elements … */
	struct tree placed;                    /* … and those that have a place */
	struct live *ended_first, *ended_last; /* of them: those that have ended, in that order */
	struct entities entities[STRATA_ENTITY_COUNT]; /* entities.h */
	struct heap deadlines; /* of live jobs, by the last time they could start: deadlines.h */
	struct map_text gangs; /* "user/name": the number of the gang */
	struct live_spec *last_spec; /* of the last submission; NULL: none yet */

	/* generation: tasks.h, models.h, workers.h */
	struct strata_registry *policies;
	struct strata_spec policy;     /* of every model's pool */
	struct map_text models;        /* of struct model, by name */
	struct map_u64 tasks;          /* of struct task, by id */
	struct map_text task_users;    /* how many live tasks each user has: of size_t */
	struct map_text chosen_models; /* of names, by user: api_sdapi.c */
	size_t task_count;             /* of live ones */
	struct task *ended_tasks;      /* that go after the commit */
	struct doomed *doomed_results; /* files that may go after the commit */
	struct task_traces task_traces;
	/* bytes of pictures by user, of int64_t: result_budget.h */
	struct map_text result_users;
	struct map_u64 dropped_tasks;     /* whose pictures go in this round: result_budget.h */
	int64_t result_bytes;             /* of all */
	int64_t result_from_ns;           /* tasks that ended before have none any more */
	struct map_u64 workers;           /* of struct worker, by job */
	struct map_u64 worker_jobs;       /* while it is loaded: the jobs of workers */
	struct task_feed_row *task_feeds; /* who follows a task: task_feed.h */
	struct parked *parked;            /* requests that are answered later: parked.h */
	struct webhooks *webhooks;        /* webhooks.h; NULL: not loaded */
	struct figures *figures;          /* figures.h; NULL: not loaded */
	struct fairness fairness;         /* fairness.h */

	/* the store, and what is to be written to it */
	char mark[STRATA_PATH_BYTES_MAX + 16]; /* path of the store's mark */
	struct store *store;
	uint64_t epoch;
	int64_t next_id, next_event, next_task;
	struct batch batch;

	/* the round */
	struct strata_arena scratch; /* of one round */
	struct strata_arena pass;    /* what was decided last, until it is done */
	const struct strata_effect *effects;
	size_t effect_count;
	bool again;        /* the next round follows at once */
	int64_t beat_ns;   /* the next sign of life is due; monotonic */
	int64_t retain_ns; /* the next look at what is too old; monotonic */
	uint64_t rounds, commits;
	struct passes passes;
	/* attempts whose end is in this round's commit */
	struct exec_key forget[DECIDER_FORGET_MAX];
	size_t forget_count;
};

static inline int64_t decider_now_ns(const struct decider *decider) /* since 1970 */
{
	return common_now_ns(decider->common);
}

/* Before all else: empty tables. Everything in `common` is borrowed until decider_fini. */
void decider_init(struct decider *decider, struct common *common);
void decider_fini(struct decider *decider);

/* Goes round until the service ends; -ESTALE: another leads. */
int decider_run(struct decider *decider, struct strata_error *err);
/* Answers those that will not be decided any more. */
void decider_end(struct decider *decider);

#endif
