/* Between jobs and the store's rows: the one place where states, reasons, ways of stopping and
 * places become texts and come back. */
#include "server/job.h"

#include <errno.h>
#include <string.h>

static const char *const stopping_names[] = { [JOB_STOPPING_REQUEUE] = "requeue",
					      [JOB_STOPPING_CANCEL] = "cancel",
					      [JOB_STOPPING_SUSPEND] = "suspend" };
enum { STOPPING_COUNT = JOB_STOPPING_SUSPEND + 1 };

enum job_stopping job_stopping_of(enum strata_stop mode)
{
	switch (mode) {
	case STRATA_STOP_REQUEUE:
		return JOB_STOPPING_REQUEUE;
	case STRATA_STOP_CANCEL:
		return JOB_STOPPING_CANCEL;
	case STRATA_STOP_SUSPEND:
		return JOB_STOPPING_SUSPEND;
	}
	return JOB_NOT_STOPPING;
}

bool job_stop_mode(enum job_stopping stopping, enum strata_stop *ret_mode)
{
	switch (stopping) {
	case JOB_NOT_STOPPING:
		return false;
	case JOB_STOPPING_REQUEUE:
		*ret_mode = STRATA_STOP_REQUEUE;
		break;
	case JOB_STOPPING_CANCEL:
		*ret_mode = STRATA_STOP_CANCEL;
		break;
	case JOB_STOPPING_SUSPEND:
		*ret_mode = STRATA_STOP_SUSPEND;
		break;
	}
	return true;
}

struct job job_element(const struct job *job, int64_t id, char uuid[UUID_TEXT_BYTES])
{
	struct job element = *job;

	element.id = id;
	element.uuid = uuid_move(job->uuid, id - job->id, uuid);
	element.array_index -= (job->id - id) * job->index_step;
	element.elements = element.index_step = 0;
	return element;
}

bool job_state_follows(enum strata_job_state before, enum strata_job_state after)
{
	return before == after || !strata_job_ended(before);
}

static enum strata_job_state find_state(const char *name)
{
	for (int i = 0; name && i < STRATA_JOB_STATE_COUNT; i++)
		if (strcmp(strata_job_state_name((enum strata_job_state)i), name) == 0)
			return (enum strata_job_state)i;
	return STRATA_JOB_QUEUED;
}

static enum strata_reason find_reason(const char *name)
{
	for (int i = 0; name && i < STRATA_REASON_COUNT; i++)
		if (strcmp(strata_reason_name((enum strata_reason)i), name) == 0)
			return (enum strata_reason)i;
	return STRATA_REASON_NONE;
}

static enum job_stopping find_stopping(const char *name)
{
	for (int i = 1; name && i < STOPPING_COUNT; i++)
		if (strcmp(stopping_names[i], name) == 0)
			return (enum job_stopping)i;
	return JOB_NOT_STOPPING;
}

/* NULL stays NULL. */
static int print_place(const struct job_place *place, struct strata_arena *arena,
		       const char **ret_text)
{
	struct strata_memory memory = { 0 };
	struct buf buf;

	if (!place)
		return 0;
	buf_init(&buf, &memory, 0);
	job_place_print(place, &buf);
	*ret_text = buf.failed ? NULL : strata_arena_text(arena, buf.text, buf.length);
	buf_fini(&buf);
	return *ret_text ? 0 : -ENOMEM;
}

static int read_place(const char *text, struct strata_arena *arena,
		      const struct job_place **ret_place)
{
	*ret_place = text ? job_place_parse(text, arena) : NULL;
	return text && !*ret_place ? -ENOMEM : 0;
}

int job_to_row(const struct job *job, struct strata_arena *arena, struct store_job *ret_row)
{
	*ret_row = (struct store_job){
		.id = job->id,
		.uuid = job->uuid,
		.user = job->user,
		.uid = job->uid,
		.gid = job->gid,
		.account = job->account,
		.partition = job->partition,
		.qos = job->qos,
		.name = job->name,
		.state = strata_job_state_name(job->state),
		.reason = strata_reason_name(job->reason),
		.band = job->band,
		.priority = job->priority,
		.gpu_count = job->gpu_count,
		.gpu_type = job->gpu_type,
		.cpu_cores = job->cpu_cores,
		.memory_bytes = job->memory_bytes,
		.command = job->command,
		.working_dir = job->working_dir,
		.created_ns = job->created_ns,
		.eligible_ns = job->eligible_ns,
		.scheduled_ns = job->scheduled_ns,
		.started_ns = job->started_ns,
		.completed_ns = job->completed_ns,
		.time_limit_ns = job->time_limit_ns,
		.attempt = job->attempt,
		.exit_code = job->exit_code,
		.exit_signal = job->exit_signal,
		.array_id = job->array_id,
		.array_index = job->array_index,
		.gang_id = job->gang_id,
		.spec = job->request,
		.script = job->script,
		.environment = job->environment,
		.request_key = job->request_key,
		.comment = job->comment,
		.preempted = job->preempted,
		.cancelled_by = job->cancelled_by,
		.failure = job->failure,
		.user_ns = job->user_ns,
		.system_ns = job->system_ns,
		.memory_peak_bytes = job->memory_peak_bytes,
		.elements = job->elements,
		.index_step = job->index_step,
		.stopping = stopping_names[job->stopping],
	};
	int rc = print_place(job->place, arena, &ret_row->place);

	return rc ? rc : print_place(job->ran_on, arena, &ret_row->ran_on);
}

int job_from_row(const struct store_job *row, struct strata_arena *arena, struct job *ret_job)
{
	*ret_job = (struct job){
		.id = row->id,
		.uuid = row->uuid,
		.user = row->user,
		.uid = row->uid,
		.gid = row->gid,
		.account = row->account,
		.partition = row->partition,
		.qos = row->qos,
		.name = row->name,
		.state = find_state(row->state),
		.reason = find_reason(row->reason),
		.band = (enum strata_band)row->band,
		.priority = row->priority,
		.gpu_count = row->gpu_count,
		.gpu_type = row->gpu_type,
		.cpu_cores = row->cpu_cores,
		.memory_bytes = row->memory_bytes,
		.command = row->command,
		.working_dir = row->working_dir,
		.created_ns = row->created_ns,
		.eligible_ns = row->eligible_ns,
		.scheduled_ns = row->scheduled_ns,
		.started_ns = row->started_ns,
		.completed_ns = row->completed_ns,
		.time_limit_ns = row->time_limit_ns,
		.attempt = row->attempt,
		.exit_code = row->exit_code,
		.exit_signal = row->exit_signal,
		.array_id = row->array_id,
		.array_index = row->array_index,
		.gang_id = row->gang_id,
		.request = row->spec,
		.script = row->script,
		.environment = row->environment,
		.request_key = row->request_key,
		.comment = row->comment,
		.preempted = row->preempted,
		.cancelled_by = row->cancelled_by,
		.failure = row->failure,
		.user_ns = row->user_ns,
		.system_ns = row->system_ns,
		.memory_peak_bytes = row->memory_peak_bytes,
		.elements = row->elements,
		.index_step = row->index_step,
		.stopping = find_stopping(row->stopping),
	};
	int rc = read_place(row->place, arena, &ret_job->place);

	return rc ? rc : read_place(row->ran_on, arena, &ret_job->ran_on);
}
