/* Rounds of decisions over pods and nodes that are written down here. */
#include "pod_json.h"

#include "pods/pods_round.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

#define NOW \
	(INT64_C(1767225600) * STRATA_SECOND_NS + STRATA_HOUR_NS) /* an hour after the pods came */

struct world {
	struct strata_memory memory;
	struct strata_arena arena;
	struct pods_mirror mirror;
	struct pods_usage usage;
	struct pods_round_conf conf;
	struct pods_plan plan;
	struct strata_error err;
	int64_t now_ns;
};

static void open_world(struct world *world)
{
	*world = (struct world){ .now_ns = NOW };
	strata_arena_init(&world->arena, &world->memory, 0);
	pods_mirror_init(&world->mirror, &world->memory, &pod_rules);
	pods_usage_init(&world->usage, &world->memory, 24 * STRATA_HOUR_NS);
	world->conf = (struct pods_round_conf){ .time_limit_ns = STRATA_HOUR_NS,
						.high_from = 1,
						.gang_patience_ns = STRATA_MINUTE_NS,
						.tell_max = 100 };
}

static void close_world(struct world *world)
{
	pods_usage_fini(&world->usage);
	pods_mirror_fini(&world->mirror);
	strata_arena_fini(&world->arena);
	CHECK_INT(world->memory.used_bytes, 0);
}

static void add_node(struct world *world, const char *name, int gpus)
{
	json_t *json = node_json(name, gpus, "", "");
	struct strata_error err = { 0 };

	CHECK_OK(pods_mirror_node(&world->mirror, json, false, &err));
	json_decref(json);
}

static void add_pod(struct world *world, const char *name, int gpus, const char *meta,
		    const char *spec)
{
	json_t *json = pod_json(name, gpus, meta, spec);
	struct strata_error err = { 0 };

	CHECK_OK(pods_mirror_pod(&world->mirror, json, false, &err));
	json_decref(json);
}

static struct pod *find(const struct world *world, const char *name)
{
	return pods_mirror_find(&world->mirror, "team", name, NULL);
}

/* One round, and its bindings taken as made. */
static void go_round(struct world *world)
{
	struct strata_error err = { 0 };

	strata_arena_reset(&world->arena);
	CHECK_OK(pods_round_decide(&world->conf, &world->mirror, &world->usage, world->now_ns,
				   &world->arena, &world->plan, &err));
	for (size_t i = 0; i < world->plan.count; i++) {
		struct pods_decision *decision = &world->plan.decisions[i];

		if (decision->kind == PODS_BIND)
			CHECK_OK(pods_mirror_assume(&world->mirror, decision->pod, decision->node,
						    decision->gpu_mask, world->now_ns, &err));
	}
}

static size_t count_of(const struct world *world, enum pods_decision_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < world->plan.count; i++)
		count += world->plan.decisions[i].kind == kind;
	return count;
}

static const char *told(const struct world *world, const char *name)
{
	for (size_t i = 0; i < world->plan.count; i++)
		if (world->plan.decisions[i].kind == PODS_TELL &&
		    strcmp(world->plan.decisions[i].pod->name, name) == 0)
			return world->plan.decisions[i].sentence;
	return "";
}

#define GANG(size) ",'annotations':{'strata.io/gang':'g','strata.io/gang-size':'" size "'}"

TEST(what_was_decided_once_is_not_decided_again)
{
	struct world world;

	open_world(&world);
	add_node(&world, "n1", 4);
	add_pod(&world, "a", 2, "", "");
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_BIND), 1);
	CHECK_INT(__builtin_popcount(find(&world, "a")->gpu_mask), 2);
	go_round(&world);
	CHECK_INT(world.plan.count, 0);
	add_pod(&world, "a", 2, ",'labels':{'x':'y'}", ""); /* told anew, still without a node */
	go_round(&world);
	CHECK_INT(world.plan.count, 0);
	CHECK_TEXT(find(&world, "a")->node, "n1");
	close_world(&world);
}

TEST(a_place_that_is_taken_is_not_given)
{
	struct world world;

	open_world(&world);
	add_node(&world, "n1", 4);
	add_pod(&world, "there", 3, ",'annotations':{'strata.io/gpus':'0,1,3'}",
		",'nodeName':'n1'");
	add_pod(&world, "one", 1, "", "");
	add_pod(&world, "two", 1, "", "");
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_BIND), 1);
	CHECK_INT(find(&world, "one")->gpu_mask, 1 << 2);
	CHECK(strstr(told(&world, "two"), "0 of 1 nodes have room for it now: 1 is short of GPUs"));
	close_world(&world);
}

TEST(gpus_of_one_numa_node_go_together)
{
	json_t *json = node_json("n1", 4, ",'strata.io/gpu-numa':'0101'", "");
	struct strata_error err = { 0 };
	struct world world;

	open_world(&world);
	CHECK_OK(pods_mirror_node(&world.mirror, json, false, &err));
	json_decref(json);
	add_pod(&world, "there", 1, ",'annotations':{'strata.io/gpus':'0'}", ",'nodeName':'n1'");
	add_pod(&world, "two", 2, "", "");
	go_round(&world);
	CHECK_INT(find(&world, "two")->gpu_mask, 1 << 1 | 1 << 3);
	close_world(&world);
}

TEST(constraints_of_many_kinds_are_told_apart)
{
	struct world world;

	open_world(&world);
	for (int i = 0; i < 40; i++) {
		char name[16], label[64], selector[64];

		snprintf(name, sizeof(name), "n%d", i);
		snprintf(label, sizeof(label), ",'rack':'%d'", i);
		json_t *json = node_json(name, 1, label, "");
		struct strata_error err = { 0 };

		CHECK_OK(pods_mirror_node(&world.mirror, json, false, &err));
		json_decref(json);
		snprintf(selector, sizeof(selector), ",'nodeSelector':{'rack':'%d'}", 39 - i);
		add_pod(&world, name, 1, "", selector);
	}
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_BIND), 40);
	for (size_t i = 0; i < world.plan.count; i++) {
		int pod, node;

		CHECK_INT(sscanf(world.plan.decisions[i].pod->name, "n%d", &pod), 1);
		CHECK_INT(sscanf(world.plan.decisions[i].node, "n%d", &node), 1);
		CHECK_INT(pod + node, 39);
	}
	close_world(&world);
}

/* A node that one pod fills, and one of a higher priority that waits; how many are deleted. */
static size_t evicted_for(const char *meta, const char *spec, bool deleting)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct world world;

	strata_arena_init(&arena, &memory, 0);
	open_world(&world);
	CHECK_OK(strata_spec_build(&strata_victims_kind, "lowest:protect=0s", &arena,
				   &world.conf.cluster.victims, &err));
	add_node(&world, "n1", 2);
	add_pod(&world, "there", 2, meta, ",'nodeName':'n1'");
	find(&world, "there")->deleting = deleting;
	add_pod(&world, "urgent", 1, "", spec);
	go_round(&world);
	size_t count = count_of(&world, PODS_EVICT);

	CHECK_INT(count_of(&world, PODS_BIND), 0);
	CHECK(count == 0 || strcmp(world.plan.decisions[0].pod->name, "there") == 0);
	close_world(&world);
	strata_arena_fini(&arena);
	return count;
}

TEST(a_pod_of_a_higher_band_has_one_of_a_lower_deleted_once)
{
	static const char high[] = ",'priority':7";

	CHECK_INT(evicted_for("", high, false), 1);
	CHECK_INT(evicted_for("", high, true), 0); /* it is on its way already */
	CHECK_INT(evicted_for("", "", false), 0);
	CHECK_INT(evicted_for("", ",'priority':7,'preemptionPolicy':'Never'", false), 0);
	CHECK_INT(evicted_for(",'annotations':{'strata.io/preemptible':'false'}", high, false), 0);
	CHECK_INT(evicted_for(GANG("1"), high, false), 0);
}

TEST(a_node_that_has_more_on_it_than_it_has_is_full_and_no_mistake)
{
	struct world world;

	open_world(&world);
	add_node(&world, "n1", 4);
	for (int i = 0; i < 5; i++) {
		char name[8];

		snprintf(name, sizeof(name), "p%d", i);
		add_pod(&world, name, 1, ",'annotations':{'strata.io/gpus':'0'}",
			",'nodeName':'n1'");
	}
	add_pod(&world, "a", 1, "", "");
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_BIND), 0);
	close_world(&world);
}

TEST(a_gang_is_bound_in_one_round_or_waits)
{
	struct world world;

	open_world(&world);
	add_node(&world, "n1", 2);
	add_pod(&world, "a", 1, GANG("3"), "");
	add_pod(&world, "b", 1, GANG("3"), "");
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_BIND), 0);
	CHECK_TEXT(told(&world, "a"), "waits for its gang \"g\": 2 of 3 are there");
	add_pod(&world, "c", 1, GANG("3"), "");
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_BIND), 0);
	add_node(&world, "n2", 1);
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_BIND), 3);
	close_world(&world);
}

TEST(the_rest_of_a_gang_goes_before_everybody)
{
	struct world world;

	open_world(&world);
	add_node(&world, "n1", 2);
	add_pod(&world, "a", 1, GANG("2"), ",'nodeName':'n1'");
	find(&world, "a")->bound_ns = NOW;
	add_pod(&world, "early", 1, "", ",'priority':1000");
	add_pod(&world, "b", 1, GANG("2"), "");
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_BIND), 1);
	CHECK(find(&world, "b")->node);
	CHECK(!find(&world, "early")->node);
	close_world(&world);
}

TEST(a_gang_in_part_is_taken_down_when_its_time_is_up)
{
	struct world world;

	open_world(&world);
	add_node(&world, "n1", 1);
	add_pod(&world, "a", 1, GANG("2"), ",'nodeName':'n1'");
	add_pod(&world, "b", 1, GANG("2"), "");
	find(&world, "a")->bound_ns = NOW;
	world.now_ns = NOW + STRATA_MINUTE_NS - 1;
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_EVICT), 0);
	world.now_ns = NOW + STRATA_MINUTE_NS;
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_EVICT), 1);
	CHECK_TEXT(world.plan.decisions[0].pod->name, "a");
	CHECK_TEXT(world.plan.decisions[0].sentence,
		   "only 1 of the 2 of its gang could be bound within 1m");
	close_world(&world);
}

TEST(a_younger_member_takes_the_place_of_one_that_failed)
{
	struct world world;

	open_world(&world);
	add_node(&world, "n1", 3);
	add_pod(&world, "a", 1, GANG("3"), ",'nodeName':'n1'");
	add_pod(&world, "b", 1, GANG("3"), ",'nodeName':'n1'");
	find(&world, "a")->bound_ns = find(&world, "b")->bound_ns = NOW;
	add_pod(&world, "c", 1, GANG("3"), "");
	find(&world, "c")->created_ns = NOW + STRATA_SECOND_NS;
	world.now_ns = NOW + STRATA_HOUR_NS;
	go_round(&world);
	CHECK_INT(count_of(&world, PODS_EVICT), 0);
	CHECK(find(&world, "c")->node);
	close_world(&world);
}

TEST(priorities_of_any_size_keep_their_order)
{
	struct world world;

	open_world(&world);
	add_node(&world, "n1", 1);
	add_pod(&world, "low", 1, "", ",'priority':1999999999");
	add_pod(&world, "high", 1, "", ",'priority':2000000000");
	go_round(&world);
	CHECK(find(&world, "high")->node);
	CHECK(!find(&world, "low")->node);
	close_world(&world);
}

TEST(a_sentence_is_said_once_until_it_changes)
{
	struct world world;

	open_world(&world);
	add_pod(&world, "a", 1, "", "");
	go_round(&world);
	CHECK_TEXT(told(&world, "a"), "the cluster has no nodes");
	go_round(&world);
	CHECK_INT(world.plan.count, 0);
	add_node(&world, "n1", 0);
	go_round(&world);
	CHECK_TEXT(told(&world, "a"),
		   "0 of 1 nodes could take it even if they were empty: 1 is short of GPUs");
	close_world(&world);
}

TEST(running_pods_are_charged_and_usage_fades)
{
	struct world world;

	open_world(&world);
	add_node(&world, "n1", 4);
	add_pod(&world, "a", 4, "", ",'nodeName':'n1','serviceAccountName':'ann'");
	go_round(&world);
	world.now_ns += STRATA_HOUR_NS;
	go_round(&world);
	const struct pods_used *used = map_text_get(&world.usage.users, "team/ann", 8);

	CHECK(used != NULL);
	CHECK_NEAR(used->gpu_hours, 4, 1e-9);
	close_world(&world);
}

TEST(a_round_fails_well_at_every_allocation)
{
	int rc = -ENOMEM;

	for (uint64_t at = 1; rc; at++) {
		struct world world;

		open_world(&world);
		add_node(&world, "n1", 2);
		add_node(&world, "n2", 2);
		add_pod(&world, "there", 1, "", ",'nodeName':'n1'");
		add_pod(&world, "a", 2, "", "");
		add_pod(&world, "b", 1, GANG("2"), "");
		add_pod(&world, "c", 8, GANG("2"), "");
		world.memory.fail_at = world.memory.calls + at;
		rc = pods_round_decide(&world.conf, &world.mirror, &world.usage, world.now_ns,
				       &world.arena, &world.plan, &world.err);
		if (rc)
			CHECK_INT(rc, -ENOMEM);
		world.memory.fail_at = 0;
		close_world(&world);
	}
}
