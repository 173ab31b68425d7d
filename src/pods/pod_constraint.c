/*
 * The constraints of a pod's spec, in one canonical JSON document, so that pods with the same ones
 * are told apart from others by their text. What is a hard constraint of Kubernetes and not known
 * here is refused with its name: a pod that asks to be apart from another is not put beside it.
 */
#include "pods/pod.h"

#include <errno.h>
#include <string.h>

static const json_t *member(const json_t *object, const char *first, const char *second)
{
	return json_object_get(json_object_get(object, first), second);
}

static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";

static bool spreads(const json_t *spec)
{
	const json_t *list = json_object_get(spec, "topologySpreadConstraints");
	size_t at;
	json_t *one;

	json_array_foreach((json_t *)list, at, one)
	{
		const char *when = json_string_value(json_object_get(one, "whenUnsatisfiable"));

		if (!when || strcmp(when, "DoNotSchedule") == 0)
			return true;
	}
	return false;
}

static const char *not_known(const json_t *spec)
{
	const json_t *affinity = json_object_get(spec, "affinity");

	if (json_array_size(member(affinity, "podAffinity", required)))
		return "a required pod affinity";
	if (json_array_size(member(affinity, "podAntiAffinity", required)))
		return "a required pod anti-affinity";
	if (spreads(spec))
		return "topologySpreadConstraints with DoNotSchedule";
	if (json_array_size(json_object_get(spec, "resourceClaims")))
		return "resourceClaims";
	return NULL;
}

static json_t *others_of(const struct pod_amounts *amounts)
{
	json_t *others = json_object();

	for (size_t i = 0; others && i < amounts->other_count; i++)
		if (json_object_set_new(others, amounts->others[i].name,
					json_integer(amounts->others[i].amount))) {
			json_decref(others);
			return NULL;
		}
	return others;
}

static int set(json_t *rules, const char *name, const json_t *value)
{
	return value && json_object_set(rules, name, (json_t *)value) ? -ENOMEM : 0;
}

int pod_constraint(const json_t *spec, const struct pod_amounts *amounts,
		   struct strata_arena *arena, json_t **ret_rules, const char **ret_refusal,
		   struct strata_error *err)
{
	const char *unknown = not_known(spec);
	const json_t *affinity =
		member(json_object_get(spec, "affinity"), "nodeAffinity", required);
	json_t *rules = json_object(), *others = others_of(amounts);
	int rc = rules && others ? 0 : -ENOMEM;

	if (rc == 0)
		rc = set(rules, "selector", json_object_get(spec, "nodeSelector"));
	if (rc == 0)
		rc = set(rules, "terms", json_object_get(affinity, "nodeSelectorTerms"));
	if (rc == 0)
		rc = set(rules, "tolerations", json_object_get(spec, "tolerations"));
	if (rc == 0)
		rc = set(rules, "others", others);
	json_decref(others);
	if (rc == 0 && unknown) {
		*ret_refusal = strata_arena_printf(
			arena, "it has %s, which strata does not know; kube-scheduler does",
			unknown);
		rc = *ret_refusal ? 0 : -ENOMEM;
	}
	if (rc) {
		json_decref(rules);
		return strata_fail_memory(err);
	}
	*ret_rules = rules;
	return 0;
}
