/* Events as data: one entry through which everything can be told to a cluster, so that a log of them can be done over. */
#include "cluster/cluster_int.h"

#include <errno.h>

const char *strata_event_name(enum strata_event_kind kind)
{
	static const char *const names[STRATA_EVENT_KIND_COUNT] = {
		[STRATA_EVENT_SUBMIT] = "submit",
		[STRATA_EVENT_STARTED] = "started",
		[STRATA_EVENT_ENDED] = "ended",
		[STRATA_EVENT_CANCEL] = "cancel",
		[STRATA_EVENT_HOLD] = "hold",
		[STRATA_EVENT_RELEASE] = "release",
		[STRATA_EVENT_STOP] = "stop",
		[STRATA_EVENT_CHANGE] = "change",
		[STRATA_EVENT_CHECKPOINT] = "checkpoint",
		[STRATA_EVENT_DROP_CHECKPOINTS] = "drop_checkpoints",
		[STRATA_EVENT_FORGET] = "forget",
		[STRATA_EVENT_NODE] = "node",
		[STRATA_EVENT_PASS] = "pass",
	};

	return (unsigned)kind < STRATA_EVENT_KIND_COUNT ? names[kind] : "unknown";
}

int strata_cluster_apply(struct strata_cluster *cluster, const struct strata_event *event,
			 struct strata_arena *arena, const struct strata_effect **ret_effects,
			 size_t *ret_count, struct strata_error *err)
{
	const struct strata_effect *effects = NULL;
	int64_t now_ns = event->now_ns;
	size_t count = 0;
	int rc = -EINVAL;

	switch (event->kind) {
	case STRATA_EVENT_SUBMIT:
		rc = strata_cluster_submit(cluster, event->request, now_ns, err);
		break;
	case STRATA_EVENT_STARTED:
		rc = strata_cluster_started(cluster, event->job, now_ns, err);
		break;
	case STRATA_EVENT_ENDED:
		rc = strata_cluster_ended(cluster, event->job, event->outcome, now_ns, err);
		break;
	case STRATA_EVENT_CANCEL:
		rc = strata_cluster_cancel(cluster, event->job, now_ns, err);
		break;
	case STRATA_EVENT_HOLD:
	case STRATA_EVENT_RELEASE:
		rc = strata_cluster_hold(cluster, event->job, event->kind == STRATA_EVENT_HOLD,
					 now_ns, err);
		break;
	case STRATA_EVENT_STOP:
		rc = strata_cluster_stop(cluster, event->job, event->mode, now_ns, err);
		break;
	case STRATA_EVENT_CHANGE:
		rc = strata_cluster_change(cluster, event->job, &event->change, now_ns, err);
		break;
	case STRATA_EVENT_CHECKPOINT:
		rc = strata_cluster_checkpoint(cluster, event->job, &event->checkpoint, now_ns,
					       err);
		break;
	case STRATA_EVENT_DROP_CHECKPOINTS:
		rc = strata_cluster_drop_checkpoints(cluster, event->job, now_ns, err);
		break;
	case STRATA_EVENT_FORGET:
		rc = strata_cluster_forget(cluster, event->job, err);
		break;
	case STRATA_EVENT_NODE:
		rc = strata_cluster_set_node(cluster, event->node, event->state, now_ns, err);
		break;
	case STRATA_EVENT_PASS:
		rc = strata_cluster_pass(cluster, now_ns, arena, &effects, &count, err);
		break;
	default:
		return strata_fail(err, -EINVAL, "there is no event of kind %d", (int)event->kind);
	}
	if (rc == 0 && ret_effects) {
		*ret_effects = effects;
		*ret_count = count;
	}
	return rc;
}
