/* Pods and nodes from short JSON, for tests. */
#ifndef POD_JSON_H
#define POD_JSON_H

#include "pods/pod.h"
#include "test.h"

#include <stdio.h>

static const struct pod_rules pod_rules = { "strata", "nvidia.com/gpu" };

/* With ' in the place of ". */
static inline json_t *json_of(const char *text)
{
	char copy[8192];
	size_t i = 0;

	for (; text[i] && i < sizeof(copy) - 1; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	copy[i] = '\0';
	json_t *json = json_loads(copy, JSON_DECODE_ANY, NULL);

	if (!json)
		test_fail(__FILE__, __LINE__, "not JSON: %s", copy);
	return json;
}

/* A pod of one container; more: further members of metadata and spec, with a comma in front. */
static inline json_t *pod_json(const char *name, int gpus, const char *meta, const char *spec)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "{'metadata':{'namespace':'team','name':'%s','uid':'u-%s','creationTimestamp':"
		 "'2026-01-01T00:00:00Z'%s},'spec':{'schedulerName':'strata','containers':[{"
		 "'resources':{'requests':{'cpu':'1','memory':'1Gi','nvidia.com/gpu':'%d'}}}]%s},"
		 "'status':{'phase':'Pending'}}",
		 name, name, meta, gpus, spec);
	return json_of(text);
}

static inline json_t *node_json(const char *name, int gpus, const char *labels, const char *spec)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s'%s}},'spec':{%s},"
		 "'status':{'allocatable':{'cpu':'16','memory':'64Gi','pods':'110',"
		 "'nvidia.com/gpu':'%d'},'conditions':[{'type':'Ready','status':'True'}]}}",
		 name, name, labels, spec, gpus);
	return json_of(text);
}

#endif
