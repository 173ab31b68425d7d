/*
 * What the API server has said of pods and nodes, and what was asked of it and not confirmed yet: a
 * pod that is being bound counts as bound, one that is being deleted as being deleted. Pure; it has
 * one owner.
 */
#ifndef PODS_PODS_MIRROR_H
#define PODS_PODS_MIRROR_H

#include "core/map.h"
#include "pods/pod.h"

struct pods_mirror {
	struct strata_memory *memory; /* borrowed until fini; so are the rules */
	const struct pod_rules *rules;
	struct map_text pods;  /* of struct pod, by "namespace/name" */
	struct map_text nodes; /* of struct node, by name */
	uint64_t sequence;
	uint64_t changes; /* grows with everything that may matter to a decision */
};

void pods_mirror_init(struct pods_mirror *mirror, struct strata_memory *memory,
		      const struct pod_rules *rules);
void pods_mirror_fini(struct pods_mirror *mirror);

/* An object was added or has changed, or is gone. What is no pod or node is -EINVAL and changes
 * nothing. */
int pods_mirror_pod(struct pods_mirror *mirror, const json_t *object, bool gone,
		    struct strata_error *err);
int pods_mirror_node(struct pods_mirror *mirror, const json_t *object, bool gone,
		     struct strata_error *err);

/* NULL when there is none of that name, or another of that name (uid; NULL: any). */
struct pod *pods_mirror_find(const struct pods_mirror *mirror, const char *space, const char *name,
			     const char *uid);
struct node *pods_mirror_find_node(const struct pods_mirror *mirror, const char *name);

/* It is being bound there, on these GPUs; or it was not to be, after all. */
int pods_mirror_assume(struct pods_mirror *mirror, struct pod *pod, const char *node,
		       uint32_t gpu_mask, int64_t now_ns, struct strata_error *err);
void pods_mirror_forget_place(struct pods_mirror *mirror, struct pod *pod);

#endif
