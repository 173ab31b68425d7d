/* Pods and nodes as anybody may write them into the API: they are read, matched and put into a round,
 * or refused with a sentence. */
#include "pods/pods_round.h"

#include <strata/text.h>

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pod_rules rules = { "strata", "nvidia.com/gpu" };

static void go_round(struct pods_mirror *mirror, struct strata_memory *memory)
{
	struct pods_round_conf conf = { .time_limit_ns = STRATA_HOUR_NS,
					.high_from = 1,
					.gang_patience_ns = STRATA_MINUTE_NS,
					.tell_max = 10 };
	struct pods_plan plan = { 0 };
	struct pods_usage usage;
	struct strata_arena arena;
	struct strata_error err = { 0 };

	strata_arena_init(&arena, memory, 0);
	pods_usage_init(&usage, memory, STRATA_HOUR_NS);
	int rc = pods_round_decide(&conf, mirror, &usage, INT64_C(1800000000) * STRATA_SECOND_NS,
				   &arena, &plan, &err);

	assert(rc == 0 || err.text[0]);
	for (size_t i = 0; rc == 0 && i < plan.count; i++)
		assert(plan.decisions[i].kind == PODS_BIND ? plan.decisions[i].node != NULL
							   : plan.decisions[i].sentence != NULL);
	pods_usage_fini(&usage);
	strata_arena_fini(&arena);
}

/* A list of objects; what has containers is a pod. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *list = json_loadb((const char *)data, size, 0, NULL), *one;
	struct strata_memory memory = { 0 };
	struct pods_mirror mirror;
	size_t at;

	pods_mirror_init(&mirror, &memory, &rules);
	json_array_foreach(list, at, one)
	{
		struct strata_error err = { 0 };
		bool is_pod = json_object_get(json_object_get(one, "spec"), "containers") != NULL;
		int rc = is_pod ? pods_mirror_pod(&mirror, one, false, &err)
				: pods_mirror_node(&mirror, one, false, &err);

		assert(rc == 0 || err.text[0]);
	}
	if (list)
		go_round(&mirror, &memory);
	pods_mirror_fini(&mirror);
	assert(memory.used_bytes == 0);
	json_decref(list);
	return 0;
}
