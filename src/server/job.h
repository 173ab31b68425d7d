/*
 * A job as the service thinks of it: what is one of a few things is an enum, where it runs a
 * struct. The store's row (store.h) and the answers of the API (view.h) have texts for them;
 * job_row.c is the edge to the one, view.c to the other.
 */
#ifndef SERVER_JOB_H
#define SERVER_JOB_H

#include "server/job_place.h"
#include "store/store.h"
#include "store/uuid.h"

#include <strata/cluster.h>

/* How a job that is placed is to be stopped: a restart does not forget it. Ends when the job has
 * left its place. */
enum job_stopping {
	JOB_NOT_STOPPING,
	JOB_STOPPING_REQUEUE,
	JOB_STOPPING_CANCEL,
	JOB_STOPPING_SUSPEND,
};
enum job_stopping job_stopping_of(enum strata_stop mode);
/* False: it is not to be stopped. */
bool job_stop_mode(enum job_stopping stopping, enum strata_stop *ret_mode);

/* Who keeps it waiting. */
enum job_hold {
	JOB_NOT_HELD,
	JOB_HELD,             /* it was submitted so */
	JOB_HELD_BY_OWNER,    /* later, by whose it is */
	JOB_HELD_BY_OPERATOR, /* only operators release it */
};

struct job {
	int64_t id;
	const char *uuid, *user;
	int64_t uid, gid;
	const char *account, *partition, *qos, *name; /* NULL: none */
	enum strata_job_state state;
	enum strata_reason reason;
	enum strata_band band;
	int64_t priority;                           /* finer than the band */
	int64_t gpu_count, cpu_cores, memory_bytes; /* in all */
	const char *gpu_type;                       /* NULL: any */
	const char *command;                        /* JSON: an array of texts */
	const char *working_dir;
	int64_t created_ns, eligible_ns, scheduled_ns, started_ns;
	int64_t completed_ns; /* ended, however; 0: the job is live */
	int64_t time_limit_ns;
	int64_t attempt;
	int64_t exit_code, exit_signal;
	int64_t array_id, array_index;    /* array_id 0: not of an array */
	int64_t gang_id;                  /* 0: not of a gang */
	const char *request;              /* JSON: as submitted, and who holds it */
	const char *script, *environment; /* hashes of blobs, or NULL */
	const struct job_place *place;    /* where it runs; NULL: nowhere */
	const struct job_place *ran_on;   /* of its last run; NULL: it has not run */
	const char *request_key, *comment;
	int64_t preempted;
	const char *cancelled_by; /* NULL: nobody */
	enum job_stopping stopping;
	const char *failure; /* why it could not be started; NULL: it could */
	int64_t user_ns, system_ns, memory_peak_bytes;
	/* above 1: a range of an array, of which this is the last element, as in the store's row */
	int64_t elements, index_step;
};

/* So many jobs it is. */
static inline int64_t job_elements(const struct job *job)
{
	return job->elements > 1 ? job->elements : 1;
}
static inline int64_t job_first_id(const struct job *job)
{
	return job->id - job_elements(job) + 1;
}
/* The element with this id, of the job that it is or the range that contains it. `uuid` is room for
 * its uuid. */
struct job job_element(const struct job *job, int64_t id, char uuid[UUID_TEXT_BYTES]);

/* The row as it is stored; texts are the job's, places in the arena. -ENOMEM. */
int job_to_row(const struct job *job, struct strata_arena *arena, struct store_job *ret_row);
/* The job of a stored row; texts stay the row's, places are in the arena. What this version has no
 * word for: a state is queued, all else none. -ENOMEM. */
int job_from_row(const struct store_job *row, struct strata_arena *arena, struct job *ret_job);

/* May a job that was in one state be in another when its row is written next? Ended jobs stay as
 * they ended. */
bool job_state_follows(enum strata_job_state before, enum strata_job_state after);

#endif
