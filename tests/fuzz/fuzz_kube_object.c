/* Pods and nodes as an API server might send them: whatever they are, amounts are not negative, and a copy is equal. */
#include "kubernetes/kube_pod.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct kube_room *room)
{
	assert(room->cpu_milli >= 0 && room->memory_bytes >= 0 && room->gpus >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *object = json_loadb((const char *)data, size, 0, NULL);
	struct kube_pod pod, *copy;
	struct kube_node node;

	kube_pod_read(object, KUBE_GPU, &pod);
	check(&pod.room);
	copy = kube_pod_copy(&pod);
	assert(copy && strcmp(copy->name, pod.name) == 0 &&
	       strcmp(copy->message, pod.message) == 0 && strcmp(copy->reason, pod.reason) == 0);
	free(copy);
	kube_node_read(object, KUBE_GPU, &node);
	check(&node.room);
	assert(strlen(node.gpu_type) < sizeof(node.gpu_type_text));
	json_decref(object);
	return 0;
}
