/* Pods and nodes from JSON. */
#include "pod_json.h"

#include <strata/text.h>

#include <errno.h>

static struct pod *read_pod(json_t *json, struct strata_memory *memory)
{
	struct strata_error err = { 0 };
	struct pod *pod;

	CHECK_OK(pod_read(json, &pod_rules, memory, &pod, &err));
	json_decref(json);
	return pod;
}

TEST(a_pod_is_who_it_says_and_asks_for_what_it_says)
{
	struct strata_memory memory = { 0 };
	struct pod *pod = read_pod(
		pod_json("p", 2,
			 ",'ownerReferences':[{'uid':'x'},{'uid':'job-7','controller':true}],"
			 "'annotations':{'strata.io/gang':'g','strata.io/gang-size':'4',"
			 "'strata.io/time-limit':'90m','strata.io/preemptible':'false'}",
			 ",'serviceAccountName':'ann','priority':-7,'preemptionPolicy':'Never',"
			 "'terminationGracePeriodSeconds':5"),
		&memory);

	CHECK_TEXT(pod->space, "team");
	CHECK_TEXT(pod->name, "p");
	CHECK_TEXT(pod->uid, "u-p");
	CHECK_TEXT(pod->user, "ann");
	CHECK_TEXT(pod->owner, "job-7");
	CHECK_TEXT(pod->gang, "team/g");
	CHECK_INT(pod->gang_size, 4);
	CHECK_INT(pod->time_limit_ns, 90 * STRATA_MINUTE_NS);
	CHECK_INT(pod->priority, -7);
	CHECK_INT(pod->grace_ns, 5 * STRATA_SECOND_NS);
	CHECK_INT(pod->amounts.gpus, 2);
	CHECK(pod->ours && !pod->preemptible && !pod->preempts && !pod->node && !pod->refusal);
	pod_free(pod, &memory);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_left_out_has_the_usual_value)
{
	struct strata_memory memory = { 0 };
	struct pod *pod = read_pod(pod_json("p", 0, "", ""), &memory);

	CHECK_TEXT(pod->user, "default");
	CHECK(pod->preemptible && pod->preempts && !pod->gang && !pod->owner && !pod->gated);
	CHECK_INT(pod->time_limit_ns, 0);
	CHECK_INT(pod->grace_ns, 30 * STRATA_SECOND_NS);
	pod_free(pod, &memory);
}

TEST(the_shorter_of_deadline_and_annotation_is_the_time_limit)
{
	struct strata_memory memory = { 0 };
	struct pod *pod = read_pod(pod_json("p", 0, ",'annotations':{'strata.io/time-limit':'2h'}",
					    ",'activeDeadlineSeconds':60"),
				   &memory);

	CHECK_INT(pod->time_limit_ns, STRATA_MINUTE_NS);
	pod_free(pod, &memory);
}

TEST(where_and_since_when_it_is_bound_is_read)
{
	struct strata_memory memory = { 0 };
	json_t *json =
		pod_json("p", 2, ",'annotations':{'strata.io/gpus':'1,3'}", ",'nodeName':'n1'");

	json_object_set_new(json, "status",
			    json_of("{'phase':'Running','startTime':'2026-01-01T00:00:09Z',"
				    "'conditions':[{'type':'PodScheduled','status':'True',"
				    "'lastTransitionTime':'2026-01-01T00:00:05Z'}]}"));
	struct pod *pod = read_pod(json, &memory);

	CHECK_TEXT(pod->node, "n1");
	CHECK_INT(pod->gpu_mask, 1 << 1 | 1 << 3);
	CHECK_INT(pod->bound_ns - pod->created_ns, 5 * STRATA_SECOND_NS);
	CHECK(!pod->ended);
	pod_free(pod, &memory);
}

TEST(annotations_that_make_no_sense_are_its_refusal)
{
	static const char *const cases[][2] = {
		{ "'strata.io/gang':'g'",
		  "it is of the gang \"g\" and does not say how many they are: "
		  "strata.io/gang-size is missing" },
		{ "'strata.io/gang':'g','strata.io/gang-size':'0'",
		  "strata.io/gang-size is \"0\"; expected 1 to 256" },
		{ "'strata.io/gang':'g','strata.io/gang-size':'257'",
		  "strata.io/gang-size is \"257\"; expected 1 to 256" },
		{ "'strata.io/time-limit':'soon'",
		  "strata.io/time-limit is \"soon\"; expected a duration such as 90m or 2h" },
		{ "'strata.io/preemptible':'maybe'",
		  "strata.io/preemptible is \"maybe\"; expected true or false" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strata_memory memory = { 0 };
		char meta[200];

		snprintf(meta, sizeof(meta), ",'annotations':{%s}", cases[i][0]);
		struct pod *pod = read_pod(pod_json("p", 0, meta, ""), &memory);

		CHECK_TEXT(pod->refusal, cases[i][1]);
		pod_free(pod, &memory);
	}
}

TEST(gpus_that_no_annotation_could_mean_are_not_known)
{
	static const char *const cases[] = {
		"16", "-1", "1;2", "a", "1,,2", "99999999999999999999"
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strata_memory memory = { 0 };
		char meta[200];

		snprintf(meta, sizeof(meta), ",'annotations':{'strata.io/gpus':'%s'}", cases[i]);
		struct pod *pod = read_pod(pod_json("p", 0, meta, ""), &memory);

		CHECK_INT(pod->gpu_mask, 0);
		pod_free(pod, &memory);
	}
}

TEST(a_node_has_what_is_allocatable_and_what_its_labels_say)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	json_t *json = node_json("n1", 4,
				 ",'nvidia.com/gpu.product':'A100','strata.io/gpu-numa':'0011'",
				 "'unschedulable':true");
	struct node *node;

	CHECK_OK(node_read(json, &pod_rules, &memory, &node, &err));
	CHECK_TEXT(node->gpu_type, "A100");
	CHECK(node->ready && node->cordoned);
	CHECK_INT(node->amounts.gpus, 4);
	CHECK_INT(node->amounts.cpu_milli, 16000);
	CHECK_INT(node->numa[1], 0);
	CHECK_INT(node->numa[2], 1);
	CHECK_INT(pod_amounts_other(&node->amounts, "pods"), 110);
	node_free(node, &memory);
	json_decref(json);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_no_pod_or_node_is_refused)
{
	static const char *const cases[] = { "{}", "[]", "{'metadata':{'name':'x'}}",
					     "{'metadata':[]}",
					     "{'metadata':{'name':'','namespace':'a','uid':'u'}}" };
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = json_of(cases[i]);
		struct pod *pod;

		CHECK_ERROR(pod_read(json, &pod_rules, &memory, &pod, &err), -EINVAL,
			    "this is no pod");
		json_decref(json);
	}
	CHECK_INT(memory.used_bytes, 0);
}

TEST(names_have_a_longest_length)
{
	for (int length = STRATA_POD_NAME_BYTES_MAX; length <= STRATA_POD_NAME_BYTES_MAX + 1;
	     length++) {
		struct strata_memory memory = { 0 };
		struct strata_error err = { 0 };
		char name[300];
		struct pod *pod = NULL;

		snprintf(name, sizeof(name), "%0*d", length, 1);
		json_t *json = pod_json(name, 0, "", "");

		json_object_set_new(json_object_get(json, "metadata"), "uid", json_string("u"));
		CHECK_INT(pod_read(json, &pod_rules, &memory, &pod, &err),
			  length <= STRATA_POD_NAME_BYTES_MAX ? 0 : -EINVAL);
		pod_free(pod, &memory);
		json_decref(json);
	}
}

TEST(reading_fails_well_at_every_allocation)
{
	json_t *json = pod_json(
		"p", 2,
		",'ownerReferences':[{'uid':'j','controller':true}],'annotations':{"
		"'strata.io/gang':'g','strata.io/gang-size':'x','strata.io/time-limit':'y'}",
		",'nodeName':'n'");
	int rc = -ENOMEM;

	for (uint64_t at = 1; rc; at++) {
		struct strata_memory memory = { .fail_at = at };
		struct strata_error err = { 0 };
		struct pod *pod;

		rc = pod_read(json, &pod_rules, &memory, &pod, &err);
		if (rc)
			CHECK_INT(rc, -ENOMEM);
		else
			pod_free(pod, &memory);
		CHECK_INT(memory.used_bytes, 0);
	}
	json_decref(json);
}
