/* Events as data: one entry through which everything can be told to a cluster, so that a log of
 * them can be done over. */
#include "cluster/cluster_int.h"

#include <errno.h>

const char *strata_event_name(enum strata_event_kind kind)
{
	static const char *const names[STRATA_EVENT_KIND_COUNT] = {
		[STRATA_EVENT_ADD_NODE] = "add_node",
		[STRATA_EVENT_ACCOUNT] = "account",
		[STRATA_EVENT_USER] = "user",
		[STRATA_EVENT_QOS] = "qos",
		[STRATA_EVENT_PARTITION] = "partition",
		[STRATA_EVENT_REMOVE_ENTITY] = "remove_entity",
		[STRATA_EVENT_USAGE] = "usage",
		[STRATA_EVENT_SETTLE] = "settle",
		[STRATA_EVENT_CHECKPOINT_MAX] = "checkpoint_max",
		[STRATA_EVENT_JOBS_MAX] = "jobs_max",
		[STRATA_EVENT_ADOPT] = "adopt",
		[STRATA_EVENT_REMEMBER] = "remember",
		[STRATA_EVENT_SUBMIT] = "submit",
		[STRATA_EVENT_STARTED] = "started",
		[STRATA_EVENT_ENDED] = "ended",
		[STRATA_EVENT_CANCEL] = "cancel",
		[STRATA_EVENT_HOLD] = "hold",
		[STRATA_EVENT_RELEASE] = "release",
		[STRATA_EVENT_STOP] = "stop",
		[STRATA_EVENT_CHANGE] = "change",
		[STRATA_EVENT_LIMIT_ARRAY] = "limit_array",
		[STRATA_EVENT_CHECKPOINT] = "checkpoint",
		[STRATA_EVENT_DROP_CHECKPOINTS] = "drop_checkpoints",
		[STRATA_EVENT_FORGET] = "forget",
		[STRATA_EVENT_WITHDRAW] = "withdraw",
		[STRATA_EVENT_NODE] = "node",
		[STRATA_EVENT_RESERVE] = "reserve",
		[STRATA_EVENT_UNRESERVE] = "unreserve",
		[STRATA_EVENT_PASS] = "pass",
	};

	return (unsigned)kind < STRATA_EVENT_KIND_COUNT ? names[kind] : "unknown";
}

/* What happens to those who use it; -ENOSYS: that is not such an event. */
static int apply_people(struct strata_cluster *cluster, const struct strata_event *event,
			struct strata_error *err)
{
	switch (event->kind) {
	case STRATA_EVENT_ACCOUNT:
		return strata_cluster_set_account(cluster, event->name, event->account,
						  event->weight, event->limits, err);
	case STRATA_EVENT_USER:
		return strata_cluster_set_user(cluster, event->name, event->account, event->weight,
					       event->limits, err);
	case STRATA_EVENT_QOS:
		return strata_cluster_set_qos(cluster, event->name, event->priority,
					      event->usage_factor, event->limits, err);
	case STRATA_EVENT_PARTITION:
		return strata_cluster_set_partition(cluster, event->name, event->priority,
						    event->partition_state, err);
	case STRATA_EVENT_REMOVE_ENTITY:
		return strata_cluster_remove_entity(cluster, event->entity, event->name, err);
	case STRATA_EVENT_USAGE:
		return strata_cluster_add_usage(cluster, event->name, event->account,
						event->gpu_hours, event->now_ns, err);
	case STRATA_EVENT_SETTLE:
		strata_cluster_settle(cluster);
		return 0;
	default:
		return -ENOSYS;
	}
}

static int apply_machines(struct strata_cluster *cluster, const struct strata_event *event,
			  struct strata_error *err)
{
	switch (event->kind) {
	case STRATA_EVENT_ADD_NODE:
		return strata_cluster_add_node(cluster, event->conf, NULL, err);
	case STRATA_EVENT_NODE:
		return strata_cluster_set_node(cluster, event->node, event->state, event->now_ns,
					       err);
	case STRATA_EVENT_RESERVE:
		return strata_cluster_reserve(cluster, event->advance, err);
	case STRATA_EVENT_UNRESERVE:
		return strata_cluster_unreserve(cluster, event->name, err);
	case STRATA_EVENT_CHECKPOINT_MAX:
		strata_cluster_set_checkpoint_max(cluster, event->bytes_max);
		return 0;
	case STRATA_EVENT_JOBS_MAX:
		strata_cluster_set_jobs_max(cluster, event->jobs_max);
		return 0;
	default:
		return -ENOSYS;
	}
}

/* What is reported of a job. */
static int apply_reports(struct strata_cluster *cluster, const struct strata_event *event,
			 struct strata_error *err)
{
	uint64_t id = event->job;
	int64_t now_ns = event->now_ns;

	switch (event->kind) {
	case STRATA_EVENT_ADOPT:
		return strata_cluster_adopt(cluster, id, event->attempt, now_ns, event->pieces,
					    event->piece_count, err);
	case STRATA_EVENT_REMEMBER:
		return strata_cluster_remember(cluster, id,
					       &(struct strata_job_past){ event->attempt,
									  event->preempted,
									  event->started },
					       err);
	case STRATA_EVENT_STARTED:
		return strata_cluster_started(cluster, id, now_ns, err);
	case STRATA_EVENT_ENDED:
		return strata_cluster_ended_after(cluster, id, event->outcome, event->ran_ns,
						  now_ns, err);
	case STRATA_EVENT_CHECKPOINT:
		return strata_cluster_checkpoint(cluster, id, &event->checkpoint, now_ns, err);
	default:
		return -ENOSYS;
	}
}

/* What is wanted of a job. */
static int apply_wishes(struct strata_cluster *cluster, const struct strata_event *event,
			struct strata_error *err)
{
	uint64_t id = event->job;
	uint32_t count = event->count ? event->count : 1;
	int64_t now_ns = event->now_ns;

	switch (event->kind) {
	case STRATA_EVENT_SUBMIT:
		return strata_cluster_submit(cluster, event->request, now_ns, err);
	case STRATA_EVENT_CANCEL:
		return strata_cluster_cancel_range(cluster, id, count, now_ns, err);
	case STRATA_EVENT_HOLD:
	case STRATA_EVENT_RELEASE:
		return strata_cluster_hold_range(cluster, id, count,
						 event->kind == STRATA_EVENT_HOLD, now_ns, err);
	case STRATA_EVENT_STOP:
		return strata_cluster_stop(cluster, id, event->mode, now_ns, err);
	case STRATA_EVENT_CHANGE:
		return strata_cluster_change_range(cluster, id, count, &event->change, now_ns, err);
	case STRATA_EVENT_LIMIT_ARRAY:
		return strata_cluster_limit_array(cluster, id, event->jobs_max, err);
	case STRATA_EVENT_DROP_CHECKPOINTS:
		return strata_cluster_drop_checkpoints(cluster, id, now_ns, err);
	case STRATA_EVENT_FORGET:
		return strata_cluster_forget_range(cluster, id, count, err);
	case STRATA_EVENT_WITHDRAW:
		return strata_cluster_withdraw(cluster, id, err);
	default:
		return -ENOSYS;
	}
}

int strata_cluster_apply(struct strata_cluster *cluster, const struct strata_event *event,
			 struct strata_arena *arena, const struct strata_effect **ret_effects,
			 size_t *ret_count, struct strata_error *err)
{
	const struct strata_effect *effects = NULL;
	size_t count = 0;
	int rc = -ENOSYS;

	if (event->kind == STRATA_EVENT_PASS)
		rc = strata_cluster_pass(cluster, event->now_ns, arena, &effects, &count, err);
	if (rc == -ENOSYS)
		rc = apply_reports(cluster, event, err);
	if (rc == -ENOSYS)
		rc = apply_wishes(cluster, event, err);
	if (rc == -ENOSYS)
		rc = apply_machines(cluster, event, err);
	if (rc == -ENOSYS)
		rc = apply_people(cluster, event, err);
	if (rc == -ENOSYS)
		return strata_fail(err, -EINVAL, "there is no event of kind %d", (int)event->kind);
	if (rc == 0 && ret_effects) {
		*ret_effects = effects;
		*ret_count = count;
	}
	return rc;
}
