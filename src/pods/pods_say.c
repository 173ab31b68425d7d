/* The bodies of requests, pure. */
#include "pods/pods_ask.h"
#include "pods/pod.h"

#include <inttypes.h>
#include <stdio.h>

json_t *pods_say_binding(const struct pods_order *order)
{
	/* The API server copies these annotations to the pod, in the same step. With the uid it
	 * refuses to bind another pod of the same name. */
	return json_pack("{s:s,s:s,s:{s:s,s:s,s:s,s:{s:s*}},s:{s:s,s:s,s:s}}", "apiVersion", "v1",
			 "kind", "Binding", "metadata", "name", order->name, "namespace",
			 order->space, "uid", order->uid, "annotations", POD_ANNOTATION_GPUS,
			 order->gpus, "target", "apiVersion", "v1", "kind", "Node", "name",
			 order->node);
}

json_t *pods_say_condition(const struct pods_order *order, const char *now)
{
	json_t *condition = json_pack("{s:s,s:s,s:s,s:s,s:s*}", "type", "PodScheduled", "status",
				      "False", "reason", order->reason, "message", order->sentence,
				      "lastTransitionTime", order->count > 1 ? NULL : now);

	return condition ? json_pack("{s:{s:s},s:{s:[o]}}", "metadata", "uid", order->uid, "status",
				     "conditions", condition)
			 : NULL;
}

void pods_say_event_name(const struct pods_order *order, char ret_name[PODS_EVENT_NAME_BYTES])
{
	uint64_t hash = 0xcbf29ce484222325;

	for (const char *at = order->uid; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 0x100000001b3;
	for (const char *at = order->reason; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 0x100000001b3;
	snprintf(ret_name, PODS_EVENT_NAME_BYTES, "%.200s.%016" PRIx64, order->name, hash);
}

json_t *pods_say_event(const struct pods_order *order, const char *name, const char *scheduler,
		       const char *now)
{
	return json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:s,s:s,s:s,s:s,s:s},s:s,s:s,s:s,s:{s:s},s:s,s:s,"
			 "s:I,s:s,s:s}",
			 "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace",
			 order->space, "involvedObject", "apiVersion", "v1", "kind", "Pod", "name",
			 order->name, "namespace", order->space, "uid", order->uid, "reason",
			 order->reason, "message", order->sentence, "type",
			 order->warning ? "Warning" : "Normal", "source", "component", scheduler,
			 "firstTimestamp", now, "lastTimestamp", now, "count",
			 (json_int_t)(order->count > 0 ? order->count : 1), "reportingComponent",
			 scheduler, "reportingInstance", scheduler);
}
