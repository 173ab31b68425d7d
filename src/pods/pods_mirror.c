/* Pods and nodes by name, kept up by what a watch tells. */
#include "pods/pods_mirror.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = 2 * STRATA_POD_NAME_BYTES_MAX + 2 };

void pods_mirror_init(struct pods_mirror *mirror, struct strata_memory *memory,
		      const struct pod_rules *rules)
{
	*mirror = (struct pods_mirror){ .memory = memory, .rules = rules };
	map_text_init(&mirror->pods, memory);
	map_text_init(&mirror->nodes, memory);
}

void pods_mirror_fini(struct pods_mirror *mirror)
{
	const struct map_text_entry *at = NULL;

	while ((at = map_text_next(&mirror->pods, at)))
		pod_free(at->value, mirror->memory);
	while ((at = map_text_next(&mirror->nodes, at)))
		node_free(at->value, mirror->memory);
	map_text_fini(&mirror->pods);
	map_text_fini(&mirror->nodes);
}

static size_t key_of(const char *space, const char *name, char ret_key[KEY_BYTES])
{
	int length = snprintf(ret_key, KEY_BYTES, "%.253s/%.253s", space, name);

	return (size_t)length;
}

struct pod *pods_mirror_find(const struct pods_mirror *mirror, const char *space, const char *name,
			     const char *uid)
{
	char key[KEY_BYTES];
	struct pod *pod = map_text_get(&mirror->pods, key, key_of(space, name, key));

	return pod && (!uid || strcmp(uid, pod->uid) == 0) ? pod : NULL;
}

struct node *pods_mirror_find_node(const struct pods_mirror *mirror, const char *name)
{
	return map_text_get(&mirror->nodes, name, strlen(name));
}

static const char *meta_text(const json_t *object, const char *name)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(object, "metadata"), name));

	return text ? text : "";
}

/* What only the scheduler knows goes on with the new picture of the same pod. */
static int carry_over(const struct pod *old, struct pod *pod, struct strata_error *err)
{
	pod->sequence = old->sequence;
	pod->told = old->told;
	pod->told_ns = old->told_ns;
	pod->refused = old->refused;
	pod->again_ns = old->again_ns;
	pod->evicting = old->evicting;
	pod->deleting = pod->deleting || old->evicting;
	if (!old->assumed || pod->node)
		return 0;
	pod->node = strata_arena_text(&pod->arena, old->node, strlen(old->node));
	pod->assumed = true;
	pod->gpu_mask = old->gpu_mask;
	pod->bound_ns = old->bound_ns;
	return pod->node ? 0 : strata_fail_memory(err);
}

/* Does it matter to a decision how the pod has changed? A condition that was written does not. */
static bool matters(const struct pod *old, const struct pod *pod)
{
	bool same_place = old->node && pod->node ? strcmp(old->node, pod->node) == 0
						 : old->node == pod->node;

	return !same_place || old->ended != pod->ended || old->deleting != pod->deleting ||
	       old->gated != pod->gated || old->priority != pod->priority ||
	       old->time_limit_ns != pod->time_limit_ns || old->preemptible != pod->preemptible ||
	       !old->gang != !pod->gang || (pod->gang && strcmp(old->gang, pod->gang) != 0) ||
	       old->gang_size != pod->gang_size || !old->refusal != !pod->refusal ||
	       strcmp(old->constraint, pod->constraint) != 0 ||
	       old->amounts.cpu_milli != pod->amounts.cpu_milli ||
	       old->amounts.memory_bytes != pod->amounts.memory_bytes ||
	       old->amounts.gpus != pod->amounts.gpus;
}

static int put_pod(struct pods_mirror *mirror, const json_t *object, struct strata_error *err)
{
	struct pod *pod, *old;
	char key[KEY_BYTES];
	void *was;
	int rc = pod_read(object, mirror->rules, mirror->memory, &pod, err);

	if (rc)
		return rc;
	size_t length = key_of(pod->space, pod->name, key);

	old = map_text_get(&mirror->pods, key, length);
	if (!old && mirror->pods.count >= STRATA_PODS_MAX)
		rc = strata_fail(err, -E2BIG, "more than %d pods", STRATA_PODS_MAX);
	if (old && strcmp(old->uid, pod->uid) == 0)
		rc = carry_over(old, pod, err);
	else
		pod->sequence = mirror->sequence++;
	if (rc == 0 && map_text_put(&mirror->pods, key, length, pod, &was))
		rc = strata_fail_memory(err);
	if (rc) {
		pod_free(pod, mirror->memory);
		return rc;
	}
	mirror->changes += !old || strcmp(old->uid, pod->uid) != 0 || matters(old, pod);
	pod_free(old, mirror->memory);
	return 0;
}

int pods_mirror_pod(struct pods_mirror *mirror, const json_t *object, bool gone,
		    struct strata_error *err)
{
	char key[KEY_BYTES];

	if (!gone)
		return put_pod(mirror, object, err);
	struct pod *pod = pods_mirror_find(mirror, meta_text(object, "namespace"),
					   meta_text(object, "name"), NULL);

	/* the one that is gone may be an earlier one of that name */
	if (!pod || (*meta_text(object, "uid") && strcmp(pod->uid, meta_text(object, "uid")) != 0))
		return 0;
	map_text_remove(&mirror->pods, key, key_of(pod->space, pod->name, key));
	pod_free(pod, mirror->memory);
	mirror->changes++;
	return 0;
}

static bool node_matters(const struct node *old, const struct node *node)
{
	bool same = old->ready == node->ready && old->cordoned == node->cordoned &&
		    old->amounts.cpu_milli == node->amounts.cpu_milli &&
		    old->amounts.memory_bytes == node->amounts.memory_bytes &&
		    old->amounts.gpus == node->amounts.gpus &&
		    old->amounts.other_count == node->amounts.other_count &&
		    json_equal(old->labels, node->labels) &&
		    (old->taints == node->taints || json_equal(old->taints, node->taints));

	for (size_t i = 0; same && i < node->amounts.other_count; i++)
		same = old->amounts.others[i].amount == node->amounts.others[i].amount &&
		       strcmp(old->amounts.others[i].name, node->amounts.others[i].name) == 0;
	return !same;
}

int pods_mirror_node(struct pods_mirror *mirror, const json_t *object, bool gone,
		     struct strata_error *err)
{
	struct node *node, *old;
	void *was;

	if (gone) {
		const char *name = meta_text(object, "name");

		old = map_text_remove(&mirror->nodes, name, strlen(name));
		mirror->changes += old != NULL;
		node_free(old, mirror->memory);
		return 0;
	}
	int rc = node_read(object, mirror->rules, mirror->memory, &node, err);

	if (rc)
		return rc;
	old = pods_mirror_find_node(mirror, node->name);
	if (map_text_put(&mirror->nodes, node->name, strlen(node->name), node, &was)) {
		node_free(node, mirror->memory);
		return strata_fail_memory(err);
	}
	mirror->changes += !old || node_matters(old, node);
	node_free(old, mirror->memory);
	return 0;
}

int pods_mirror_assume(struct pods_mirror *mirror, struct pod *pod, const char *node,
		       uint32_t gpu_mask, int64_t now_ns, struct strata_error *err)
{
	const char *copy = strata_arena_text(&pod->arena, node, strlen(node));

	if (!copy)
		return strata_fail_memory(err);
	pod->node = copy;
	pod->gpu_mask = gpu_mask;
	pod->bound_ns = now_ns;
	pod->assumed = true;
	mirror->changes++;
	return 0;
}

void pods_mirror_forget_place(struct pods_mirror *mirror, struct pod *pod)
{
	if (!pod->assumed)
		return;
	pod->node = NULL;
	pod->gpu_mask = 0;
	pod->bound_ns = STRATA_TIME_NONE;
	pod->assumed = false;
	mirror->changes++;
}
