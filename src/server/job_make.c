/* New jobs of job_make.h. */
#include "server/job_make.h"

void job_make(const struct job_spec *spec, const struct strata_job_request *request,
	      struct job *ret_job)
{
	uint32_t nodes = request->nodes ? request->nodes : 1;

	*ret_job = (struct job){
		.account = spec->account,
		.partition = spec->partition,
		.qos = spec->qos,
		.name = request->name,
		.state = STRATA_JOB_QUEUED,
		.reason = STRATA_REASON_NONE,
		.band = request->band,
		.priority = request->priority,
		.gpu_count = (int64_t)request->gpus * request->tasks +
			     (int64_t)request->gpus_per_node * nodes + (request->gpu_milli > 0),
		.gpu_type = spec->gpu_type,
		.cpu_cores = (request->cpu_milli * request->tasks + 999) / 1000,
		.memory_bytes = request->memory_bytes * request->tasks +
				request->memory_per_node_bytes * nodes,
		.working_dir = spec->working_dir,
		.eligible_ns = request->begin_ns,
		.time_limit_ns = request->time_limit_ns,
		.gang_id = (int64_t)request->gang,
		.comment = spec->comment,
	};
}

char *job_make_command(const struct job_spec *spec)
{
	json_t *list = json_array();
	const char *const *words = spec->command.items;
	char *text;

	for (size_t i = 0; list && i < spec->command.count; i++)
		json_array_append_new(list, json_string(words[i]));
	text = list ? json_dumps(list, JSON_COMPACT) : NULL;
	json_decref(list);
	return text;
}
