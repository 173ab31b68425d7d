/* What a node has for pods, and whether it takes any. */
#include "kubernetes/kube_pod.h"

#include "kubernetes/kube_object.h"
#include "kubernetes/kube_quantity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PRODUCT "nvidia.com/gpu.product"
#define OWN_TYPE "strata.io/gpu-type"

static void read_ready(const json_t *conditions, struct kube_node *node)
{
	for (size_t i = 0; i < json_array_size(conditions); i++) {
		const json_t *condition = json_array_get(conditions, i);

		if (strcmp(kube_text(condition, "type", NULL), "Ready") != 0)
			continue;
		node->ready = strcmp(kube_text(condition, "status", NULL), "True") == 0;
		node->message = kube_text(condition, "message", NULL);
		if (!*node->message)
			node->message = kube_text(condition, "reason", NULL);
	}
}

/* "NVIDIA-A100-SXM4-80GB" is what NVIDIA's feature discovery calls it; people write a100-sxm4-80gb.
 * A label of our own goes before that. */
static void read_gpu_type(struct kube_node *node)
{
	const char *own = kube_text(node->labels, OWN_TYPE, NULL);
	const char *product = kube_text(node->labels, PRODUCT, NULL);

	if (*own)
		product = own;
	else if (strncasecmp(product, "nvidia-", 7) == 0)
		product += 7;
	snprintf(node->gpu_type_text, sizeof(node->gpu_type_text), "%s", product);
	for (char *at = node->gpu_type_text; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	node->gpu_type = node->gpu_type_text;
}

void kube_node_read(const json_t *object, const char *gpu, struct kube_node *ret_node)
{
	const json_t *room = kube_at(object, "status", "allocatable", NULL);

	*ret_node = (struct kube_node){
		.name = kube_text(object, "metadata", "name", NULL),
		.unschedulable = json_is_true(kube_at(object, "spec", "unschedulable", NULL)),
		.message = "",
		.labels = kube_at(object, "metadata", "labels", NULL),
	};
	kube_quantity_read(kube_text(room, "cpu", NULL), 1000, &ret_node->room.cpu_milli);
	kube_quantity_read(kube_text(room, "memory", NULL), 1, &ret_node->room.memory_bytes);
	kube_quantity_read(kube_text(room, gpu, NULL), 1, &ret_node->room.gpus);
	read_ready(kube_at(object, "status", "conditions", NULL), ret_node);
	read_gpu_type(ret_node);
}
