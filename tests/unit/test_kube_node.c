/* Nodes of a Kubernetes cluster. */
#include "test.h"

#include "kubernetes/kube_pod.h"

TEST(a_node_says_what_it_has_and_whether_it_is_well)
{
	json_t *object = json_loads(
		"{\"metadata\":{\"name\":\"n0\",\"labels\":{\"nvidia.com/"
		"gpu.product\":\"NVIDIA-A100-SXM4-80GB\"}},\"spec\":{\"unschedulable\":true},"
		"\"status\":{\"allocatable\":{\"cpu\":\"7910m\",\"memory\":\"31Gi\",\"nvidia.com/"
		"gpu\":\"8\"},\"conditions\":[{\"type\":\"MemoryPressure\",\"status\":\"False\"},"
		"{\"type\":\"Ready\",\"status\":\"Unknown\",\"reason\":\"NodeStatusUnknown\","
		"\"message\":\"Kubelet stopped posting node status.\"}]}}",
		0, NULL);
	struct kube_node node;

	kube_node_read(object, KUBE_GPU, &node);
	CHECK_TEXT(node.name, "n0");
	CHECK(!node.ready && node.unschedulable);
	CHECK_TEXT(node.message, "Kubelet stopped posting node status.");
	CHECK_INT(node.room.cpu_milli, 7910);
	CHECK_INT(node.room.memory_bytes, INT64_C(31) << 30);
	CHECK_INT(node.room.gpus, 8);
	CHECK_TEXT(node.gpu_type, "a100-sxm4-80gb");
	kube_node_read(object, "amd.com/gpu", &node);
	CHECK_INT(node.room.gpus, 0);
	json_decref(object);
}

TEST(our_own_label_names_the_type)
{
	json_t *object = json_loads(
		"{\"metadata\":{\"name\":\"n0\",\"labels\":{\"nvidia.com/"
		"gpu.product\":\"NVIDIA-L4\",\"strata.io/gpu-type\":\"L4x\"}},"
		"\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
		0, NULL);
	struct kube_node node;

	kube_node_read(object, KUBE_GPU, &node);
	CHECK_TEXT(node.gpu_type, "l4x");
	CHECK(node.ready && !node.unschedulable);
	json_decref(object);
}
