/*
 * A job as it is asked for: one option table for the body of POST /api/v1/jobs, the stored copy, the flags of `strata submit` and the
 * documents (job_spec.c); and a source of a body: what flags gave (job_fields.c). The other, what sbatch makes of a script, is
 * slurm/job_script.h. Pure: nothing is looked up.
 */
#ifndef FORMATS_JOB_SPEC_H
#define FORMATS_JOB_SPEC_H

#include <strata/option.h>
#include <strata/sbatch.h>

#include "core/option.h"

struct job_spec {
	const char *name, *script, *script_name, *working_dir;
	struct strata_list command;    /* of const char * */
	struct strata_list arguments;  /* of const char *: of the script */
	struct strata_map environment; /* of const char * */
	const char *input, *output, *error;
	const char *umask; /* octal: see job_spec_umask; NULL: the usual one */
	bool append;
	const char *account, *partition, *qos, *comment;
	int priority; /* enum strata_band */
	int64_t nice;
	int64_t fine_priority; /* -1: none was asked for */
	int64_t tasks, nodes;
	double cpus_per_task;
	int64_t memory_bytes, memory_per_task_bytes;
	int64_t gpus, gpus_per_node, gpus_per_task;
	double gpu_share;
	const char *gpu_type, *features, *node_list, *node_exclude;
	const char *image; /* of the container it runs in; NULL: the usual one */
	bool exclusive;
	int64_t time_limit_ns; /* 0: the usual one; STRATA_DURATION_UNLIMITED: the longest there is */
	const char *begin;     /* see strata_begin_parse */
	const char *deadline; /* the same: cancelled when it cannot end by then */
	bool hold, requeue, preemptible;
	bool queue_anyway;   /* not refused when no node could take it */
	const char *held_by; /* of one that was held later: "owner" or "operator" */
	int64_t checkpoint_ns;
	const char *signal; /* "B:USR1@60": see slurm_signal_parse */
	const char *array, *dependencies;
	bool cancel_if_never;
	const char *gang;
	int64_t gang_size;
	const char *mail;        /* address; NULL: the user's own */
	const char *notify;      /* "begin,end"; NULL: at the end */
	const char *webhook;     /* URL; NULL: none */
	struct strata_map slurm; /* of const char *: options of Slurm that only its commands read */
	const char *request_key;
};

extern const struct strata_schema job_spec_schema;

/* The name of a job that was given none: of its program or script, one of which it has. */
const char *job_spec_name(const struct job_spec *spec);
/* What the service stored of a job that was taken in once, by this version or an earlier one. */
int job_spec_restore(const char *json, struct strata_arena *arena, struct job_spec *ret_spec,
		     struct strata_error *err);

/* What of a job its owner wants to hear of. */
enum job_notify {
	JOB_NOTIFY_BEGIN = 1 << 0,
	JOB_NOTIFY_END = 1 << 1, /* however it ended */
	JOB_NOTIFY_FAIL = 1 << 2,
	JOB_NOTIFY_REQUEUE = 1 << 3,
};
/* "begin,end,fail,requeue", "all" or "none"; NULL: the end. False: it is something else. */
bool job_spec_notify(const char *text, unsigned *ret_notify);
/* "027" as a number, 0 to 0777; of NULL the usual 022. False: it is none. */
bool job_spec_umask(const char *text, int64_t *ret_umask);

/* Takes out of a body what stands for the same as the field of that name (gpus and gpus_per_node): at most one of them may be there. */
void job_spec_drop_alternatives(json_t *body, const char *name);

/* Who asks, and from where. */
struct job_caller {
	const char *const *env;  /* NAME=value …, NULL behind the last; NULL: none */
	const char *working_dir; /* NULL: nobody knows */
	const char *umask;       /* octal; NULL: nobody knows */
	int64_t now_ns;
	int32_t zone_seconds; /* east of UTC */
};

/* Directories may be named from where the caller is; the service knows no such place. NULL: no memory, or not UTF-8. */
json_t *job_spec_dir(const struct job_caller *caller, const char *path);

/*
 * Puts the fields that `given` names into the body, over what is there; a field that stands for the same as another (gpus and
 * gpus_per_node) takes its place. Times relative to now become times.
 */
int job_fields_add(const struct job_spec *fields, const struct origins *given,
		   const struct job_caller *caller, json_t *body, struct strata_error *err);

/* working_dir, umask and environment, unless the body has them: the caller's, and on top the variables of the fields (NULL: none). Variables
 * that are not UTF-8 cannot be sent; ret_skipped counts them. */
int job_fields_add_caller(const struct job_spec *fields, const struct job_caller *caller,
			  json_t *body, size_t *ret_skipped, struct strata_error *err);

/* All of the caller's variables but the client's token, which is nobody else's business, and those of a job that the caller is in. 0 or
 * -ENOMEM. */
int job_caller_add_environment(const struct job_caller *caller, json_t *map, size_t *ret_skipped);

#endif
