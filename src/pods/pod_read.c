/* Pods and nodes from the API's JSON. */
#include "pods/pod.h"

#include "core/text.h"

#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const json_t *member(const json_t *object, const char *first, const char *second)
{
	return json_object_get(json_object_get(object, first), second);
}

static const char *text_of(const json_t *value)
{
	const char *text = json_string_value(value);

	return text ? text : "";
}

/* A copy in the arena. *ok becomes false when there is no memory. */
static const char *keep(struct strata_arena *arena, const char *text, bool *ok)
{
	const char *copy = strata_arena_text(arena, text, strlen(text));

	*ok = *ok && copy;
	return copy;
}

static int64_t time_of(const json_t *value, int64_t otherwise)
{
	int64_t ns;

	if (!json_is_string(value) ||
	    strata_time_parse(json_string_value(value), json_string_length(value),
			      STRATA_TIME_NO_NOW, 0, &ns, NULL))
		return otherwise;
	return ns;
}

static bool is_valid_name(const char *text)
{
	return *text && strlen(text) <= STRATA_POD_NAME_BYTES_MAX;
}

/* ---- what annotations say ---- */

static const char *annotation(const json_t *meta, const char *name)
{
	return json_string_value(member(meta, "annotations", name));
}

static bool read_count(const char *text, int64_t max, int64_t *ret_value)
{
	return text && strata_int_parse(text, STRATA_TEXT_NUL, 1, max, ret_value, NULL) == 0;
}

/* The sentence why it waits, unless there is one already. */
static void refuse(struct pod *pod, const char *sentence, bool *ok)
{
	*ok = *ok && sentence;
	if (!pod->refusal)
		pod->refusal = sentence;
}

static void read_gang(struct pod *pod, const json_t *meta, bool *ok)
{
	const char *name = annotation(meta, POD_ANNOTATION_GANG);
	const char *size = annotation(meta, POD_ANNOTATION_GANG_SIZE),
		   *what = POD_ANNOTATION_GANG_SIZE;
	char excerpt[TEXT_EXCERPT_BYTES];

	if (!name) {
		name = json_string_value(member(meta, "labels", POD_LABEL_GROUP));
		size = json_string_value(member(meta, "labels", POD_LABEL_GROUP_SIZE));
		what = POD_LABEL_GROUP_SIZE;
	}
	if (!name || !*name)
		return;
	pod->gang = strata_arena_printf(&pod->arena, "%s/%.200s", pod->space, name);
	*ok = *ok && pod->gang;
	if (!size)
		refuse(pod,
		       strata_arena_printf(&pod->arena,
					   "it is of the gang \"%.200s\" and does not say how "
					   "many they are: %s is missing",
					   name, what),
		       ok);
	else if (!read_count(size, STRATA_GANG_SIZE_MAX, &pod->gang_size))
		refuse(pod,
		       strata_arena_printf(&pod->arena, "%s is \"%s\"; expected 1 to %d", what,
					   text_excerpt(size, strlen(size), excerpt),
					   STRATA_GANG_SIZE_MAX),
		       ok);
}

static void read_time_limit(struct pod *pod, const json_t *meta, const json_t *spec, bool *ok)
{
	json_int_t seconds = json_integer_value(json_object_get(spec, "activeDeadlineSeconds"));
	const char *limit = annotation(meta, POD_ANNOTATION_TIME_LIMIT);
	char excerpt[TEXT_EXCERPT_BYTES];
	int64_t ns;

	if (seconds > 0 && seconds <= STRATA_DURATION_NS_MAX / STRATA_SECOND_NS)
		pod->time_limit_ns = seconds * STRATA_SECOND_NS;
	if (!limit)
		return;
	if (strata_duration_parse(limit, STRATA_TEXT_NUL, STRATA_SECOND_NS, 0, &ns, NULL) || ns < 1)
		refuse(pod,
		       strata_arena_printf(&pod->arena,
					   "%s is \"%s\"; expected a duration such as 90m or 2h",
					   POD_ANNOTATION_TIME_LIMIT,
					   text_excerpt(limit, strlen(limit), excerpt)),
		       ok);
	else if (!pod->time_limit_ns || ns < pod->time_limit_ns)
		pod->time_limit_ns = ns;
}

/* "0,1,4": what was written when the pod was bound. Anything else is not known. */
static uint32_t read_gpu_mask(const char *text)
{
	uint32_t mask = 0;

	while (text && *text) {
		char *end;
		long gpu = strtol(text, &end, 10);

		if (end == text || gpu < 0 || gpu >= STRATA_NODE_GPUS_MAX || (*end && *end != ','))
			return 0;
		mask |= 1u << gpu;
		text = end + (*end == ',');
	}
	return mask;
}

static void read_annotations(struct pod *pod, const json_t *meta, const json_t *spec, bool *ok)
{
	const char *preemptible = annotation(meta, POD_ANNOTATION_PREEMPTIBLE);
	char excerpt[TEXT_EXCERPT_BYTES];

	read_gang(pod, meta, ok);
	read_time_limit(pod, meta, spec, ok);
	pod->gpu_mask = read_gpu_mask(annotation(meta, POD_ANNOTATION_GPUS));
	pod->preemptible = !preemptible || strcmp(preemptible, "false") != 0;
	if (preemptible && strcmp(preemptible, "true") != 0 && strcmp(preemptible, "false") != 0)
		refuse(pod,
		       strata_arena_printf(&pod->arena, "%s is \"%s\"; expected true or false",
					   POD_ANNOTATION_PREEMPTIBLE,
					   text_excerpt(preemptible, strlen(preemptible), excerpt)),
		       ok);
}

/* ---- pods ---- */

static int64_t bound_since(const json_t *status)
{
	const json_t *list = json_object_get(status, "conditions");
	int64_t started_ns = time_of(json_object_get(status, "startTime"), STRATA_TIME_NONE);
	size_t at;
	json_t *one;

	json_array_foreach(
		(json_t *)list, at,
		one) if (strcmp(text_of(json_object_get(one, "type")), "PodScheduled") == 0 &&
			 strcmp(text_of(json_object_get(one, "status")), "True") ==
				 0) return time_of(json_object_get(one, "lastTransitionTime"),
						   started_ns);
	return started_ns;
}

static int64_t grace_of(const json_t *meta, const json_t *spec)
{
	const json_t *own = json_object_get(meta, "deletionGracePeriodSeconds");
	const json_t *usual = json_object_get(spec, "terminationGracePeriodSeconds");
	json_int_t seconds = json_is_integer(own)     ? json_integer_value(own)
			     : json_is_integer(usual) ? json_integer_value(usual)
						      : 30;

	return seconds < 0 ? 0 : (seconds < 86400 ? seconds : 86400) * STRATA_SECOND_NS;
}

/* The controller that made it, such as a Job. */
static void read_owner(struct pod *pod, const json_t *meta, bool *ok)
{
	const json_t *list = json_object_get(meta, "ownerReferences");
	size_t at;
	json_t *one;

	json_array_foreach((json_t *)list, at,
			   one) if (json_is_true(json_object_get(one, "controller")) && !pod->owner)
		pod->owner = keep(&pod->arena, text_of(json_object_get(one, "uid")), ok);
}

static void read_spec(struct pod *pod, const json_t *spec, const struct pod_rules *rules, bool *ok)
{
	const char *node = text_of(json_object_get(spec, "nodeName"));
	const char *user = text_of(json_object_get(spec, "serviceAccountName"));
	const char *policy = text_of(json_object_get(spec, "preemptionPolicy"));

	pod->user = keep(&pod->arena, *user ? user : "default", ok);
	pod->node = *node ? keep(&pod->arena, node, ok) : NULL;
	pod->ours = strcmp(text_of(json_object_get(spec, "schedulerName")), rules->scheduler) == 0;
	pod->priority = json_integer_value(json_object_get(spec, "priority"));
	pod->preempts = strcmp(policy, "Never") != 0;
	pod->gated = json_array_size(json_object_get(spec, "schedulingGates")) > 0;
}

static void read_status(struct pod *pod, const json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *status = json_object_get(object, "status");
	const char *phase = text_of(json_object_get(status, "phase"));

	pod->ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
	pod->deleting = json_is_string(json_object_get(meta, "deletionTimestamp"));
	pod->created_ns = time_of(json_object_get(meta, "creationTimestamp"), 0);
	pod->bound_ns = bound_since(status);
	pod->grace_ns = grace_of(meta, json_object_get(object, "spec"));
}

/* What it needs and where it may go. What is wrong with that is its refusal: the pod is there. */
static int read_needs(struct pod *pod, const json_t *spec, const struct pod_rules *rules,
		      struct strata_error *err)
{
	struct strata_error trouble = { 0 };
	bool ok = true;
	int rc = pod_amounts_of(spec, rules, &pod->arena, &pod->amounts, &trouble);

	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc)
		refuse(pod, strata_arena_printf(&pod->arena, "its resources: %s", trouble.text),
		       &ok);
	if (pod->amounts.gpus > STRATA_NODE_GPUS_MAX)
		refuse(pod,
		       strata_arena_printf(&pod->arena,
					   "it asks for %lld GPUs; a node has at most %d",
					   (long long)pod->amounts.gpus, STRATA_NODE_GPUS_MAX),
		       &ok);
	const char *refusal = NULL;

	rc = ok ? pod_constraint(spec, &pod->amounts, &pod->arena, &pod->rules, &refusal, err)
		: strata_fail_memory(err);
	if (rc)
		return rc;
	if (refusal)
		refuse(pod, refusal, &ok);
	char *text = json_dumps(pod->rules, JSON_COMPACT | JSON_SORT_KEYS);

	pod->constraint = text ? keep(&pod->arena, text, &ok) : NULL;
	free(text);
	return pod->constraint ? 0 : strata_fail_memory(err);
}

static int fill_pod(struct pod *pod, const json_t *object, const struct pod_rules *rules,
		    struct strata_error *err)
{
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *spec = json_object_get(object, "spec");
	const char *space = text_of(json_object_get(meta, "namespace"));
	const char *name = text_of(json_object_get(meta, "name"));
	const char *uid = text_of(json_object_get(meta, "uid"));
	bool ok = true;

	if (!is_valid_name(space) || !is_valid_name(name) || !is_valid_name(uid) ||
	    !json_is_object(spec))
		return strata_fail(
			err, -EINVAL,
			"this is no pod: a namespace, a name, a uid or a spec is missing");
	pod->space = keep(&pod->arena, space, &ok);
	pod->name = keep(&pod->arena, name, &ok);
	pod->uid = keep(&pod->arena, uid, &ok);
	if (ok)
		read_spec(pod, spec, rules, &ok);
	if (ok)
		read_annotations(pod, meta, spec, &ok);
	if (ok)
		read_owner(pod, meta, &ok);
	read_status(pod, object);
	return ok ? read_needs(pod, spec, rules, err) : strata_fail_memory(err);
}

int pod_read(const json_t *object, const struct pod_rules *rules, struct strata_memory *memory,
	     struct pod **ret_pod, struct strata_error *err)
{
	struct pod *pod = strata_memory_get(memory, sizeof(*pod));

	if (!pod)
		return strata_fail_memory(err);
	strata_arena_init(&pod->arena, memory, STRATA_POD_BYTES_MAX);
	int rc = fill_pod(pod, object, rules, err);

	if (rc) {
		pod_free(pod, memory);
		return rc;
	}
	*ret_pod = pod;
	return 0;
}

void pod_free(struct pod *pod, struct strata_memory *memory)
{
	if (!pod)
		return;
	json_decref(pod->rules);
	strata_arena_fini(&pod->arena);
	strata_memory_put(memory, pod, sizeof(*pod));
}

/* ---- nodes ---- */

static bool is_ready(const json_t *status)
{
	const json_t *list = json_object_get(status, "conditions");
	size_t at;
	json_t *one;

	json_array_foreach((json_t *)list, at,
			   one) if (strcmp(text_of(json_object_get(one, "type")), "Ready") ==
				    0) return strcmp(text_of(json_object_get(one, "status")),
						     "True") == 0;
	return false;
}

/* "00001111": the NUMA node of each GPU, a digit each; otherwise they are in one. */
static void read_numa(struct node *node)
{
	const char *text = json_string_value(json_object_get(node->labels, NODE_LABEL_NUMA));

	for (size_t i = 0; text && i < STRATA_NODE_GPUS_MAX && text[i] >= '0' && text[i] <= '9';
	     i++)
		node->numa[i] = (uint8_t)(text[i] - '0');
}

static int fill_node(struct node *node, const json_t *object, const struct pod_rules *rules,
		     struct strata_error *err)
{
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *spec = json_object_get(object, "spec");
	const json_t *status = json_object_get(object, "status");
	const char *name = text_of(json_object_get(meta, "name"));
	json_t *labels = json_object_get(meta, "labels");
	bool ok = true;

	if (!is_valid_name(name))
		return strata_fail(err, -EINVAL, "this is no node: it has no name");
	node->name = keep(&node->arena, name, &ok);
	node->ready = is_ready(status);
	node->cordoned = json_is_true(json_object_get(spec, "unschedulable"));
	node->labels = json_is_object(labels) ? json_incref(labels) : json_object();
	node->taints = json_incref(json_object_get(spec, "taints"));
	if (!ok || !node->labels)
		return strata_fail_memory(err);
	read_numa(node);
	int rc = pod_amounts_add(&node->amounts, json_object_get(status, "allocatable"), rules,
				 &node->arena, err);
	const char *type = json_string_value(json_object_get(node->labels, NODE_LABEL_GPU_TYPE));

	if (node->amounts.gpus > STRATA_NODE_GPUS_MAX)
		node->amounts.gpus = STRATA_NODE_GPUS_MAX;
	if (rc == 0 && node->amounts.gpus)
		node->gpu_type = keep(&node->arena, type && *type ? type : "gpu", &ok);
	return rc || ok ? rc : strata_fail_memory(err);
}

int node_read(const json_t *object, const struct pod_rules *rules, struct strata_memory *memory,
	      struct node **ret_node, struct strata_error *err)
{
	struct node *node = strata_memory_get(memory, sizeof(*node));

	if (!node)
		return strata_fail_memory(err);
	strata_arena_init(&node->arena, memory, STRATA_POD_BYTES_MAX);
	int rc = fill_node(node, object, rules, err);

	if (rc) {
		node_free(node, memory);
		return rc;
	}
	*ret_node = node;
	return 0;
}

void node_free(struct node *node, struct strata_memory *memory)
{
	if (!node)
		return;
	json_decref(node->labels);
	json_decref(node->taints);
	strata_arena_fini(&node->arena);
	strata_memory_put(memory, node, sizeof(*node));
}
