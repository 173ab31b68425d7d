/*
 * The insides of the executor that runs jobs as pods. kube_order.c writes an order as objects of
 * the API, kube_end.c reads how one ended, exec_kubernetes_watch.c is the thread that does it all
 * and exec_kubernetes_log.c the one that brings output home; exec_kubernetes.c is the class.
 */
#ifndef EXEC_EXEC_KUBERNETES_H
#define EXEC_EXEC_KUBERNETES_H

#include "exec/exec_local.h"
#include "exec/exec_queue.h"
#include "exec/saved.h"
#include "kubernetes/kube_client.h"
#include "kubernetes/kube_pod.h"
#include "kubernetes/kube_watch.h"

#include <strata/text.h>

enum kube_run_as { KUBE_AS_USER, KUBE_AS_IMAGE };

struct kubernetes_conf {
	const char *kubeconfig, *context; /* NULL: see kube_config.h */
	const char *space;                /* NULL: the kubeconfig's, or the pod's own */
	bool insecure;
	const char *image;         /* of jobs that name none; NULL: none */
	struct strata_list mounts; /* of const char *: "/home", "claim=/data" */
	int run_as;                /* enum kube_run_as */
	const char *gpu;           /* what GPUs are called among a node's resources */
	int64_t memory_bytes;      /* of jobs that ask for none; 0: no limit */
	const char *pull_secret, *priority_class, *service_account; /* NULL: none */
	int64_t start_ns; /* a pod that does not start within it never will */
	int64_t lost_ns;  /* a node that is silent so long has lost its jobs */
	/* of the state directory, set by the opening: another's jobs have the same numbers */
	const char *identity;
};

enum {
	KUBE_IDENTITY_BYTES = 17, /* with its NUL */
	KUBE_NAME_BYTES = 64,     /* of an object of ours */
};

#define KUBE_GRACE_LEAST_NS STRATA_SECOND_NS /* that a pod gets which runs, or may */
#define KUBE_LABEL_CLUSTER "strata.io/cluster"
#define KUBE_LABEL_JOB "strata.io/job"
#define KUBE_LABEL_ATTEMPT "strata.io/attempt"
#define KUBE_LABEL_INDEX "strata.io/node-index"

/* ---- kube_order.c: pure ---- */

/* An attempt as objects of the API. */
struct kube_objects {
	json_t *secret;  /* script, environment, token; owned */
	json_t *service; /* by which its pods find each other; NULL: it has one node. Owned */
	json_t *pods;    /* a list; owned */
};

/* -EINVAL when it cannot be: no image, a part of a GPU, too large for a Secret. */
int kube_order_make(const struct kubernetes_conf *conf, const struct exec_order *order,
		    struct strata_arena *arena, struct kube_objects *ret_objects,
		    struct strata_error *err);
void kube_objects_fini(struct kube_objects *objects);
/* Its nodes, of const char *, in the order of its pods; one that is NULL: any. */
int kube_order_nodes(const struct exec_order *order, struct strata_arena *arena,
		     struct strata_list *ret_nodes, struct strata_error *err);
/* "strata-0a1b2c3d-17-1", which is that of its Secret and Service, and with an index (not
 * negative) behind it that of a pod. */
char *kube_object_name(const struct kubernetes_conf *conf, struct exec_key key, int index,
		       char ret_name[KUBE_NAME_BYTES]);

/* ---- kube_end.c: pure ---- */

/* A pod of an attempt, as it was seen last. */
struct kube_part {
	const char *node;     /* where it is to run; NULL: anywhere */
	struct kube_pod *pod; /* NULL: not seen. Owned, malloc's */
	bool gone;            /* it is not there any more */
	struct kube_log *log; /* its output; NULL: not begun. Owned by the logs */
	int64_t asked_ns;     /* monotonic: when its deletion was asked for last; 0: never */
};

/* Has it run to its end, or will it never? */
bool kube_part_over(const struct kube_part *part);
/* It ended otherwise than well. */
bool kube_part_failed(const struct kube_part *part);
/* How an attempt ended all of whose pods are over. `why` is what it was stopped for: an enum
 * exec_how, or -1. Texts are borrowed. */
void kube_status(const struct kube_part *parts, size_t count, int why, const char *why_text,
		 struct exec_status *ret_status);

/* ---- exec_kubernetes_log.c: output ---- */

struct kube_logs;
struct kube_log;

struct kube_log_from {
	const char *space, *pod;
	const char *name; /* of the file in the jobs' directory that says how far it came */
	const char *path; /* where it goes; absolute */
	struct launch_user user;
	mode_t mode; /* of a file that is made */
	bool append;
};

/* Everything is borrowed until close. `wake` is written to when a log is over. */
struct kube_logs_conf {
	const struct kube_config *config;
	const struct env *env;
	int jobs, wake;
};
int kube_logs_open(const struct kube_logs_conf *conf, struct kube_logs **ret_logs,
		   struct strata_error *err);
void kube_logs_close(struct kube_logs *logs);
/* Can its file be opened? A sentence for the job's owner if not. */
int kube_log_check(const struct kube_log_from *from, struct strata_error *err);
/* Follows what a pod writes; NULL: out of memory. */
struct kube_log *kube_log_begin(struct kube_logs *logs, const struct kube_log_from *from);
/* The pod has ended: what there is by then is all. */
void kube_log_finish(struct kube_log *log);
/* All of it is there, or cannot be had. */
bool kube_log_is_over(struct kube_log *log);
void kube_log_drop(struct kube_log *log); /* NULL is nothing */

/* ---- the threads' ---- */

struct kube_attempt {
	struct exec_key key;
	char name[RECORD_NAME_BYTES];
	int64_t lines_at, epoch; /* of its file */
	struct record_control control;
	bool claimed, noted, bound, started;
	bool dirty;                /* something has changed: it is to be looked at */
	bool troubled;             /* and its owner has been told why it does not begin */
	struct strata_arena arena; /* of its texts */
	struct kube_part *parts;
	size_t part_count;
	int64_t time_limit_ns, grace_ns;
	const char *output; /* NULL: none */
	bool append;
	mode_t mode;
	int64_t again_ns; /* monotonic: not before then */
	int64_t bound_ns; /* monotonic: when it was, or was found to be */
	int64_t over_ns;  /* monotonic: when all its pods were over; 0: not yet */
	int64_t started_ns;
	int why; /* what it is stopped for: enum exec_how; -1: it is not */
	char why_text[STRATA_ERROR_TEXT_BYTES];
	const char *checkpoint_dir; /* NULL: none that a pod sees */
	struct launch_user user;
	struct saved saved;
	int64_t checkpoint_count;
};

/* A pod as the watch told it. */
struct kube_cached {
	struct kube_pod *pod; /* owned, malloc's */
	bool ours, told;      /* told: by the watch, not only by the answer to its making */
	struct exec_key key;  /* of ours */
	size_t index;
};

struct kubernetes {
	struct local local; /* the files of attempts; the owner's */
	struct kubernetes_conf conf;
	char identity[KUBE_IDENTITY_BYTES];
	struct strata_arena texts; /* of the config */
	struct kube_config config;

	struct exec_queue queue;
	/* held by who claims an attempt, or takes away one that was not */
	pthread_mutex_t claiming;
	pthread_t thread;
	bool runs;

	/* the thread's own */
	struct strata_memory memory;
	struct strata_arena scratch;
	struct kube_client *client;
	struct kube_watch *pods_watch, *nodes_watch;
	struct kube_logs *logs;
	int log_wake;
	struct map_text attempts; /* of struct kube_attempt, by name; owned */
	struct map_text pods;     /* of struct kube_cached, by "namespace/name"; owned */
	struct map_text nodes;    /* of struct kube_seen_node, by name; owned */
	bool pods_synced, nodes_synced;
	bool away;         /* the API server does not answer: told already */
	bool changed;      /* the survey may be another */
	int64_t survey_ns; /* not before then */
	int64_t sweep_ns;  /* when what is left over is looked for; 0: it is not */
	char *told;        /* what the survey that was told last was made from; malloc's */
};

struct kube_seen_node {
	bool ready, unschedulable;
	int64_t silent_ns; /* monotonic: since when it is not ready */
	char name[STRATA_NAME_BYTES_MAX + 1], message[200];
};

/* ---- exec_kubernetes_watch.c ---- */

int kubernetes_watch_start(struct kubernetes *kubernetes, struct strata_error *err);
void kubernetes_watch_stop(struct kubernetes *kubernetes);
int64_t kubernetes_now_ns(const struct kubernetes *kubernetes);
/* A pod as the answer to its making has it, before the watch tells of it. */
int kubernetes_note_pod(struct kubernetes *kubernetes, const json_t *object);

/* ---- exec_kubernetes_attempt.c ---- */

void kube_attempt_add(struct kubernetes *kubernetes, struct exec_key key);
void kube_attempt_drop(struct kubernetes *kubernetes, struct kube_attempt *at);
struct kube_attempt *kube_attempt_find(struct kubernetes *kubernetes, struct exec_key key);
/* What its file says by now. -ENOENT: it is gone, or has ended. */
int kube_attempt_refresh(struct kubernetes *kubernetes, struct kube_attempt *at,
			 struct strata_error *err);
int kube_attempt_note(struct kubernetes *kubernetes, const struct kube_attempt *at,
		      const char *word, const struct strata_schema *schema, const void *record,
		      struct strata_error *err);
int kube_attempt_order(struct kubernetes *kubernetes, const char *name,
		       struct exec_order *ret_order, struct strata_error *err);
/* Its last word; it is followed no more, and its objects go. */
void kube_attempt_end(struct kubernetes *kubernetes, struct kube_attempt *at,
		      const struct exec_status *status);
/* DELETE of an object of ours; one that is not there has been deleted. */
int kubernetes_delete(struct kubernetes *kubernetes, const char *kind, const char *name,
		      int64_t grace_ns, struct strata_error *err);
/* Deletes what belongs to no attempt any more. */
void kubernetes_sweep(struct kubernetes *kubernetes);

/* ---- exec_kubernetes_start.c, exec_kubernetes_look.c ---- */

/* From an order to pods that are bound. */
void kube_attempt_begin(struct kubernetes *kubernetes, struct kube_attempt *at);
/* What is due for one that is bound: its start, its limit, its end. */
void kube_attempt_look(struct kubernetes *kubernetes, struct kube_attempt *at);

/* ---- exec_kubernetes_survey.c ---- */

int kubernetes_survey(struct kubernetes *kubernetes, struct strata_error *err);
/* The class's call: nodes as scontrol shows them. */
int kubernetes_nodes(const void *conf, const struct env *env, struct strata_memory *memory,
		     struct strata_arena *arena, const char **ret_text, struct strata_error *err);
/* Where the cluster of a conf is. */
int kubernetes_config(const struct kubernetes_conf *conf, const struct env *env,
		      struct strata_arena *arena, struct kube_config *ret_config,
		      struct strata_error *err);

#endif
