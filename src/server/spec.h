/*
 * A job as it is asked for over the API: one option table for the request's body, the stored copy, the documents and the command line, and
 * the translation into what the cluster decides by. Pure: nothing is looked up.
 */
#ifndef SERVER_SPEC_H
#define SERVER_SPEC_H

#include <strata/cluster.h>
#include <strata/option.h>

struct spec {
	const char *name, *script, *script_name, *working_dir;
	struct strata_list command;    /* of const char * */
	struct strata_map environment; /* of const char * */
	const char *input, *output, *error;
	bool append;
	const char *account, *partition, *qos, *comment;
	int priority; /* enum strata_band */
	int64_t nice;
	int64_t tasks, nodes;
	double cpus_per_task;
	int64_t memory_bytes, memory_per_task_bytes;
	int64_t gpus, gpus_per_node, gpus_per_task;
	double gpu_share;
	const char *gpu_type, *features, *node_list, *node_exclude;
	bool exclusive;
	int64_t time_limit_ns; /* 0: the usual one */
	int64_t begin_ns;
	bool hold, requeue, preemptible;
	int64_t checkpoint_ns;
	const char *array, *dependencies;
	bool cancel_if_never;
	const char *gang;
	int64_t gang_size;
	const char *request_key;
};

extern const struct strata_schema spec_schema;

/* The name of a job that was given none: of its program or script. */
const char *spec_name(const struct spec *spec);

/* What is the same for all jobs. */
struct spec_rules {
	int64_t time_limit_ns; /* of a job that asks for none … */
	int64_t time_limit_ns_max;
	uint32_t gpus_max; /* of one node */
};

/* Fills everything but the id, user, array, gang and dependencies, which are the caller's to know. Texts are the spec's. -EINVAL names the
 * field. */
int spec_request(const struct spec *spec, const struct spec_rules *rules,
		 struct strata_job_request *ret_request, struct strata_error *err);

#endif
