/*
 * An array that is submitted at once is decided about as the same jobs submitted one by one: two clusters are told the same, one of them in ranges, and
 * everything that can be seen of them is compared after every step, under every backfill, several orders, with and without preemption.
 */
#include "../unit/small_cluster.h"

#include <strata/rng.h>

#include <errno.h>
#include <stdlib.h>

enum { JOBS_MAX = 600, NODES = 4, STEPS = 220, ARRAY_MAX = 20 };

struct world {
	struct strata_rng rng;
	struct strata_cluster
		*clusters[2]; /* the first takes arrays at once, the second one by one */
	int64_t now_s;
	uint64_t next_id;
	uint64_t last_array;
	int64_t ends_s[JOBS_MAX + ARRAY_MAX +
		       1]; /* when a running job will end; 0: it is not running */
};

static uint64_t below(struct world *world, uint64_t bound)
{
	return strata_rng_below(&world->rng, bound);
}

static void open_world(struct world *world, const char *order, const char *backfill,
		       const char *victims, uint64_t seed)
{
	*world = (struct world){ .next_id = 1 };
	strata_rng_init(&world->rng, seed, 0);
	small_victims = victims;
	small_open(order, backfill, NODES, 4);
	world->clusters[0] = small;
	small = NULL;
	/* the arena has the options of both */
	struct strata_cluster_conf conf = world->clusters[0]->conf;

	CHECK_OK(strata_cluster_new(&conf, &small_memory, &world->clusters[1], &err));
	for (uint32_t i = 0; i < NODES; i++) {
		const struct node *node = &world->clusters[0]->nodes[i];
		struct strata_node_conf like = { .name = node->name,
						 .cpu_milli = 8000,
						 .memory_bytes = INT64_C(64) << 30,
						 .gpu_count = 4,
						 .gpu_type = "a100",
						 .numa = { 0, 0, 1, 1 },
						 .features = node->node_type->features,
						 .partitions = node->node_type->partitions };

		CHECK_OK(strata_cluster_add_node(world->clusters[1], &like, NULL, &err));
	}
}

static void close_world(struct world *world)
{
	strata_cluster_free(world->clusters[1]);
	small = world->clusters[0];
	small_close();
	small_victims = NULL;
}

/* ---- what is told to both ---- */

static int submit_singly(struct world *world, const struct strata_job_request *request)
{
	struct strata_job_request one = *request;
	uint32_t count = request->array_count ? request->array_count : 1, i = 0;
	int rc = 0;

	one.array_count = 0;
	for (; rc == 0 && i < count; i++) {
		rc = strata_cluster_submit(world->clusters[1], &one, world->now_s * SECOND, NULL);
		one.id++;
		one.array_index += request->array_step;
	}
	for (i -= rc != 0; rc && i-- > 0;)
		CHECK_OK(strata_cluster_withdraw(world->clusters[1], request->id + i, &err));
	return rc;
}

static void choose_dependency(struct world *world, struct strata_job_request *request,
			      struct strata_dependency *dependency)
{
	static const enum strata_dependency_kind kinds[] = { STRATA_AFTER_ANY, STRATA_AFTER_OK,
							     STRATA_AFTER_NOT_OK, STRATA_AFTER_CORR,
							     STRATA_SINGLETON };

	*dependency = (struct strata_dependency){ .kind = kinds[below(world, 5)],
						  .job = 1 + below(world, world->next_id) };
	if (world->last_array && below(world, 2)) {
		dependency->job = world->last_array;
		dependency->array = true;
	}
	if (dependency->kind == STRATA_SINGLETON)
		dependency->job = 0;
	request->dependencies = dependency;
	request->dependency_count = 1;
	request->cancel_if_never = below(world, 2);
}

static void submit(struct world *world)
{
	static const char *const users[] = { "ann", "bob", "cleo" };
	struct strata_job_request request = small_request(
		world->next_id, 1 + (int64_t)below(world, 8), 1 + (int64_t)below(world, 300));
	struct strata_dependency dependency;

	if (world->next_id > JOBS_MAX)
		return;
	request.user = users[below(world, 3)];
	request.name = below(world, 2) ? "train" : NULL;
	request.band = (enum strata_band)below(world, 3);
	request.gpus = (uint32_t)below(world, 5);
	request.requeue = below(world, 2);
	request.preemptible = below(world, 2);
	request.held = below(world, 5) == 0;
	request.features = below(world, 8) == 0 ? "none such" : NULL;
	if (below(world, 6) == 0)
		request.begin_ns = (world->now_s + (int64_t)below(world, 100)) * SECOND;
	if (below(world, 5) == 0)
		choose_dependency(world, &request, &dependency);
	if (below(world, 4)) {
		request.array = world->next_id;
		request.array_index = (uint32_t)below(world, 5);
		request.array_limit = below(world, 3) ? 0 : 1 + (uint32_t)below(world, 4);
		request.array_count = 1 + (uint32_t)below(world, ARRAY_MAX);
		request.array_step = 1 + (uint32_t)below(world, 3);
	}
	int rc = strata_cluster_submit(world->clusters[0], &request, world->now_s * SECOND, &err);

	CHECK_INT(submit_singly(world, &request), rc);
	if (rc == 0 && request.array)
		world->last_array = request.array;
	world->next_id += request.array_count ? request.array_count : 1;
}

/* One job, or several at once: to the second cluster each of them is a job of its own. */
static int tell(struct world *world, struct strata_cluster *cluster, int what, uint64_t id,
		uint64_t how)
{
	uint32_t count = how % 3 ? 1 : 1 + (uint32_t)(how / 3 % ARRAY_MAX);
	const struct strata_job_change change = { .what = 1u << how % 4,
						  .band = (enum strata_band)(how / 4 % 3),
						  .priority = (int64_t)(how % 5),
						  .begin_ns = world->now_s * SECOND,
						  .time_limit_ns = (int64_t)(1 + how % 100) *
								   SECOND };
	int64_t now_ns = world->now_s * SECOND;

	switch (what) {
	case 0:
		return strata_cluster_cancel_range(cluster, id, count, now_ns, NULL);
	case 1:
		return strata_cluster_hold_range(cluster, id, count, how % 2, now_ns, NULL);
	case 2:
		return strata_cluster_ended(cluster, id, STRATA_OUTCOME_FAILED, now_ns, NULL);
	case 3:
		return strata_cluster_change_range(cluster, id, count, &change, now_ns, NULL);
	case 4:
		return strata_cluster_stop(cluster, id, (enum strata_stop)(how % 3), now_ns, NULL);
	case 5:
		return strata_cluster_forget_range(cluster, id, count, NULL);
	default:
		return strata_cluster_set_node(cluster, (uint32_t)(id % NODES),
					       (enum strata_node_state)(how % 3), now_ns, NULL);
	}
}

static void disturb(struct world *world)
{
	uint64_t id = 1 + below(world, world->next_id), how = below(world, 1000);
	int what = (int)below(world, 7);
	int rc = tell(world, world->clusters[0], what, id, how);

	CHECK_INT(tell(world, world->clusters[1], what, id, how), rc);
}

static void end_due(struct world *world)
{
	for (uint64_t id = 1; id < world->next_id; id++) {
		struct strata_job_view view;

		if (world->ends_s[id] == 0 || world->ends_s[id] > world->now_s)
			continue;
		world->ends_s[id] = 0;
		if (strata_cluster_job(world->clusters[0], id, &view, NULL) ||
		    view.state != STRATA_JOB_RUNNING)
			continue;
		for (int i = 0; i < 2; i++)
			CHECK_OK(strata_cluster_ended(world->clusters[i], id,
						      view.stopping ? STRATA_OUTCOME_STOPPED
								    : STRATA_OUTCOME_COMPLETED,
						      world->now_s * SECOND, &err));
	}
}

/* ---- what is seen of both ---- */

static int by_job(const void *a_any, const void *b_any)
{
	const struct strata_effect *a = a_any, *b = b_any;

	return a->job < b->job ? -1 : a->job > b->job;
}

/* What was lost with a node is told in the order in which the cluster came to know the jobs, which is not the same. */
static void sort_lost(struct strata_effect *effects, size_t count)
{
	size_t lost = 0;

	while (lost < count && (effects[lost].kind == STRATA_EFFECT_LOST ||
				effects[lost].kind == STRATA_EFFECT_ENDED))
		lost++;
	if (lost)
		qsort(effects, lost, sizeof(*effects), by_job);
}

static void compare_effects(const struct strata_effect *a, const struct strata_effect *b)
{
	CHECK_INT(a->kind, b->kind);
	CHECK_INT(a->job, b->job);
	CHECK_INT(a->state, b->state);
	CHECK_INT(a->reason, b->reason);
	CHECK_INT(a->attempt, b->attempt);
	CHECK_INT(a->mode, b->mode);
	CHECK_INT(a->preemptor, b->preemptor);
	CHECK_INT(a->piece_count, b->piece_count);
	for (uint32_t i = 0; i < a->piece_count; i++) {
		CHECK_INT(a->pieces[i].node, b->pieces[i].node);
		CHECK_INT(a->pieces[i].gpu_mask, b->pieces[i].gpu_mask);
	}
}

static void pass(struct world *world)
{
	const struct strata_effect *effects[2];
	size_t counts[2];

	for (int i = 0; i < 2; i++) {
		CHECK_OK(strata_cluster_pass(world->clusters[i], world->now_s * SECOND,
					     &small_arena, &effects[i], &counts[i], &err));
		sort_lost((struct strata_effect *)effects[i], counts[i]);
	}
	CHECK_INT(counts[0], counts[1]);
	for (size_t i = 0; i < counts[0]; i++) {
		uint64_t id = effects[0][i].job;

		compare_effects(&effects[0][i], &effects[1][i]);
		if (effects[0][i].kind != STRATA_EFFECT_START &&
		    effects[0][i].kind != STRATA_EFFECT_RESUME)
			continue;
		world->ends_s[id] = world->now_s + 1 + (int64_t)below(world, 200);
		for (int k = 0; k < 2; k++)
			CHECK_OK(strata_cluster_started(world->clusters[k], id,
							world->now_s * SECOND, &err));
	}
	CHECK_INT(strata_cluster_next_ns(world->clusters[0]),
		  strata_cluster_next_ns(world->clusters[1]));
}

static void compare_jobs(const struct world *world)
{
	for (uint64_t id = 1; id <= world->next_id; id++) {
		struct strata_job_view views[2];
		int rc = strata_cluster_job(world->clusters[0], id, &views[0], NULL);

		CHECK_INT(strata_cluster_job(world->clusters[1], id, &views[1], NULL), rc);
		if (rc)
			continue;
		CHECK_INT(views[0].id, id);
		CHECK_INT(views[0].state, views[1].state);
		CHECK_INT(views[0].reason, views[1].reason);
		CHECK_INT(views[0].attempt, views[1].attempt);
		CHECK_INT(views[0].stopping, views[1].stopping);
		CHECK_INT(views[0].submit_ns, views[1].submit_ns);
		CHECK_INT(views[0].end_ns, views[1].end_ns);
		CHECK_INT(views[0].promised_ns, views[1].promised_ns);
		CHECK_INT(views[0].expected_end_ns, views[1].expected_end_ns);
	}
}

static void compare_counts(const struct world *world)
{
	static const char *const users[] = { "ann", "bob", "cleo" };
	struct strata_cluster_metrics metrics[2];

	for (int i = 0; i < 2; i++)
		strata_cluster_metrics(world->clusters[i], &metrics[i]);
	for (int i = 0; i < STRATA_JOB_STATE_COUNT; i++)
		CHECK_INT(metrics[0].jobs[i], metrics[1].jobs[i]);
	CHECK_INT(metrics[0].job_groups, metrics[1].job_groups);
	for (int i = 0; i < 3; i++) {
		struct strata_usage_view a, b;

		strata_cluster_user(world->clusters[0], users[i], &a);
		strata_cluster_user(world->clusters[1], users[i], &b);
		CHECK_INT(a.waiting, b.waiting);
		CHECK_INT(a.jobs, b.jobs);
	}
}

static void compare_forecasts(const struct world *world)
{
	const struct strata_forecast *lists[2];
	size_t counts[2];

	for (int i = 0; i < 2; i++)
		CHECK_OK(strata_cluster_forecast(world->clusters[i], 25, &small_arena, &lists[i],
						 &counts[i], &err));
	CHECK_INT(counts[0], counts[1]);
	for (size_t i = 0; i < counts[0]; i++) {
		CHECK_INT(lists[0][i].job, lists[1][i].job);
		CHECK_INT(lists[0][i].start_ns, lists[1][i].start_ns);
		CHECK_INT(lists[0][i].node, lists[1][i].node);
		CHECK_INT(lists[0][i].promised, lists[1][i].promised);
	}
}

static void live(const char *order, const char *backfill, const char *victims, uint64_t seed)
{
	struct strata_limits limits = { .jobs = 6 };
	struct world world;

	open_world(&world, order, backfill, victims, seed);
	for (int i = 0; i < 2 && seed % 2; i++)
		CHECK_OK(strata_cluster_set_user(world.clusters[i], "bob", NULL, 1, &limits, &err));
	for (int step = 0; step < STEPS; step++) {
		if (below(&world, 3) == 0)
			submit(&world);
		if (below(&world, 3) == 0)
			disturb(&world);
		if (below(&world, 2)) {
			end_due(&world);
			pass(&world);
			compare_jobs(&world);
			compare_counts(&world);
			compare_forecasts(&world);
		}
		world.now_s += (int64_t)below(&world, 20);
	}
	close_world(&world);
}

TEST(ranges_are_decided_about_as_single_jobs)
{
	static const char *const orders[] = { "fifo", "fair_share", "sjf" };

	for (const struct strata_class *const *at = strata_backfill_kind.classes; *at; at++)
		for (int o = 0; o < 3; o++)
			for (uint64_t seed = 1; seed <= 12; seed++)
				live(orders[o], (*at)->name, seed % 3 ? NULL : "least_lost", seed);
}
