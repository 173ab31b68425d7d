/*
 * The service. One thread, the decider, owns the cluster, the live jobs, the store and the executor, and goes round and round:
 *
 *	take what has come in (requests, what jobs report, the clock)
 *	tell the cluster, let it decide
 *	commit all of it in one transaction
 *	answer who asked, carry out what was decided
 *
 * While a commit takes its time the next requests gather, so that they share the next one. Nothing is answered or done before it is
 * durable. While the store is away the batch waits and grows with what jobs report: nothing is decided, changes are refused, reads go on.
 * HTTP threads read, authorise and parse; they never see the cluster.
 *
 * Of several servers on one store one leads and does all this; the others stand by (standby.c).
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <strata/class.h>
#include <strata/cluster.h>
#include <strata/limits.h>

#include "core/env.h"
#include "core/map.h"
#include "exec/exec.h"
#include "server/conf.h"
#include "server/figures.h"
#include "server/job_token.h"
#include "server/passes.h"
#include "server/request.h"
#include "server/spec.h"
#include "store/readers.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

/* Users, accounts, qualities of service or partitions: see people.h. */
struct people {
	struct person *first, *last;
	struct map_text by_name;
};

/* A job that has not ended, or ended a moment ago. */
struct live {
	struct store_job
		row; /* texts: state, reason and stopping static, place and spec their own blocks, the rest in this block */
	size_t bytes; /* of this block */
	struct live *next_dirty;
	bool dirty;
	bool cancelled;    /* its stop was asked for by somebody who wants it gone */
	bool ordered;      /* the executor has its present attempt */
	bool hold;         /* to be held when it is back in the queue */
	bool restart;      /* found placed without an order after a restart: to be ordered again */
	int64_t forget_ns; /* ended: known until then; monotonic */
	struct live *next_ended;
	char *output; /* where it writes, expanded; NULL: not known yet */
	char *error;
	char *checkpoint;   /* the one to go on from; NULL: none */
	int64_t step_count; /* of steps it has had … */
	bool steps_known;   /* … if it was counted since the service started */
};

struct node_about {
	const char *name;
	const struct inventory_node *about;
	struct strata_node_conf conf;
	enum strata_node_state state;
	char *reason; /* malloc's; NULL: none */
	int64_t since_ns;
	uint32_t gpu_first; /* what the machine calls its GPU 0 */
};

/* Starts are foreseen for so many of the jobs that wait, from the head of the queue. */
enum { SERVER_FORESEEN_MAX = 1000 };

/* Changes of one round. */
struct batch {
	struct strata_arena arena;
	struct store_change *changes;
	size_t count, room;
	struct live *dirty;
	size_t dirty_count;
	struct request *waiters; /* to be answered once durable */
	char last_blob[STORE_HASH_BYTES];
	struct map_text answers; /* "user/key": const struct store_answer * of this round */
};

/* A place in the batch to go back to, before anything of it was promised. */
struct batch_mark {
	size_t count;
	int64_t next_event;
	char last_blob[STORE_HASH_BYTES];
};

/* What a server that stands by knows of the leader and of its own picture. Times are monotonic. */
struct standby {
	bool loaded;        /* there is a picture */
	int64_t loaded_ns;  /* since then … */
	int64_t took_ns;    /* … after so long */
	int64_t last_event; /* that is in it */
	int64_t asked_ns;   /* when the lead was last asked for */
	int64_t beats;      /* of the leader … */
	int64_t beats_ns;   /* … since when they are that many */
};

struct server {
	struct server_conf settings;    /* texts are the caller's; changed by the decider alone */
	const struct server_conf *conf; /* the same, for those who only read */
	const struct env *env;
	struct strata_memory memory; /* of the decider */
	struct strata_arena confs;   /* lives as long as the server */
	struct strata_registry *registries[6];
	struct strata_cluster *cluster;
	struct recorder *recorder; /* see recorder.h; NULL: none */
	struct store *store;
	uint64_t epoch;
	struct store_readers *readers;
	struct exec *exec;
	struct strata_spec exec_spec; /* its class and options */
	char limits
		[256]; /* which limits of jobs hold, in words; written before anybody asks. "": not known here */
	unsigned char job_key[JOB_TOKEN_KEY_BYTES];
	struct spec_rules rules;

	struct node_about *nodes;
	uint32_t node_count;
	struct remote *remote;                    /* see remote.h; NULL: none */
	struct reservation *reservations;         /* see reserve.h */
	uint64_t reservation_count;               /* so many were made */
	struct map_u64 jobs;                      /* live ones */
	struct map_text uuids;                    /* of them */
	struct people people[STRATA_PARTY_COUNT]; /* see people.h */
	struct map_text gangs;                    /* "user/name": the number of the gang */
	struct live *ended_first, *ended_last;
	int64_t next_id, next_event;
	struct batch batch;
	struct strata_arena scratch; /* of one round */
	struct strata_arena pass;    /* what was decided last, until it is done */
	const struct strata_effect *effects;
	size_t effect_count;
	bool again;         /* the next round follows at once */
	bool held;          /* the store is away: the batch and the effects wait */
	int64_t retry_ns;   /* held: not before then; monotonic */
	char held_why[256]; /* held: what the store said */
	int64_t beat_ns;    /* the next sign of life is due; monotonic */
	int64_t retain_ns;  /* the next look at what is too old; monotonic */
	struct standby standby;
	uint64_t rounds, commits;
	struct figures figures;
	struct passes passes;
	struct exec_key forget[4096]; /* attempts whose end is in this round's commit */
	size_t forget_count;

	pthread_mutex_t lock; /* of the four below */
	struct request *first, *last;
	size_t waiting;
	char mark[STRATA_PATH_BYTES_MAX + 16]; /* path of the store's mark */
	char leader
		[STRATA_PATH_BYTES_MAX]; /* standing by: where the leader is asked; "": not known */
	int wake_fd;                     /* eventfd */
	atomic_bool stopping;
	atomic_bool store_down;
	atomic_bool standing_by;
	atomic_bool renew; /* the settings are to be read again … */
	void (*read_settings)(struct server *server, void *context); /* … by this; NULL: never */
	void *read_context;

	struct remover *remover;    /* see remover.h */
	_Atomic size_t body_bytes;  /* of large bodies that are in memory */
	struct token_table *tokens; /* see token.h */
	struct MHD_Daemon *http_socket, *http_tcp;
	int tcp_port;
	struct streams *streams;         /* see stream.h */
	struct connections *connections; /* see connection.h */
	pthread_t attendant;             /* see attendant.h */
	bool attendant_runs;
	atomic_bool attendant_stops;
	_Atomic int64_t event_last; /* the last one that is durable */
};

/* server.c */
int server_open(const struct server_conf *conf, struct server **ret_server,
		struct strata_error *err);
/* Serves until server_stop, which may be called from a signal handler. */
int server_run(struct server *server, struct strata_error *err);
void server_stop(struct server *server);
void server_close(struct server *server);
int64_t server_now_ns(const struct server *server); /* since 1970 */
/* say.c: one line of the log. */
void server_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What is decided about, from the configuration and the store: to lead with, or to look at. */
int server_load(struct server *server, bool lead, struct strata_error *err);
void server_unload(struct server *server);
/* The small program beside this one, where it was built or installed; else this one itself. In the arena; NULL: not to be found. */
const char *server_find_supervisor(struct strata_arena *arena);

/* reload.c: settings that change while it runs. */
/* Asks for it; may be called from a signal handler. In its next round the decider calls read_settings. */
void reload_ask(struct server *server);
void reload_look(struct server *server); /* in the decider's round */
/* Takes over what may change (conf_is_live); names of other settings that differ, and need a restart, are added to ret_later with blanks
 * between. Nothing is taken when the settings make no sense. On the decider's thread. */
int server_reload(struct server *server, const struct server_conf *conf, struct buf *ret_later,
		  struct strata_error *err);

/* decider.c */
/* Hands a request over; false: the queue is full or the server stops, and the request is answered. */
bool decider_take(struct server *server, struct request *request);
/* Those that were given and not looked at yet wait on, before all others. */
void decider_give_back(struct server *server, struct request *first);
/* All requests that wait, the first first; to be answered each. */
struct request *decider_given(struct server *server);
int decider_run(struct server *server, struct strata_error *err);
/* Answers those that will not be decided any more. */
void decider_end(struct server *server);

/* standby.c */
/* Asks for the lead: 0, or -EBUSY when another has it. */
int standby_lead(struct server *server, struct strata_error *err);
/* Gives up what the server has, if it led, and stands by from now on. */
void standby_begin(struct server *server);
/* Until the server leads or ends. */
int standby_run(struct server *server, struct strata_error *err);
/* Answers a request to change something, when this is not the server for it. HTTP threads. */
bool standby_refuses(struct request *request);
/* Says where the leader is. */
void standby_refuse(struct request *request);

/* retain.c: forgets ended jobs that are older than the configuration wants, and tokens that are over, a few at a time. */
int retain(struct server *server, struct strata_error *err);
/* ms until it wants to look again. */
int64_t retain_wait_ms(const struct server *server);

/* batch.c: what is to be committed. */
void batch_init(struct server *server);
void batch_fini(struct server *server);
/* The job's row is written as it is at the end of the round. */
void batch_job(struct server *server, struct live *live);
/* One more row, copied. Lack of memory ends the program: nothing could be promised any more. */
void batch_put(struct server *server, struct store_change change);
/* "job.started"; the JSON is taken over, may be NULL. */
void batch_event(struct server *server, int64_t job, const char *kind, json_t *about);
/* Everything that was put since the mark is taken out again; jobs by batch_leave. */
struct batch_mark batch_mark(const struct server *server);
void batch_undo(struct server *server, const struct batch_mark *mark);
/* Does one transaction hold another submission? */
bool batch_is_full(const struct server *server);
/* The job's row is not written: there is no such job. */
void batch_leave(struct server *server, struct live *live);
/* What a request with this key was answered, if that is in this round or in the store; in the arena. -ENOENT. */
int batch_answered(struct server *server, const char *user, const char *key,
		   struct strata_arena *arena, struct store_answer *ret_answer,
		   struct strata_error *err);
/* The answer is kept with the round. */
void batch_answer(struct server *server, const char *user, const char *key, const char *request,
		  const char *body);
/* Commits. -EAGAIN: the store is away; those who wait for the commit are told, all else stays for the next try. -ESTALE: another
 * leads. */
int batch_commit(struct server *server, struct strata_error *err);
/* Nothing of it will be committed here; those who wait are told why. */
void batch_drop(struct server *server, const char *why);

/* live.c */
struct live *live_new(struct server *server, const struct store_job *row);
void live_free(struct server *server, struct live *live);
struct live *live_find(const struct server *server,
		       const char *id); /* number or uuid; NULL: none */
void live_set_place(struct server *server, struct live *live, const struct strata_piece *pieces,
		    uint32_t count);
/* {"n1": [0, 3], "n2": []}: its nodes, and what it has of their GPUs. */
json_t *live_gpu_ids(const struct server *server, const struct strata_piece *pieces,
		     uint32_t count);
/* -ENOENT: it has none; -ENODEV: a node of it is not known any more. */
int live_get_place(const struct server *server, const struct live *live, struct strata_arena *arena,
		   struct strata_piece **ret_pieces, uint32_t *ret_count);
/* It is to be stopped in this way: a restart does not forget that. Over once it is where it was no more. */
void live_set_stopping(struct server *server, struct live *live, enum strata_stop mode);
bool live_get_stopping(const struct live *live, enum strata_stop *ret_mode); /* false: it is not */
void live_set_spec(struct server *server, struct live *live, json_t *spec);
/* State and reason as the cluster has them now; the row is to be written. */
void live_update(struct server *server, struct live *live);
/* It has ended, when the executor says (NULL: now), which may be before the service came back: remembered for a while. */
void live_ended(struct server *server, struct live *live, const struct exec_status *status);
/* It could not be started; the sentence says why. NULL: it could, or is tried once more. */
void live_set_failure(struct server *server, struct live *live, const char *why);
void live_sweep(struct server *server); /* forgets those whose while is over */

/* submit.c */
struct submission {
	struct job_spec spec;
	json_t *json;       /* without script and environment; the submission's reference */
	const char *script; /* bytes, or NULL */
	size_t script_length;
	const char *environment; /* NAME=value, each with its NUL; or NULL */
	size_t environment_length;
};
/* Reads one job object; the JSON is changed. 0 or the error. */
int submission_read(json_t *json, struct strata_arena *arena, struct submission *ret_submission,
		    struct strata_error *err);
/* Takes it in: ids (in the arena) of its jobs, one or those of an array. */
int submission_take(struct server *server, const struct submission *submission,
		    const struct identity *who, struct strata_arena *arena, int64_t **ret_ids,
		    size_t *ret_count, struct strata_error *err);
/* Takes a submission back, of which nobody has been told: the last of the round's jobs, count of them. */
void submission_undo(struct server *server, const int64_t *ids, size_t count);
/* The request of a stored job, as it was made to the cluster. */
int submission_restore(struct server *server, const struct store_job *row,
		       struct strata_arena *arena, struct job_spec *ret_spec,
		       struct strata_job_request *ret_request, struct strata_error *err);

/* act.c: what was decided, and what jobs report. */
void act_note(struct server *server, const struct strata_effect *effects,
	      size_t count); /* before the commit */
void act_do(struct server *server, const struct strata_effect *effects,
	    size_t count); /* after it */
/* A start that was committed before the service came back is ordered again. */
void act_restart(struct server *server, struct live *live);
void act_events(struct server *server); /* takes what the executor has */
/* Their ends are durable: what the executor keeps of them may go. */
void act_forget(struct server *server);

/* start.c */
/* The start was decided and is durable: now it is ordered. An order that cannot be carried out fails the job. */
void start_order(struct server *server, struct live *live);
/* It cannot be started where it is, for no fault of its own: it waits a while and is placed anew. `kind` is the event that says so. */
void start_put_off(struct server *server, struct live *live, int64_t wait_ns, const char *kind,
		   const char *why);
/* Where a job that has been started writes its output, or its errors; in the arena. Any thread. */
int start_output(const struct store_job *row, bool error, struct strata_arena *arena,
		 const char **ret_path, struct strata_error *err);

/* api_checkpoints.c */
/* A checkpoint was written: the job goes on from it. An older one may be condemned by it. */
int checkpoint_note(struct server *server, struct live *live,
		    const struct strata_checkpoint *checkpoint, struct strata_error *err);
/* One is not wanted any more: deleted, if it is in the job's own directory, and its record with it. The remover's. */
struct removal;
void checkpoint_remove(const struct server *server, const struct removal *removal);

/* recover.c. Without an executor: to look at only. */
int recover(struct server *server, struct strata_error *err);

/* nodes.c */
int nodes_open(struct server *server, struct strata_error *err);
void nodes_set(struct server *server, uint32_t row, enum strata_node_state state,
	       const char *reason, int64_t since_ns);
const char *nodes_state_name(enum strata_node_state state);
struct node_about *nodes_find(const struct server *server, const char *name);

/* survey.c: what the executor says of nodes and of others who use them. */
void survey_take(struct server *server, const struct exec_survey *survey);

/* view.c */
json_t *view_job(struct server *server, const struct live *live);
json_t *view_row(const struct store_job *row); /* of the history */
json_t *view_time(int64_t ns);                 /* null for 0 */

/* api_output.c: for those who follow what a job writes. */
void output_started(struct server *server, const struct live *live); /* where is known now */
void output_ended(struct server *server, const struct live *live);

/* http.c */
int http_open(struct server *server, struct strata_error *err);
void http_close(struct server *server);
/* The decider has answered. */
void http_answered(struct request *request);

#endif
