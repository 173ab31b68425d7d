/* The constraints of a pod as one text. */
#include "pod_json.h"

#include <string.h>

static const char *refusal_of(const char *spec, struct pod **ret_pod, struct strata_memory *memory)
{
	json_t *json = pod_json("p", 1, "", spec);
	struct strata_error err = { 0 };

	CHECK_OK(pod_read(json, &pod_rules, memory, ret_pod, &err));
	json_decref(json);
	return (*ret_pod)->refusal;
}

TEST(pods_alike_in_it_have_the_same_text)
{
	struct strata_memory memory = { 0 };
	struct pod *a, *b, *c;

	CHECK(!refusal_of(",'nodeSelector':{'a':'1','b':'2'}", &a, &memory));
	CHECK(!refusal_of(",'nodeSelector':{'b':'2','a':'1'},'hostname':'x'", &b, &memory));
	CHECK(!refusal_of(",'nodeSelector':{'a':'1'}", &c, &memory));
	CHECK_TEXT(a->constraint, b->constraint);
	CHECK(strcmp(a->constraint, c->constraint) != 0);
	pod_free(a, &memory);
	pod_free(b, &memory);
	pod_free(c, &memory);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_hard_constraint_that_is_not_known_is_refused_by_name)
{
	static const char *const cases[][2] = {
		{ ",'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{}"
		  "]}}",
		  "it has a required pod affinity, which strata does not know; kube-scheduler "
		  "does" },
		{ ",'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution'"
		  ":[{}]}}",
		  "it has a required pod anti-affinity, which strata does not know; kube-scheduler "
		  "does" },
		{ ",'topologySpreadConstraints':[{'whenUnsatisfiable':'DoNotSchedule'}]",
		  "it has topologySpreadConstraints with DoNotSchedule, which strata does not "
		  "know; "
		  "kube-scheduler does" },
		{ ",'resourceClaims':[{'name':'gpu'}]",
		  "it has resourceClaims, which strata does not know; kube-scheduler does" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strata_memory memory = { 0 };
		struct pod *pod;

		CHECK_TEXT(refusal_of(cases[i][0], &pod, &memory), cases[i][1]);
		pod_free(pod, &memory);
	}
}

TEST(what_is_merely_preferred_is_no_constraint)
{
	struct strata_memory memory = { 0 };
	struct pod *pod;

	CHECK(!refusal_of(",'affinity':{'podAntiAffinity':{"
			  "'preferredDuringSchedulingIgnoredDuringExecution':[{}]}},"
			  "'topologySpreadConstraints':[{'whenUnsatisfiable':'ScheduleAnyway'}]",
			  &pod, &memory));
	pod_free(pod, &memory);
}
