/* The translation of spec.h. */
#include "server/spec.h"

#include "slurm/slurm_value.h"
#include "server/mailer.h"
#include "webhook/webhook_address.h"

#include <strata/limits.h>
#include <strata/slurm.h>

#include <errno.h>
#include <string.h>

static int check_program(const struct job_spec *spec, struct strata_error *err)
{
	int64_t mask;

	if (spec->script && spec->command.count)
		return strata_fail_at(err, -EINVAL, "script",
				      "there is a command and a script; expected one of them");
	if (!spec->script && !spec->command.count)
		return strata_fail_at(err, -EINVAL, "command",
				      "there is nothing to run; expected a command or a script");
	if (spec->script && strncmp(spec->script, "#!", 2) != 0)
		return strata_fail_at(err, -EINVAL, "script",
				      "the script does not begin with #!, as in #!/bin/sh");
	if (!spec->script && spec->arguments.count)
		return strata_fail_at(
			err, -EINVAL, "arguments",
			"arguments are those of a script; a command has its own behind its name");
	if (!spec->script && !**(const char *const *)spec->command.items)
		return strata_fail_at(err, -EINVAL, "command", "the program has no name");
	if (spec->working_dir && *spec->working_dir != '/')
		return strata_fail_at(err, -EINVAL, "working_dir",
				      "working_dir is '%.80s'; expected an absolute path",
				      spec->working_dir);
	struct strata_error why = { 0 };

	if (spec->webhook && webhook_url_check(spec->webhook, &why))
		return strata_fail_at(err, -EINVAL, "webhook", "%s", why.text);
	if (spec->mail && mailer_address_check(spec->mail, &why))
		return strata_fail_at(err, -EINVAL, "mail", "%s", why.text);
	unsigned notify;

	if (!job_spec_notify(spec->notify, &notify))
		return strata_fail_at(err, -EINVAL, "notify",
				      "notify is '%.60s'; expected some of begin, end, fail and "
				      "requeue, or all or none",
				      spec->notify);
	if (!job_spec_umask(spec->umask, &mask))
		return strata_fail_at(err, -EINVAL, "umask",
				      "umask is '%.20s'; expected 000 to 777 in octal, as in 027",
				      spec->umask);
	return 0;
}

/* GPUs of the whole job, spread over its nodes or tasks. */
static int spread_gpus(const struct job_spec *spec, const struct spec_rules *rules,
		       struct strata_job_request *request, struct strata_error *err)
{
	int64_t gpus = spec->gpus, tasks = spec->tasks, nodes = spec->nodes;

	if (tasks > 1 && gpus % tasks == 0) {
		request->gpus = (uint32_t)(gpus / tasks);
		return 0;
	}
	if (nodes == 0) { /* one task that needs more than a node has takes several */
		nodes = rules->gpus_max ? (gpus + rules->gpus_max - 1) / rules->gpus_max : 1;
		while (gpus % nodes)
			nodes++;
	}
	if (gpus % nodes)
		return strata_fail_at(err, -EINVAL, "gpus",
				      "gpus is %lld; expected a multiple of nodes (%lld)",
				      (long long)gpus, (long long)nodes);
	request->nodes = (uint32_t)nodes;
	request->tasks = (uint32_t)(tasks > nodes ? tasks : nodes);
	request->gpus_per_node = (uint32_t)(gpus / nodes);
	return 0;
}

static int fill_gpus(const struct job_spec *spec, const struct spec_rules *rules,
		     struct strata_job_request *request, struct strata_error *err)
{
	int ways = (spec->gpus > 0) + (spec->gpus_per_node > 0) + (spec->gpus_per_task > 0) +
		   (spec->gpu_share > 0);

	if (ways > 1)
		return strata_fail_at(
			err, -EINVAL, "gpus",
			"how many GPUs is said in %d ways; expected one of gpus, gpus_per_node, "
			"gpus_per_task and gpu_share",
			ways);
	request->gpus = (uint32_t)spec->gpus_per_task;
	request->gpu_milli = (uint32_t)(spec->gpu_share * 1000 + 0.5);
	if (spec->gpu_share > 0 && request->gpu_milli == 0)
		request->gpu_milli = 1;
	if (spec->gpus_per_node) {
		request->gpus_per_node = (uint32_t)spec->gpus_per_node;
		request->nodes = (uint32_t)(spec->nodes ? spec->nodes : 1);
	}
	return spec->gpus ? spread_gpus(spec, rules, request, err) : 0;
}

/* A number without a unit is bytes, which nobody means. */
static int check_bytes(const char *field, int64_t bytes, struct strata_error *err)
{
	if (bytes == 0 || bytes >= STRATA_JOB_MEMORY_BYTES_MIN)
		return 0;
	return strata_fail_at(err, -EINVAL, field,
			      "%s is %lld bytes, with which nothing runs; say %lldM or %lldG",
			      field, (long long)bytes, (long long)bytes, (long long)bytes);
}

static int fill_memory(const struct job_spec *spec, struct strata_job_request *request,
		       struct strata_error *err)
{
	if (spec->memory_bytes && spec->memory_per_task_bytes)
		return strata_fail_at(err, -EINVAL, "memory",
				      "expected one of memory and memory_per_task");
	int rc = check_bytes("memory", spec->memory_bytes, err);

	if (rc == 0)
		rc = check_bytes("memory_per_task", spec->memory_per_task_bytes, err);
	if (rc)
		return rc;
	request->memory_bytes = spec->memory_per_task_bytes;
	if (!spec->memory_bytes)
		return 0;
	/* of every node: how many that are must be known, unless one task is on one */
	if (request->nodes == 0 && request->tasks == 1) {
		request->memory_bytes = spec->memory_bytes;
		return 0;
	}
	if (request->nodes == 0)
		request->nodes = 1;
	request->memory_per_node_bytes = spec->memory_bytes;
	return 0;
}

static int fill_times(const struct job_spec *spec, const struct spec_rules *rules, int64_t now_ns,
		      struct strata_job_request *request, struct strata_error *err)
{
	char asked[STRATA_FORM_BYTES], most[STRATA_FORM_BYTES];
	int rc = spec->begin && *spec->begin
			 ? strata_begin_parse(spec->begin, STRATA_TEXT_NUL, now_ns, 0,
					      &request->begin_ns, err)
			 : 0;

	if (rc)
		return strata_fail_under(err, rc, "begin");
	int64_t deadline_ns = INT64_MAX;

	if (spec->deadline)
		rc = strata_begin_parse(spec->deadline, STRATA_TEXT_NUL, now_ns, 0, &deadline_ns,
					err);
	if (rc)
		return strata_fail_under(err, rc, "deadline");
	request->time_limit_ns = spec->time_limit_ns == 0 ? rules->time_limit_ns
				 : spec->time_limit_ns == STRATA_DURATION_UNLIMITED
					 ? rules->time_limit_ns_max
					 : spec->time_limit_ns;
	if (spec->time_limit_ns == 0 && deadline_ns > now_ns &&
	    deadline_ns - now_ns < request->time_limit_ns)
		request->time_limit_ns = deadline_ns - now_ns; /* as long as is left, as in Slurm */
	if (request->time_limit_ns > rules->time_limit_ns_max)
		return strata_fail_at(err, -EINVAL, "time_limit",
				      "time_limit %s is too long: at most %s%s%.60s",
				      strata_duration_print(request->time_limit_ns, asked),
				      strata_duration_print(rules->time_limit_ns_max, most),
				      spec->partition ? " in partition " : "",
				      spec->partition ? spec->partition : "");
	return 0;
}

int spec_request(const struct job_spec *spec, const struct spec_rules *rules, int64_t now_ns,
		 struct strata_job_request *ret_request, struct strata_error *err)
{
	struct strata_sbatch_signal signal;
	int rc = check_program(spec, err);

	if (rc)
		return rc;
	struct strata_job_request request = {
		.account = spec->account,
		.partition = spec->partition,
		.qos = spec->qos,
		.name = job_spec_name(spec),
		.band = (enum strata_band)spec->priority,
		.priority = spec->fine_priority >= 0 ? spec->fine_priority : -spec->nice,
		.tasks = (uint32_t)spec->tasks,
		.nodes = (uint32_t)spec->nodes,
		.cpu_milli = (int64_t)(spec->cpus_per_task * 1000 + 0.5),
		.gpu_type = spec->gpu_type,
		.features = spec->features,
		.node_list = spec->node_list,
		.node_exclude = spec->node_exclude,
		.exclusive = spec->exclusive,
		.held = spec->hold,
		.requeue = spec->requeue,
		.preemptible = spec->preemptible,
		.checkpoint_ns = spec->checkpoint_ns,
		.cancel_if_never = spec->cancel_if_never,
	};

	if (request.cpu_milli < STRATA_TASK_CPU_MILLI_MIN)
		request.cpu_milli = STRATA_TASK_CPU_MILLI_MIN; /* or any number would fit at once */
	if (spec->nodes > spec->tasks)
		request.tasks = (uint32_t)spec->nodes; /* one on each, as people expect */
	rc = fill_gpus(spec, rules, &request, err);
	if (rc == 0)
		rc = fill_memory(spec, &request, err);
	if (rc == 0)
		rc = fill_times(spec, rules, now_ns, &request, err);
	if (rc == 0 && spec->signal && !slurm_signal_parse(spec->signal, &signal))
		rc = strata_fail_at(err, -EINVAL, "signal",
				    "signal is '%.40s'; expected one as USR1@60 or B:USR1@60",
				    spec->signal);
	if (rc == 0 && (spec->gang != NULL) != (spec->gang_size > 0))
		rc = strata_fail_at(err, -EINVAL, "gang_size", "gang and gang_size go together");
	if (rc == 0)
		*ret_request = request;
	return rc;
}

int spec_check_memory(const struct strata_job_request *request, struct strata_error *err)
{
	int64_t nodes = request->nodes ? request->nodes : 1, sum;

	if (__builtin_mul_overflow(request->memory_bytes, (int64_t)request->tasks, &sum))
		return strata_fail_at(err, -EINVAL, "memory_per_task",
				      "memory_per_task is %lld bytes, too much for %u tasks",
				      (long long)request->memory_bytes, request->tasks);
	if (__builtin_mul_overflow(request->memory_per_node_bytes, nodes, &sum))
		return strata_fail_at(err, -EINVAL, "memory",
				      "memory is %lld bytes, too much for %lld nodes",
				      (long long)request->memory_per_node_bytes, (long long)nodes);
	return 0;
}
