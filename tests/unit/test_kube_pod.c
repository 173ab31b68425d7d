/* Pods: what they take, how they are. */
#include "test.h"

#include "kubernetes/kube_pod.h"

#include <stdlib.h>

static json_t *parse(const char *text)
{
	json_t *object = json_loads(text, 0, NULL);

	CHECK(object);
	return object;
}

TEST(a_pod_takes_what_its_containers_take_together)
{
	json_t *object = parse("{\"metadata\":{\"namespace\":\"n\",\"name\":\"p\",\"uid\":\"u\"},"
			       "\"spec\":{\"nodeName\":\"a\",\"overhead\":{\"cpu\":\"100m\"},"
			       "\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"4\"}}},"
			       "{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":"
			       "\"250m\",\"memory\":\"1Gi\"}}}],"
			       "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\","
			       "\"memory\":\"1Gi\"},\"limits\":{\"nvidia.com/gpu\":\"2\"}}},"
			       "{\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]},\"status\":{"
			       "\"phase\":\"Pending\"}}");
	struct kube_pod pod;

	kube_pod_read(object, KUBE_GPU, &pod);
	CHECK_INT(pod.room.cpu_milli, 4100); /* the first of its init takes most */
	CHECK_INT(pod.room.memory_bytes, INT64_C(2) << 30);
	CHECK_INT(pod.room.gpus, 2);
	CHECK_TEXT(pod.node, "a");
	CHECK(!kube_pod_ended(&pod) && !pod.started && !pod.deleting);
	json_decref(object);
}

TEST(how_it_ended_outlives_the_object)
{
	json_t *object =
		parse("{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":\"2026-01-01T00:00:"
		      "00Z\"},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":"
		      "{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\",\"startedAt\":"
		      "\"1970-01-01T00:00:01Z\",\"finishedAt\":\"1970-01-01T00:00:03Z\"}}}]}}");
	struct kube_pod pod;

	kube_pod_read(object, KUBE_GPU, &pod);
	struct kube_pod *copy = kube_pod_copy(&pod);

	json_decref(object);
	CHECK(copy && copy->terminated && copy->out_of_memory && copy->deleting && copy->started);
	CHECK(kube_pod_ended(copy));
	CHECK_INT(copy->exit_code, 137);
	CHECK_INT(copy->ended_ns - copy->started_ns, 2000000000);
	CHECK_TEXT(copy->reason, "OOMKilled");
	CHECK_TEXT(copy->space, "");
	free(copy);
}

TEST(why_it_waits_or_was_refused)
{
	static const struct {
		const char *text, *reason, *message;
	} cases[] = {
		{ "{\"status\":{\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":"
		  "\"ErrImagePull\",\"message\":\"no such image\"}}}]}}",
		  "ErrImagePull", "no such image" },
		{ "{\"status\":{\"phase\":\"Failed\",\"reason\":\"OutOfcpu\",\"message\":\"Node "
		  "didn't have enough\"}}",
		  "OutOfcpu", "Node didn't have enough" },
		{ "{}", "", "" },
		{ "[]", "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *object = parse(cases[i].text);
		struct kube_pod pod;

		kube_pod_read(object, KUBE_GPU, &pod);
		CHECK_TEXT(pod.reason, cases[i].reason);
		CHECK_TEXT(pod.message, cases[i].message);
		CHECK(!pod.started);
		json_decref(object);
	}
}
