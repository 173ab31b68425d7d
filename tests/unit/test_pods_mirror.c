/* What is known of pods and nodes, and what was asked for. */
#include "pod_json.h"

#include "pods/pods_mirror.h"

static void tell(struct pods_mirror *mirror, const char *name, const char *meta, const char *spec,
		 bool gone)
{
	json_t *json = pod_json(name, 1, meta, spec);
	struct strata_error err = { 0 };

	CHECK_OK(pods_mirror_pod(mirror, json, gone, &err));
	json_decref(json);
}

TEST(a_pod_that_is_being_bound_stays_so_until_the_api_says_where_it_is)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct pods_mirror mirror;

	pods_mirror_init(&mirror, &memory, &pod_rules);
	tell(&mirror, "p", "", "", false);
	CHECK_OK(pods_mirror_assume(&mirror, pods_mirror_find(&mirror, "team", "p", "u-p"), "n1", 1,
				    5, &err));
	uint64_t changes = mirror.changes;

	tell(&mirror, "p", ",'labels':{'a':'b'}", "", false); /* from before the binding */
	CHECK_TEXT(pods_mirror_find(&mirror, "team", "p", NULL)->node, "n1");
	CHECK_INT(mirror.changes, changes);
	tell(&mirror, "p", "", ",'nodeName':'n2'", false);
	CHECK_TEXT(pods_mirror_find(&mirror, "team", "p", NULL)->node, "n2");
	CHECK(!pods_mirror_find(&mirror, "team", "p", NULL)->assumed);
	CHECK(mirror.changes > changes);
	pods_mirror_fini(&mirror);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(another_pod_of_the_same_name_is_another_pod)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct pods_mirror mirror;
	json_t *other = pod_json("p", 1, "", "");

	pods_mirror_init(&mirror, &memory, &pod_rules);
	tell(&mirror, "p", "", "", false);
	CHECK_OK(pods_mirror_assume(&mirror, pods_mirror_find(&mirror, "team", "p", NULL), "n1", 1,
				    5, &err));
	json_object_set_new(json_object_get(other, "metadata"), "uid", json_string("second"));
	CHECK_OK(pods_mirror_pod(&mirror, other, false, &err));
	CHECK(!pods_mirror_find(&mirror, "team", "p", "u-p"));
	CHECK(!pods_mirror_find(&mirror, "team", "p", "second")->node);
	tell(&mirror, "p", "", "", true); /* the first is gone, which is known by now */
	CHECK(pods_mirror_find(&mirror, "team", "p", "second") != NULL);
	CHECK_OK(pods_mirror_pod(&mirror, other, true, &err));
	CHECK(!pods_mirror_find(&mirror, "team", "p", NULL));
	json_decref(other);
	pods_mirror_fini(&mirror);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_matters_to_no_decision_is_no_change)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct pods_mirror mirror;
	json_t *node = node_json("n1", 2, "", "");

	pods_mirror_init(&mirror, &memory, &pod_rules);
	CHECK_OK(pods_mirror_node(&mirror, node, false, &err));
	uint64_t changes = mirror.changes;

	json_object_set_new(json_object_get(node, "metadata"), "resourceVersion", json_string("9"));
	CHECK_OK(pods_mirror_node(&mirror, node, false, &err)); /* its heartbeat */
	CHECK_INT(mirror.changes, changes);
	json_object_set_new(json_object_get(node, "spec"), "unschedulable", json_true());
	CHECK_OK(pods_mirror_node(&mirror, node, false, &err));
	CHECK_INT(mirror.changes, changes + 1);
	CHECK_OK(pods_mirror_node(&mirror, node, true, &err));
	CHECK(!pods_mirror_find_node(&mirror, "n1"));
	json_decref(node);
	pods_mirror_fini(&mirror);
	CHECK_INT(memory.used_bytes, 0);
}
