/*
 * A job as the command line asks for it: one table whose rows are the fields of POST /api/v1/jobs in flag form, and the two
 * sources of the body: flags (job_fields.c) and the #SBATCH lines of a script (job_script.c). Flags win.
 */
#ifndef CLIENT_JOB_FIELDS_H
#define CLIENT_JOB_FIELDS_H

#include <strata/option.h>
#include <strata/sbatch.h>

#include "core/option.h"

/* Filled by the table. Which of them were given, a struct origins says; the others are not sent. */
struct job_fields {
	const char *name, *working_dir, *input, *output, *error;
	struct strata_map environment; /* of const char *: beside the caller's own */
	bool append, exclusive, hold, requeue, preemptible, cancel_if_never;
	const char *account, *partition, *qos, *comment;
	int priority;
	int64_t nice, tasks, nodes, gpus, gpus_per_node, gpus_per_task, gang_size;
	double cpus_per_task, gpu_share;
	int64_t memory_bytes, memory_per_task_bytes, time_limit_ns, checkpoint_ns;
	const char *gpu_type, *features, *node_list, *node_exclude;
	const char *begin, *array, *dependencies, *gang;

	/* of the command itself, not sent */
	bool wait, quiet;
	int64_t interval_ns;
};

extern const struct strata_schema job_fields_schema;

/* What the caller is. */
struct job_caller {
	const char *const *env; /* NAME=value …, NULL behind the last */
	const char *working_dir;
	int64_t now_ns;
	int32_t zone_seconds; /* east of UTC */
};

/*
 * Puts the fields that `given` names into the body, over what is there; a field that stands for the same as another (gpus and
 * gpus_per_node) takes its place. Times relative to now become times.
 */
int job_fields_add(const struct job_fields *fields, const struct origins *given,
		   const struct job_caller *caller, json_t *body, struct strata_error *err);

/* working_dir and environment, unless the body has them: the caller's, and on top the variables of the fields. Variables that are
 * not UTF-8 cannot be sent; ret_skipped counts them. The client's own token is never sent. */
int job_fields_add_caller(const struct job_fields *fields, const struct job_caller *caller,
			  json_t *body, size_t *ret_skipped, struct strata_error *err);

/* job_script.c: what a script's request asks for, as fields of the body. What has no field is named in ret_notes, a line each. */
int job_script_add(const struct strata_sbatch *job, const struct job_caller *caller,
		   struct strata_arena *arena, json_t *body, struct buf *ret_notes,
		   struct strata_error *err);

/* The words that run a script with arguments: its interpreter's, then the path, as the kernel would. A new reference. */
int job_script_command(const char *script, const char *path, const char *const *args,
		       size_t arg_count, json_t **ret_command, struct strata_error *err);

#endif
