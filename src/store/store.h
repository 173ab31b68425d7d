/*
 * The durable state of the service: jobs, steps, arrays, events, usage, users and accounts, tokens,
 * nodes, reservations, checkpoints, generation tasks and their models, key figures by day, and who
 * leads. One interface, one back end per file: SQLite for one machine, PostgreSQL for several
 * servers. The address picks it:
 *
 *	sqlite:/var/lib/strata/strata.db	(or the bare path)
 *	postgresql://strata@db/strata		(or postgres://; see libpq)
 *
 * Everything is written by store_apply: a batch of changes is one transaction, all of it or
 * nothing. Changes say what a row is from now on, never by how much it differs, so a batch whose
 * fate is unknown (-EAGAIN: the connection broke while it was committed) is simply applied again.
 * Many submissions in one batch is how commits are shared.
 *
 * Every write carries the epoch that store_lead gave. Whoever leads later has a higher one, and
 * from then on the writes of the earlier leader are refused with -ESTALE, whatever it believes.
 *
 * Rows are plain structs. Texts are NUL-terminated UTF-8, NULL where there is none; numbers are
 * int64_t, 0 where there is none; times are nanoseconds since 1970. JSON is opaque here. On the way
 * in everything is borrowed during the call; rows handed to a callback are borrowed until it
 * returns (store_row_copy keeps one).
 *
 * A struct store is used by one thread at a time, and not from inside its own callbacks. Readers on
 * other threads open their own, or take one from struct store_readers.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <strata/class.h>
#include <strata/error.h>
#include <strata/limits.h>
#include <strata/memory.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

/* The back ends. */
extern const struct strata_kind store_kind;

/* ---- rows ---- */

enum { STORE_HASH_BYTES = 65 }; /* BLAKE2b-256 in hexadecimal, with the NUL */

/* Contents stored once: scripts, environments. Put in the batch of the first job that refers to it,
 * or before. */
struct store_blob {
	const char *hash; /* store_blob_hash of the bytes */
	const void *bytes;
	size_t size_bytes;
};

struct store_job {
	int64_t id;       /* public, > 0, never used twice */
	const char *uuid; /* uuid_make */
	const char *user; /* whose it is */
	int64_t uid;      /* the same for the system */
	int64_t gid;
	const char *account;   /* NULL: none */
	const char *partition; /* NULL: any */
	const char *qos;       /* NULL: none */
	const char *name;      /* NULL: none */
	const char *state;     /* "queued" … */
	const char *reason;    /* why it waits or how it ended; NULL: none */
	int64_t band;          /* enum strata_band */
	int64_t priority;      /* finer than the band */
	int64_t gpu_count;     /* in all */
	const char *gpu_type;  /* NULL: any */
	int64_t cpu_cores;     /* in all */
	int64_t memory_bytes;  /* in all */
	const char *command;   /* JSON: an array of texts */
	const char *working_dir;
	int64_t created_ns;   /* submitted */
	int64_t eligible_ns;  /* may start from here on */
	int64_t scheduled_ns; /* got its place */
	int64_t started_ns;
	int64_t completed_ns; /* ended, however; 0: the job is live */
	int64_t time_limit_ns;
	int64_t attempt; /* how often it was started */
	int64_t exit_code;
	int64_t exit_signal; /* 0: it exited */
	int64_t array_id;    /* 0: not of an array */
	int64_t array_index;
	int64_t gang_id;         /* 0: not of a gang */
	const char *spec;        /* JSON: the request as submitted */
	const char *script;      /* hash of a blob, or NULL */
	const char *environment; /* hash of a blob, or NULL */
	const char *place;       /* JSON: where it runs; NULL: nowhere */
	const char *request_key; /* the submitter's own key: unique for a user; NULL: none */
	const char *comment;
	int64_t preempted;          /* so often it was stopped for another */
	const char *ran_on;         /* as place, of its last run; NULL: it has not run */
	const char *cancelled_by;   /* the user who did; NULL: nobody */
	const char *stopping;       /* how it is to be stopped, "cancel" …; NULL: it is not */
	const char *failure;        /* why it could not be started, as a sentence; NULL: it could */
	int64_t user_ns, system_ns; /* CPU time of its last run … */
	int64_t memory_peak_bytes;  /* … and the most memory it had; 0: not known */
	/*
	 * Above 1: a range of an array. The row stands for so many elements, of which it is the
	 * last; those before it have the ids below, uuids one lower each (uuid_move) and indexes
	 * index_step apart, and all else is the same. An element that becomes different gets a row
	 * of its own in the batch that makes the range smaller. 0 or 1: this job.
	 */
	int64_t elements, index_step;
};

struct store_step {
	int64_t job;
	int64_t number; /* within the job */
	const char *name;
	const char *state;
	const char *command; /* JSON */
	const char *place;   /* JSON; NULL: nowhere */
	int64_t started_ns;
	int64_t completed_ns;
	int64_t exit_code;
	int64_t exit_signal;
	int64_t user_ns, system_ns; /* CPU time */
	int64_t memory_peak_bytes;  /* 0: not known */
};

/* Many jobs submitted as one. */
struct store_array {
	int64_t id; /* as in the jobs' array_id */
	const char *user;
	int64_t task_count;
	int64_t running_max; /* tasks at a time; 0: no limit */
	int64_t created_ns;
	const char *indexes; /* "0-9:2,20" */
};

/* What happened, in order. */
struct store_event {
	int64_t sequence; /* > 0, never used twice */
	int64_t at_ns;
	int64_t job;       /* 0: of no job */
	const char *kind;  /* "job.started" … */
	const char *about; /* JSON */
};

/* What was used: by whom, in the stretch of time that begins at from_ns (0: all of it, faded; see
 * core/share.h). */
struct store_usage {
	const char *account; /* "": none */
	const char *user;    /* "": the account as a whole */
	int64_t from_ns;
	double amount; /* as charged */
	double gpu_seconds;
	double cpu_seconds;
	double memory_byte_seconds;
	int64_t job_count;
	int64_t updated_ns; /* the figures are as of then */
};

/* Whom the rules are about: a user, an account, a partition, a QOS. */
struct store_entity {
	const char *kind; /* "user", "account", "partition", "qos" */
	const char *name;
	const char *parent;   /* NULL: none */
	const char *settings; /* JSON */
};

struct store_token {
	const char *id;
	const char *hash; /* of the secret; the secret is nowhere */
	const char *user;
	const char *role;
	int64_t created_ns;
	int64_t expires_ns; /* 0: never */
	int64_t revoked_ns; /* 0: it was not */
	int64_t used_ns;    /* last */
	const char *comment;
	const char *made_by; /* the id of the token it was made with; NULL: none */
};

struct store_node {
	const char *name;
	const char *state;
	const char *reason; /* NULL: none */
	int64_t since_ns;
	const char *settings; /* JSON; NULL: none */
};

struct store_reservation {
	const char *name;
	int64_t begin_ns;
	int64_t end_ns;
	const char *settings; /* JSON: for whom, which nodes */
};

struct store_checkpoint {
	int64_t job;
	int64_t rank; /* 0: the latest, 1: the one before … */
	const char *path;
	int64_t size_bytes;
	int64_t at_ns;
	int64_t step; /* of the program's own count */
};

/* What a request with a key was answered: the same request again gets the same bytes. */
struct store_answer {
	const char *user;
	const char *request_key; /* the user's own */
	const char *request;     /* store_blob_hash of what was asked */
	int64_t created_ns;
	const void *body;
	size_t body_bytes;
};

/* A generation request: a task of the pool. */
struct store_task {
	int64_t id; /* public, > 0, never used twice; counted apart from jobs */
	const char *user;
	int64_t uid;         /* of the user */
	const char *account; /* NULL: none */
	const char *model;
	const char *status; /* "pending" …; of one that runs the last that was worth a commit */
	const char *parameters; /* JSON: the request with its defaults filled in */
	int64_t priority;
	int64_t deadline_ns; /* 0: none */
	int64_t created_ns;
	int64_t started_ns; /* first with a worker */
	int64_t ended_ns;   /* however; 0: the task is live */
	int64_t steps, steps_done;
	int64_t attempts;         /* so often a worker took it */
	int64_t seed;             /* that it is drawn with */
	const char *error;        /* why it failed or cannot start, as a sentence; NULL: none */
	const char *cancelled_by; /* the user who did; NULL: nobody */
	int64_t cost_ns;          /* measured, of a worker */
	const char *images;       /* JSON: its pictures; NULL: none, or removed */
};

/* What pictures are made with. */
struct store_model {
	const char *name;
	const char *settings; /* JSON: folder, backend, what its workers need, defaults */
	int64_t paused;       /* 1: its tasks wait */
	int64_t created_ns;
};

/* A task's right to a file of results: a file that no row names may go. */
struct store_result {
	const char *hash; /* store_blob_hash of the file */
	int64_t task;
	int64_t size_bytes;
};

/* A job that the service started to compute tasks of a model: no other may ask for them. The row
 * goes with the job's. */
struct store_worker {
	int64_t job;
	const char *model;
	int64_t created_ns;
};

/* What a job used over time, in its last run. */
struct store_samples {
	int64_t job;
	int64_t attempt;    /* that ran */
	int64_t started_ns; /* it */
	const char *points; /* JSON: as the executor tells it */
};

/* A message to a webhook that has not arrived yet. */
struct store_delivery {
	const char *id;    /* uuid_make: receivers know by it what they have had */
	const char *user;  /* whose it is */
	const char *event; /* "job.ended", "task.ended" */
	const char *url;   /* where it goes */
	const char *body;  /* JSON */
	const char *error; /* what the last attempt came to; NULL: there was none */
	int64_t attempts;  /* so far */
	int64_t created_ns;
	int64_t due_ns; /* the next attempt is not before then */
};

/* A key figure of the service on one day, as one number and how it was spread. */
struct store_figure {
	const char *kind; /* "wait", "pass" … */
	const char *of;   /* what it is the figure of: "band normal"; "": the service */
	int64_t day;      /* since 1970, UTC */
	double median;
	double low, high;   /* a tenth of the values was below, a tenth above */
	int64_t count;      /* of values */
	const char *sketch; /* JSON: all of the values, while the day goes on; NULL: it is over */
};

enum store_row {
	STORE_BLOB, /* first, because jobs refer to them */
	STORE_JOB,
	STORE_STEP,
	STORE_ARRAY,
	STORE_EVENT,
	STORE_USAGE,
	STORE_ENTITY,
	STORE_TOKEN,
	STORE_NODE,
	STORE_RESERVATION,
	STORE_CHECKPOINT,
	STORE_ANSWER,
	STORE_TASK,
	STORE_MODEL,
	STORE_RESULT,
	STORE_WORKER,
	STORE_DELIVERY,
	STORE_SAMPLES,
	STORE_FIGURE,
};
enum { STORE_ROW_COUNT = STORE_FIGURE + 1 };

/* clang-format off */
#define STORE_ROW_OF(row) _Generic(*(row), \
	struct store_blob: STORE_BLOB, struct store_job: STORE_JOB, struct store_step: STORE_STEP, \
	struct store_array: STORE_ARRAY, struct store_event: STORE_EVENT, struct store_usage: STORE_USAGE, \
	struct store_entity: STORE_ENTITY, struct store_token: STORE_TOKEN, struct store_node: STORE_NODE, \
	struct store_reservation: STORE_RESERVATION, struct store_checkpoint: STORE_CHECKPOINT, \
	struct store_answer: STORE_ANSWER, struct store_task: STORE_TASK, struct store_model: STORE_MODEL, \
	struct store_result: STORE_RESULT, struct store_worker: STORE_WORKER, \
	struct store_delivery: STORE_DELIVERY, struct store_samples: STORE_SAMPLES, \
	struct store_figure: STORE_FIGURE)
/* clang-format on */

/* One change of a batch. Make it with STORE_PUT and STORE_DELETE, which know the row by its
 * type. */
struct store_change {
	bool remove; /* else: put, whether a row with this key is there or not */
	enum store_row kind;
	const void *row; /* borrowed during the call; of one to remove only the key is read */
};
#define STORE_PUT(row_) ((struct store_change){ .kind = STORE_ROW_OF(row_), .row = (row_) })
#define STORE_DELETE(row_) \
	((struct store_change){ .remove = true, .kind = STORE_ROW_OF(row_), .row = (row_) })

/* A copy of a row with its texts on the arena; NULL when out of memory. */
void *store_row_copy(enum store_row kind, const void *row, struct strata_arena *arena);

/* ---- opening ---- */

/*
 * Opens a store. To write: creates what is missing (a file only its owner reads) and brings the
 * tables up to date, in one transaction. To read only: it must be there and up to date. memory is
 * borrowed until store_close.
 *
 * -EINVAL for an address that names no back end; -ENOTSUP when the tables are from a newer version
 * of the program; -EBADMSG when the file is no database or damaged; -ECONNREFUSED when the server
 * is not there; -EACCES, -EROFS, -ENOENT, -ENOSPC, -ENOMEM.
 */
int store_open(const char *address, bool read_only, struct strata_memory *memory,
	       struct store **ret_store, struct strata_error *err);
/* Gives up the lead, too. NULL is nothing. */
void store_close(struct store *store);

/* The class of its back end. */
const struct strata_class *store_class_of(const struct store *store);

/* ---- who leads ---- */

struct store_leader {
	uint64_t epoch; /* 0: nobody has led yet */
	/* where it is asked: a URL or the path of a socket; "": it did not say */
	const char *address;
	const char *host; /* that it runs on; "": it did not say */
	int64_t since_ns; /* it leads */
	int64_t beats;    /* store_beat so far, under any leader: grows while one is alive */
};

/*
 * Becomes the leader: takes the lock that one process at a time can have, until store_close, and
 * raises the epoch, which is durable when this returns. What `self` says (address, host, since_ns;
 * NULL: nothing) is there for others to read. -EBUSY when another process leads.
 */
int store_lead(struct store *store, const struct store_leader *self, uint64_t *ret_epoch,
	       struct strata_error *err);

/* The epoch now: 0 before anyone led. */
int store_epoch(struct store *store, uint64_t *ret_epoch, struct strata_error *err);

/* Who leads, or did last; texts on the arena. */
int store_leader(struct store *store, struct strata_arena *arena, struct store_leader *ret_leader,
		 struct strata_error *err);

/* May several servers open it, of which one leads? Without: a second one is a mistake. */
bool store_shared(const struct store *store);

/* The leader shows that it is alive, and learns whether it still leads: as store_apply. Cheap: it
 * need not be durable. */
int store_beat(struct store *store, uint64_t epoch, struct strata_error *err);

/*
 * Takes the lock from a leader that does not beat any more, by ending its session; store_lead can
 * be tried then. That it wakes up later does no harm: its session is gone, and the next one is told
 * -ESTALE. -ENOTSUP where the store is not shared.
 */
int store_depose(struct store *store, struct strata_error *err);

/* What is done with a row (a struct of the kind asked for). Anything but 0 ends the walk and is
 * returned. */
typedef int store_each(void *context, const void *row, struct strata_error *err);

/* ---- writing ---- */

/*
 * As store_open, to write; and beside it a mark is kept at the path `mark`, by which a store that
 * is not what it was is noticed: emptied, older, another one, without the log that a crash left.
 * -EBADMSG then, before anything is changed, with a sentence that says what to do. Where there is
 * no mark the store is taken as it is, and marked when it is led.
 */
int store_open_marked(const char *address, const char *mark, struct strata_memory *memory,
		      struct store **ret_store, struct strata_error *err);
/* Takes the store as it is from now on, whatever the mark says. */
int store_mark_accept(const char *mark, struct strata_error *err);

/*
 * Applies 0 to STRATA_STORE_CHANGES_MAX changes in their order, as one transaction; when this
 * returns 0 they are durable.
 *
 * -ESTALE: another leads (or the database was replaced by an older one). -EEXIST: the uuid, or the
 * user's request key, is another job's. -ENOENT: a job refers to a blob that is not there. -EINVAL,
 * with the field: a text that is missing or not UTF-8, a wrong hash, a key that is not > 0; jobs,
 * events, blobs and arrays are not deleted but forgotten. -E2BIG: more changes or bytes than the
 * limits. -EAGAIN: the database cannot be reached or is busy; apply the same again. -ENOSPC,
 * -EROFS, -EIO, -ENOMEM. Nothing has changed then, but for -EAGAIN, which does not know.
 */
int store_apply(struct store *store, const struct store_change *changes, size_t count,
		uint64_t epoch, struct strata_error *err);

/*
 * Retention: forgets up to `limit` (1 … STRATA_STORE_PAGE_MAX) jobs that ended before before_ns,
 * oldest end first, with their steps, samples, events and checkpoints, arrays and blobs that no job
 * needs any more, and as many older events of no job and answers. The newest job and event stay, so
 * that their numbers are never used again. One transaction; call it until it says 0.
 */
int store_forget(struct store *store, int64_t before_ns, size_t limit, uint64_t epoch,
		 size_t *ret_count, struct strata_error *err);

/* The same for tokens that have expired or were revoked before before_ns; not for the one with the
 * highest number. */
int store_forget_tokens(struct store *store, int64_t before_ns, size_t limit, uint64_t epoch,
			size_t *ret_count, struct strata_error *err);

/* A right to a file of results that is gone. */
struct store_gone {
	struct store_result result;
	const char *user; /* of the task */
	bool used;        /* another task needs the file */
};

/* The same for tasks that ended before before_ns, oldest end first, and their rights to results;
 * the newest task stays. `each` gets every struct store_gone, once that is durable. */
int store_forget_tasks(struct store *store, int64_t before_ns, size_t limit, uint64_t epoch,
		       store_each *each, void *context, size_t *ret_count,
		       struct strata_error *err);

/* Which tasks lose their rights to results: those that ended from from_ns on and before before_ns,
 * oldest end first, until so many bytes are gone. The tasks stay. */
struct store_drop {
	int64_t from_ns, before_ns;
	int64_t bytes; /* INT64_MAX: all of them */
	size_t limit;  /* tasks that are looked at; 1 … STRATA_STORE_PAGE_MAX */
};
/* One transaction. ret_from_ns: where to go on, which is before_ns when nothing is left to look
 * at. ret_count: of rights that are gone. */
int store_drop_results(struct store *store, const struct store_drop *drop, uint64_t epoch,
		       store_each *each, void *context, int64_t *ret_from_ns, size_t *ret_count,
		       struct strata_error *err);

/* ---- reading ---- */

struct store_result_sum {
	const char *user;
	int64_t size_bytes;
};
/* What the results of each user's tasks take, as struct store_result_sum. */
int store_results_sum(struct store *store, store_each *each, void *context,
		      struct strata_error *err);

struct store_filter {
	bool live;   /* jobs and tasks that have not ended, and what belongs to such jobs */
	int64_t job; /* what belongs to this job: steps, events, checkpoints; 0: any */
};

/* Walks over all rows of a kind (not blobs) in the order of their keys, ranges of jobs as they
 * are. filter may be NULL. A walk over a store that is being written to sees each row that was
 * there all the time once. */
int store_load(struct store *store, enum store_row kind, const struct store_filter *filter,
	       store_each *each, void *context, struct strata_error *err);

/* The highest number given out: of jobs, arrays, events or tasks; 0: none. */
int store_last(struct store *store, enum store_row kind, int64_t *ret_number,
	       struct strata_error *err);

/* Which jobs of the history. Zeroed it asks for all of them, from the lowest id on. */
struct store_query {
	const char *const *states; /* any of these; none: any */
	size_t state_count;        /* up to STRATA_STORE_STATES_MAX */
	const char *user;          /* NULL: any */
	const char *account;       /* NULL: any */
	const char *partition;     /* NULL: any */
	const char *name;          /* "train*", in any case: '*' is any text; NULL: any */
	int64_t since_ns;          /* created then or later; 0: any */
	int64_t until_ns;          /* created before; 0: any */
	int64_t array_id;          /* 0: any */
	int64_t after; /* beyond this id in the direction of the walk; 0: from the start */
	size_t limit;  /* 1 … STRATA_STORE_PAGE_MAX */
	bool descending;
};

/* One page, with every element of a range as a row. The id of its last row is the next one's
 * `after`; fewer than limit rows: there is no more. */
int store_jobs_page(struct store *store, const struct store_query *query, store_each *each,
		    void *context, struct strata_error *err);

/* Events beyond a sequence number, in order. */
int store_events_page(struct store *store, int64_t after, size_t limit, store_each *each,
		      void *context, struct strata_error *err);

/* The highest id of a row from first to last; 0: there is none. */
int store_job_last(struct store *store, int64_t first, int64_t last, int64_t *ret_id,
		   struct strata_error *err);

/* One job, or element of a range, on the arena: by id; by uuid; by its user's request key.
 * -ENOENT. */
int store_job_get(struct store *store, int64_t id, struct strata_arena *arena,
		  struct store_job *ret_job, struct strata_error *err);
int store_job_find(struct store *store, const char *uuid, struct strata_arena *arena,
		   struct store_job *ret_job, struct strata_error *err);
int store_job_requested(struct store *store, const char *user, const char *request_key,
			struct strata_arena *arena, struct store_job *ret_job,
			struct strata_error *err);

/* Which tasks. Zeroed but for its limit it asks for all of them, from the lowest id on. */
struct store_task_query {
	const char *const *statuses; /* any of these; none: any */
	size_t status_count;         /* up to STRATA_STORE_STATES_MAX */
	const char *user;            /* NULL: any */
	const char *model;           /* NULL: any */
	int64_t after; /* beyond this id in the direction of the walk; 0: from the start */
	size_t limit;  /* 1 … STRATA_STORE_PAGE_MAX */
	bool descending;
};

/* One page of tasks, as store_jobs_page. */
int store_tasks_page(struct store *store, const struct store_task_query *query, store_each *each,
		     void *context, struct strata_error *err);
/* One task on the arena. -ENOENT. */
int store_task_get(struct store *store, int64_t id, struct strata_arena *arena,
		   struct store_task *ret_task, struct strata_error *err);
/* The rights of one task to files of results, as struct store_result, by hash. */
int store_task_results(struct store *store, int64_t task, store_each *each, void *context,
		       struct strata_error *err);
/* Does a task name the file of this hash? */
int store_result_used(struct store *store, const char *hash, bool *ret_used,
		      struct strata_error *err);

/* What a request with this key was answered, on the arena. -ENOENT. */
int store_answer_get(struct store *store, const char *user, const char *request_key,
		     struct strata_arena *arena, struct store_answer *ret_answer,
		     struct strata_error *err);

/* The name of contents. */
void store_blob_hash(const void *bytes, size_t size_bytes, char ret_hash[STORE_HASH_BYTES]);

/* Contents by name, on the arena, with a NUL behind them. -ENOENT; -EBADMSG when they are not what
 * they were. */
int store_blob_get(struct store *store, const char *hash, struct strata_arena *arena,
		   struct store_blob *ret_blob, struct strata_error *err);

/* A copy of everything, as of now, in one new file that can be opened as a store; writers go on
 * meanwhile. -EEXIST when the path is taken; -ENOTSUP where the database has its own tool for
 * it, which the sentence names. */
int store_backup(struct store *store, const char *path, struct strata_error *err);

#endif
