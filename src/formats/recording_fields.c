/* What lines of a record may hold: every struct that an event leads to, as a table. */
#include "formats/recording_int.h"

/* ---- names of enums ---- */

static const char *name_band(int value)
{
	return strata_band_name((enum strata_band)value);
}

static const char *name_dependency(int value)
{
	return strata_dependency_name((enum strata_dependency_kind)value);
}

static const char *name_state(int value)
{
	return strata_job_state_name((enum strata_job_state)value);
}

static const char *name_reason(int value)
{
	return strata_reason_name((enum strata_reason)value);
}

static const char *name_known(int value)
{
	static const char *const names[STRATA_KNOWN_COUNT] = {
		[STRATA_KNOWN_NOT] = "not",
		[STRATA_KNOWN_MET] = "met",
		[STRATA_KNOWN_NEVER] = "never",
	};

	return names[value];
}

static const char *name_outcome(int value)
{
	static const char *const names[STRATA_OUTCOME_COUNT] = {
		[STRATA_OUTCOME_COMPLETED] = "completed",
		[STRATA_OUTCOME_FAILED] = "failed",
		[STRATA_OUTCOME_TIME_LIMIT] = "time_limit",
		[STRATA_OUTCOME_START_FAILED] = "start_failed",
		[STRATA_OUTCOME_STOPPED] = "stopped",
		[STRATA_OUTCOME_LOST] = "lost",
		[STRATA_OUTCOME_NOT_STARTED] = "not_started",
		[STRATA_OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
	};

	return names[value];
}

enum { STOP_COUNT = STRATA_STOP_SUSPEND + 1 };
static const char *name_stop(int value)
{
	static const char *const names[STOP_COUNT] = { [STRATA_STOP_REQUEUE] = "requeue",
						       [STRATA_STOP_CANCEL] = "cancel",
						       [STRATA_STOP_SUSPEND] = "suspend" };

	return names[value];
}

enum { NODE_STATE_COUNT = STRATA_NODE_DOWN + 1 };
static const char *name_node_state(int value)
{
	static const char *const names[NODE_STATE_COUNT] = { [STRATA_NODE_UP] = "up",
							     [STRATA_NODE_DRAINED] = "drained",
							     [STRATA_NODE_DOWN] = "down" };

	return names[value];
}

static const char *name_entity(int value)
{
	return strata_entity_type_name((enum strata_entity_type)value);
}

static const char *name_partition_state(int value)
{
	return strata_partition_state_name((enum strata_partition_state)value);
}

static const char *name_wait(int value)
{
	return strata_wait_name((enum strata_wait)value);
}

enum { DONE_COUNT = STRATA_DONE_BACK + 1 };
static const char *name_done(int value)
{
	static const char *const names[DONE_COUNT] = { [STRATA_DONE_STEPS] = "steps",
						       [STRATA_DONE_FINISHED] = "finished",
						       [STRATA_DONE_FAILED] = "failed",
						       [STRATA_DONE_BACK] = "back" };

	return names[value];
}

static const char *name_effect(int value)
{
	static const char *const names[STRATA_EFFECT_KIND_COUNT] = {
		[STRATA_EFFECT_START] = "start",
		[STRATA_EFFECT_RESUME] = "resume",
		[STRATA_EFFECT_LOST] = "lost",
		[STRATA_EFFECT_STOP] = "stop",
		[STRATA_EFFECT_CHECKPOINT] = "checkpoint",
		[STRATA_EFFECT_DELETE] = "delete",
		[STRATA_EFFECT_ENDED] = "ended",
	};

	return names[value];
}

/* ---- structs ---- */

/* The member's name is its name in the line. */
#define FIELD(row, type, member)                                        \
	{                                                               \
#member, RECORDING_##type, offsetof(struct row, member) \
	}
#define NAMED(row, member, of, count)                                                      \
	{                                                                                  \
#member, RECORDING_NAME, offsetof(struct row, member), .name_of = of,      \
								       .name_count = count \
	}
#define KIND(row, of, count)                                               \
	{                                                                  \
		"kind", RECORDING_NAME, offsetof(struct row, kind),        \
			.name_of = of, .name_count = count, .always = true \
	}
#define INSIDE(row, type, member, fields, of)                                                      \
	{                                                                                          \
#member, RECORDING_##type, offsetof(struct row, member), .table = fields,          \
									 .size = sizeof(struct of) \
	}
#define LISTED(row, member, fields, of, counter, is_wide)                              \
	{                                                                              \
#member, RECORDING_LIST, offsetof(struct row, member),                 \
			.table = fields, .size = sizeof(struct of),                    \
			.count_offset = offsetof(struct row, counter), .wide = is_wide \
	}

#define WORDS(row, type, member, counter, is_wide, room)                         \
	{                                                                        \
#member, RECORDING_##type, offsetof(struct row, member),         \
			.count_offset = offsetof(struct row, counter),           \
			.wide = is_wide, .size = room                            \
	}

static const struct recording_field node_fields[] = {
	FIELD(strata_node_conf, TEXT, name),
	FIELD(strata_node_conf, I64, cpu_milli),
	FIELD(strata_node_conf, I64, memory_bytes),
	FIELD(strata_node_conf, U32, gpu_count),
	FIELD(strata_node_conf, TEXT, gpu_type),
	FIELD(strata_node_conf, NUMBERS, numa),
	FIELD(strata_node_conf, TEXT, features),
	FIELD(strata_node_conf, TEXT, partitions),
	{ 0 },
};

static const struct recording_field limits_fields[] = {
	FIELD(strata_limits, U32, jobs),
	FIELD(strata_limits, U32, waiting),
	FIELD(strata_limits, I64, gpu_milli),
	FIELD(strata_limits, REAL, gpu_hours),
	{ 0 },
};

static const struct recording_field piece_fields[] = {
	FIELD(strata_piece, U32, node),
	FIELD(strata_piece, U32, tasks),
	FIELD(strata_piece, I64, cpu_milli),
	FIELD(strata_piece, I64, memory_bytes),
	FIELD(strata_piece, U16, gpu_mask),
	FIELD(strata_piece, U16, gpu_milli),
	{ 0 },
};

static const struct recording_field dependency_fields[] = {
	KIND(strata_dependency, name_dependency, STRATA_DEPENDENCY_KIND_COUNT),
	FIELD(strata_dependency, U64, job),
	FIELD(strata_dependency, BOOL, array),
	FIELD(strata_dependency, BOOL, array_bad),
	FIELD(strata_dependency, I64, delay_ns),
	NAMED(strata_dependency, known, name_known, STRATA_KNOWN_COUNT),
	{ 0 },
};

static const struct recording_field request_fields[] = {
	FIELD(strata_job_request, U64, id),
	FIELD(strata_job_request, TEXT, user),
	FIELD(strata_job_request, TEXT, account),
	FIELD(strata_job_request, TEXT, partition),
	FIELD(strata_job_request, TEXT, qos),
	FIELD(strata_job_request, TEXT, name),
	NAMED(strata_job_request, band, name_band, STRATA_BAND_COUNT),
	FIELD(strata_job_request, I64, priority),
	FIELD(strata_job_request, U32, tasks),
	FIELD(strata_job_request, U32, nodes),
	FIELD(strata_job_request, I64, cpu_milli),
	FIELD(strata_job_request, I64, memory_bytes),
	FIELD(strata_job_request, U32, gpus),
	FIELD(strata_job_request, U32, gpu_milli),
	FIELD(strata_job_request, U32, gpus_per_node),
	FIELD(strata_job_request, I64, memory_per_node_bytes),
	FIELD(strata_job_request, TEXT, gpu_type),
	FIELD(strata_job_request, TEXT, features),
	FIELD(strata_job_request, TEXT, node_list),
	FIELD(strata_job_request, TEXT, node_exclude),
	FIELD(strata_job_request, BOOL, exclusive),
	FIELD(strata_job_request, I64, time_limit_ns),
	FIELD(strata_job_request, I64, begin_ns),
	FIELD(strata_job_request, BOOL, held),
	FIELD(strata_job_request, BOOL, requeue),
	FIELD(strata_job_request, BOOL, uncharged),
	FIELD(strata_job_request, BOOL, preemptible),
	FIELD(strata_job_request, I64, checkpoint_ns),
	LISTED(strata_job_request, dependencies, dependency_fields, strata_dependency,
	       dependency_count, true),
	FIELD(strata_job_request, BOOL, any_dependency),
	FIELD(strata_job_request, BOOL, cancel_if_never),
	FIELD(strata_job_request, U64, array),
	FIELD(strata_job_request, U32, array_index),
	FIELD(strata_job_request, U32, array_limit),
	FIELD(strata_job_request, U32, array_count),
	FIELD(strata_job_request, U32, array_step),
	FIELD(strata_job_request, U64, gang),
	FIELD(strata_job_request, U32, gang_size),
	{ 0 },
};

static const struct recording_field change_fields[] = {
	FIELD(strata_job_change, U32, what),
	NAMED(strata_job_change, band, name_band, STRATA_BAND_COUNT),
	FIELD(strata_job_change, I64, priority),
	FIELD(strata_job_change, I64, time_limit_ns),
	FIELD(strata_job_change, I64, begin_ns),
	INSIDE(strata_job_change, POINTER, request, request_fields, strata_job_request),
	{ 0 },
};

static const struct recording_field kept_fields[] = {
	FIELD(strata_kept, U32, node),
	FIELD(strata_kept, U16, gpu_mask),
	{ 0 },
};

static const struct recording_field advance_fields[] = {
	FIELD(strata_advance, TEXT, name),
	FIELD(strata_advance, I64, begin_ns),
	FIELD(strata_advance, I64, end_ns),
	FIELD(strata_advance, I64, every_ns),
	FIELD(strata_advance, TEXT, users),
	FIELD(strata_advance, TEXT, accounts),
	LISTED(strata_advance, kept, kept_fields, strata_kept, kept_count, false),
	{ 0 },
};

static const struct recording_field checkpoint_fields[] = {
	FIELD(strata_checkpoint, TEXT, path),
	FIELD(strata_checkpoint, I64, size_bytes),
	FIELD(strata_checkpoint, I64, time_ns),
	FIELD(strata_checkpoint, I64, step),
	{ 0 },
};

static const struct recording_field effect_fields[] = {
	KIND(strata_effect, name_effect, STRATA_EFFECT_KIND_COUNT),
	FIELD(strata_effect, U64, job),
	NAMED(strata_effect, state, name_state, STRATA_JOB_STATE_COUNT),
	NAMED(strata_effect, reason, name_reason, STRATA_REASON_COUNT),
	FIELD(strata_effect, U32, attempt),
	LISTED(strata_effect, pieces, piece_fields, strata_piece, piece_count, false),
	NAMED(strata_effect, mode, name_stop, STOP_COUNT),
	FIELD(strata_effect, I64, grace_ns),
	FIELD(strata_effect, U64, preemptor),
	FIELD(strata_effect, TEXT, path),
	{ 0 },
};

static const struct recording_field task_fields[] = {
	FIELD(strata_task_request, TEXT, user),
	FIELD(strata_task_request, TEXT, account),
	FIELD(strata_task_request, I64, priority),
	FIELD(strata_task_request, I64, deadline_ns),
	FIELD(strata_task_request, BOOL, has_deadline),
	FIELD(strata_task_request, REAL, weight),
	FIELD(strata_task_request, U32, steps),
	FIELD(strata_task_request, I64, cost_ns),
	FIELD(strata_task_request, U64, model),
	FIELD(strata_task_request, U64, shape),
	FIELD(strata_task_request, I64, memory_bytes),
	{ 0 },
};

static const struct recording_field quota_fields[] = {
	FIELD(strata_quota, U32, has),
	FIELD(strata_quota, U32, running_max),
	FIELD(strata_quota, U32, queued_max),
	FIELD(strata_quota, I64, cost_ns_max),
	{ 0 },
};

static const struct recording_field ask_fields[] = {
	FIELD(strata_ask, U64, worker),
	FIELD(strata_ask, I64, free_bytes),
	WORDS(strata_ask, WORDS, models, model_count, true, 0),
	{ 0 },
};

static const struct recording_field batch_fields[] = {
	FIELD(strata_batch, U64, number),
	FIELD(strata_batch, I64, now_ns),
	FIELD(strata_batch, U64, worker),
	FIELD(strata_batch, U64, passed),
	FIELD(strata_batch, UNTIL, until_ns),
	NAMED(strata_batch, wait, name_wait, STRATA_WAIT_COUNT),
	FIELD(strata_batch, U32, steps),
	WORDS(strata_batch, ROW, tasks, count, false, STRATA_BATCH_MAX),
	{ 0 },
};

static const struct recording_field done_fields[] = {
	FIELD(strata_done, U64, task),
	KIND(strata_done, name_done, DONE_COUNT),
	FIELD(strata_done, U32, steps),
	FIELD(strata_done, I64, cost_ns),
	{ 0 },
};

static const struct recording_field pool_conf_fields[] = {
	FIELD(strata_pool_conf, I64, priority_min),
	FIELD(strata_pool_conf, I64, priority_max),
	FIELD(strata_pool_conf, BOOL, has_priorities),
	FIELD(strata_pool_conf, U32, steps_per_pick),
	FIELD(strata_pool_conf, U32, batch_max),
	FIELD(strata_pool_conf, U32, look_max),
	FIELD(strata_pool_conf, U32, overtake_max),
	FIELD(strata_pool_conf, I64, batch_wait_ns),
	FIELD(strata_pool_conf, I64, lease_ns),
	FIELD(strata_pool_conf, BOOL, preempt),
	FIELD(strata_pool_conf, U32, tasks_max),
	{ 0 },
};

/* ---- lines ---- */

const struct recording_field recording_pool_fields[] = {
	FIELD(recording_pool, TEXT, policy),
	INSIDE(recording_pool, STRUCT, conf, pool_conf_fields, strata_pool_conf),
	{ 0 },
};

const struct recording_field recording_pool_event_fields[] = {
	FIELD(strata_pool_event, I64, now_ns),
	FIELD(strata_pool_event, U64, task),
	FIELD(strata_pool_event, U64, worker),
	INSIDE(strata_pool_event, POINTER, request, task_fields, strata_task_request),
	FIELD(strata_pool_event, I64, priority),
	FIELD(strata_pool_event, U64, model),
	FIELD(strata_pool_event, U64, shape),
	FIELD(strata_pool_event, U32, cap),
	FIELD(strata_pool_event, TEXT, name),
	FIELD(strata_pool_event, TEXT, account),
	FIELD(strata_pool_event, I64, cost_ns),
	FIELD(strata_pool_event, REAL, weight),
	INSIDE(strata_pool_event, POINTER, quota, quota_fields, strata_quota),
	FIELD(strata_pool_event, I64, memory_bytes),
	INSIDE(strata_pool_event, POINTER, ask, ask_fields, strata_ask),
	INSIDE(strata_pool_event, POINTER, batch, batch_fields, strata_batch),
	LISTED(strata_pool_event, rows, done_fields, strata_done, row_count, true),
	{ 0 },
};

const struct recording_field recording_begin_fields[] = {
	FIELD(recording_begin, U32, format),
	FIELD(recording_begin, TEXT, order),
	FIELD(recording_begin, TEXT, placement),
	FIELD(recording_begin, TEXT, backfill),
	FIELD(recording_begin, TEXT, prediction),
	FIELD(recording_begin, TEXT, victims),
	FIELD(recording_begin, I64, half_life_ns),
	FIELD(recording_begin, I64, checkpoint_bytes_max),
	{ 0 },
};

const struct recording_field recording_event_fields[] = {
	FIELD(strata_event, I64, now_ns),
	FIELD(strata_event, U64, job),
	FIELD(strata_event, U32, count),
	INSIDE(strata_event, POINTER, conf, node_fields, strata_node_conf),
	FIELD(strata_event, TEXT, name),
	FIELD(strata_event, TEXT, account),
	FIELD(strata_event, REAL, weight),
	FIELD(strata_event, REAL, priority),
	NAMED(strata_event, entity, name_entity, STRATA_ENTITY_COUNT),
	NAMED(strata_event, partition_state, name_partition_state, STRATA_PARTITION_STATE_COUNT),
	FIELD(strata_event, REAL, usage_factor),
	INSIDE(strata_event, POINTER, limits, limits_fields, strata_limits),
	FIELD(strata_event, REAL, gpu_hours),
	FIELD(strata_event, I64, bytes_max),
	FIELD(strata_event, U32, jobs_max),
	FIELD(strata_event, U32, attempt),
	FIELD(strata_event, U32, preempted),
	FIELD(strata_event, BOOL, started),
	LISTED(strata_event, pieces, piece_fields, strata_piece, piece_count, false),
	INSIDE(strata_event, POINTER, request, request_fields, strata_job_request),
	NAMED(strata_event, outcome, name_outcome, STRATA_OUTCOME_COUNT),
	FIELD(strata_event, I64, ran_ns),
	NAMED(strata_event, mode, name_stop, STOP_COUNT),
	INSIDE(strata_event, STRUCT, change, change_fields, strata_job_change),
	INSIDE(strata_event, STRUCT, checkpoint, checkpoint_fields, strata_checkpoint),
	FIELD(strata_event, U32, node),
	NAMED(strata_event, state, name_node_state, NODE_STATE_COUNT),
	INSIDE(strata_event, POINTER, advance, advance_fields, strata_advance),
	LISTED(strata_event, effects, effect_fields, strata_effect, effect_count, true),
	{ 0 },
};
