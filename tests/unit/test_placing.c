#include "cluster_sample.h"
#include "random.h"

#include <math.h>

enum { NODES = 150 };

static struct spot spots[NODES];

static uint32_t find(struct strata_cluster *cluster, struct resource_request *resources)
{
	return placing_find(cluster, resources, 0, NULL, spots);
}

/* Where one ask of this request would go; -1: nowhere. */
static int find_row(struct strata_cluster *cluster, struct strata_job_request request)
{
	struct resource_request *resources = sample_resources(cluster, request);
	uint32_t count = find(cluster, resources);

	resources_put(cluster, resources);
	return count ? (int)spots[0].node->row : -1;
}

/* These GPUs of a node are taken. */
static void take_gpus(struct strata_cluster *cluster, uint32_t row, uint16_t mask)
{
	struct node *node = &cluster->nodes[row];

	node_detach(cluster, node);
	room_take(&node->room, &(struct strata_piece){ .gpu_mask = mask, .gpu_milli = 1000 });
	node_attach(cluster, node);
}

TEST(best_fit_takes_the_fullest_then_one_domain_then_the_lowest_row)
{
	struct strata_cluster *cluster = sample_cluster(sample_placement("best_fit"), NULL);
	struct strata_job_request two = { .gpus = 2 };

	sample_nodes(cluster, 5, 4);
	CHECK_INT(find_row(cluster, two), 0);
	sample_take(cluster, 3, (struct strata_need){ .cpu_milli = 1000 });
	CHECK_INT(find_row(cluster, two), 3);
	/* nodes 1 and 2 have two GPUs left each, but on 1 they are in two domains */
	take_gpus(cluster, 1, 5);
	take_gpus(cluster, 2, 3);
	CHECK_INT(find_row(cluster, two), 2);
	CHECK_INT(find_row(cluster, (struct strata_job_request){ .gpus = 1 }), 1);
	sample_free(cluster);
}

TEST(first_fit_looks_at_nothing_but_the_row)
{
	struct strata_cluster *cluster = sample_cluster(sample_placement("first_fit"), NULL);

	sample_nodes(cluster, 3, 4);
	take_gpus(cluster, 0, 5);
	CHECK_INT(find_row(cluster, (struct strata_job_request){ .gpus = 2 }), 0);
	CHECK_INT(spots[0].piece.gpu_mask, 10);
	CHECK_INT(find_row(cluster, (struct strata_job_request){ .gpus = 3 }), 1);
	sample_free(cluster);
}

TEST(most_free_and_spread_take_the_emptiest)
{
	struct strata_cluster *cluster = sample_cluster(sample_placement("most_free"), NULL);

	sample_nodes(cluster, 2, 4);
	sample_nodes(cluster, 1, 8);
	sample_take(cluster, 2, (struct strata_need){ .gpus = 3 });
	CHECK_INT(find_row(cluster, (struct strata_job_request){ .gpus = 1 }), 2);
	sample_free(cluster);
	cluster = sample_cluster(sample_placement("spread"), NULL);
	sample_nodes(cluster, 2, 4);
	sample_nodes(cluster, 1, 8);
	sample_take(cluster, 2, (struct strata_need){ .gpus = 3 });
	CHECK_INT(find_row(cluster, (struct strata_job_request){ .gpus = 1 }), 0);
	sample_free(cluster);
}

TEST(an_exclusive_job_gets_an_empty_node_that_is_large_enough)
{
	struct strata_cluster *cluster = sample_cluster(sample_placement("best_fit"), NULL);
	struct strata_job_request request = { .gpus = 6, .exclusive = true };

	sample_nodes(cluster, 2, 4);
	sample_nodes(cluster, 2, 8);
	CHECK_INT(find_row(cluster, request), 2); /* the small ones are emptier of GPUs */
	CHECK_INT(spots[0].piece.gpu_mask, 0xff);
	CHECK_INT(spots[0].piece.cpu_milli, 32000);
	sample_take(cluster, 2, (struct strata_need){ .cpu_milli = 1 });
	CHECK_INT(find_row(cluster, request), 3);
	sample_take(cluster, 3, (struct strata_need){ .gpu_milli = 1 });
	CHECK_INT(find_row(cluster, request), -1);
	request.gpus = 4;
	CHECK_INT(find_row(cluster, request), 0);
	sample_free(cluster);
}

TEST(several_nodes_come_all_or_none_and_the_first_take_the_odd_tasks)
{
	struct strata_cluster *cluster = sample_cluster(sample_placement("best_fit"), NULL);
	struct resource_request *resources;

	sample_nodes(cluster, 4, 4);
	sample_take(cluster, 3, (struct strata_need){ .gpus = 1 });
	resources = sample_resources(
		cluster, (struct strata_job_request){ .tasks = 7, .nodes = 3, .gpus = 1 });
	CHECK_INT(find(cluster, resources), 3);
	CHECK_INT(spots[0].node->row, 3);
	CHECK_INT(spots[0].piece.tasks, 3);
	CHECK_INT(spots[1].node->row, 0);
	CHECK_INT(spots[1].piece.tasks, 2);
	CHECK_INT(spots[2].node->row, 1);
	CHECK_INT(__builtin_popcount(spots[2].piece.gpu_mask), 2);
	sample_take(cluster, 1, (struct strata_need){ .gpus = 3 });
	sample_take(cluster, 2, (struct strata_need){ .gpus = 3 });
	CHECK_INT(find(cluster, resources), 0);
	resources_put(cluster, resources);
	resources = sample_resources(
		cluster, (struct strata_job_request){ .tasks = 9, .nodes = 5, .gpus = 1 });
	CHECK_INT(find(cluster, resources), 0);
	resources_put(cluster, resources);
	sample_free(cluster);
}

TEST(tasks_go_to_one_node_or_to_as_few_as_will_do)
{
	struct strata_cluster *cluster = sample_cluster(sample_placement("best_fit"), NULL);
	struct resource_request *resources;

	sample_nodes(cluster, 3, 4);
	sample_nodes(cluster, 1, 8);
	sample_take(cluster, 1, (struct strata_need){ .gpus = 1 });
	resources = sample_resources(cluster, (struct strata_job_request){ .tasks = 4, .gpus = 1 });
	CHECK_INT(find(cluster, resources), 1);
	CHECK_INT(spots[0].node->row, 0);
	resources_put(cluster, resources);
	resources =
		sample_resources(cluster, (struct strata_job_request){ .tasks = 14, .gpus = 1 });
	CHECK_INT(find(cluster, resources), 3);
	CHECK_INT(spots[0].node->row, 3);
	CHECK_INT(spots[0].piece.tasks, 8);
	CHECK_INT(spots[1].node->row, 0);
	CHECK_INT(spots[2].piece.tasks, 2);
	resources_put(cluster, resources);
	resources =
		sample_resources(cluster, (struct strata_job_request){ .tasks = 20, .gpus = 1 });
	CHECK_INT(find(cluster, resources), 0);
	resources_put(cluster, resources);
	sample_free(cluster);
}

TEST(more_than_can_be_counted_fits_nowhere)
{
	struct strata_cluster *cluster = sample_cluster(sample_placement("best_fit"), NULL);
	struct resource_request *resources;

	sample_nodes(cluster, 2, 4);
	resources = sample_resources(
		cluster, (struct strata_job_request){ .tasks = 1u << 31, .nodes = 1, .gpus = 2 });
	CHECK_INT(find(cluster, resources), 0);
	resources_put(cluster, resources);
	resources = sample_resources(
		cluster,
		(struct strata_job_request){ .tasks = 4, .nodes = 1, .cpu_milli = INT64_MAX / 2 });
	CHECK_INT(find(cluster, resources), 0);
	resources_put(cluster, resources);
	sample_free(cluster);
}

/* ---- a class that talks nonsense ---- */

static double nonsense_score(const void *conf, void *state, const struct strata_candidate *node,
			     const struct strata_need *need, uint32_t *ret_gpu)
{
	(void)conf, (void)state, (void)need;
	*ret_gpu = node->room->cpu_milli % 2 ? 1 : 99;
	return node->room->cpu_milli % 2 ? NAN : 5;
}

static const struct strata_placement_class nonsense_class = {
	.base = { .name = "nonsense", .summary = "not a number" },
	.score = nonsense_score,
};

TEST(a_class_that_talks_nonsense_is_not_believed)
{
	struct strata_spec spec = { .cls = &nonsense_class.base };
	struct strata_cluster *cluster = sample_cluster(spec, NULL);
	struct strata_job_request half = { .gpu_milli = 500 };

	sample_nodes(cluster, 3, 2);
	sample_take(cluster, 0, (struct strata_need){ .cpu_milli = 1 });
	CHECK_INT(find_row(cluster, half), 1); /* a number beats none */
	CHECK_INT(spots[0].piece.gpu_mask, 1); /* there is no GPU 99 */
	sample_take(cluster, 1, (struct strata_need){ .cpu_milli = 1 });
	sample_take(cluster, 2, (struct strata_need){ .cpu_milli = 1, .gpus = 1 });
	sample_take(cluster, 2, (struct strata_need){ .gpu_milli = 800 });
	CHECK_INT(find_row(cluster, half), 0);
	CHECK_INT(spots[0].piece.gpu_mask, 2);
	sample_free(cluster);
}

/* ---- filters and memory of what did not fit ---- */

static bool allow_some(struct strata_cluster *cluster, struct node *node,
		       const struct strata_need *need, void *context)
{
	const bool *allowed = context;

	(void)cluster, (void)need;
	return allowed[node->row];
}

/* The row that should win among allowed nodes, by asking about each. */
static int64_t want_row(struct strata_cluster *cluster, const struct resource_request *resources,
			const bool *allowed)
{
	int64_t best = -1;
	double best_score = 0;
	bool best_apart = false;

	for (uint32_t row = 0; row < cluster->node_count; row++) {
		struct node *node = &cluster->nodes[row];

		if (!allowed[row] || !node->group ||
		    !room_fits(&node->room, node->node_type->gpu_count, &resources->need))
			continue;
		struct strata_need seen = cluster->placement->ignores_need
						  ? (struct strata_need){ 0 }
						  : resources->need;
		double score = placing_score(cluster, node->group, &seen, NULL);
		bool apart = placing_apart(cluster, node->group, &resources->need);

		if (best < 0 || score < best_score || (score == best_score && apart < best_apart)) {
			best = row;
			best_score = score;
			best_apart = apart;
		}
	}
	return best;
}

/* Jobs of a few sorts come, leave and do not fit; each is looked for with some nodes forbidden, and without that only where
 * something has changed since it last did not fit. */
static void churn(struct strata_cluster *cluster, uint64_t seed)
{
	struct resource_request *resource_requests[8];
	uint64_t failed[8] = { 0 };
	struct strata_piece pieces[NODES] = { 0 };
	bool all[NODES], some[NODES];

	memset(all, true, sizeof(all));
	for (uint32_t i = 0; i < 8; i++)
		resource_requests[i] =
			sample_resources(cluster, (struct strata_job_request){
							  .cpu_milli = 3000 * (i % 4),
							  .gpus = i % 2 ? 0 : 1 + i / 2,
							  .gpu_milli = i % 2 ? 100 * i : 0,
						  });
	for (int step = 0; step < 1500; step++) {
		uint32_t row = (uint32_t)random_below(&seed, NODES),
			 i = (uint32_t)random_below(&seed, 8);

		if (pieces[row].cpu_milli && random_below(&seed, 3) == 0) {
			sample_give(cluster, &pieces[row]);
			pieces[row].cpu_milli = 0;
		}
		if (!pieces[row].cpu_milli)
			pieces[row] = sample_take(
				cluster, row,
				(struct strata_need){ 30000 + (int64_t)random_below(&seed, 2000), 0,
						      (uint32_t)random_below(&seed, 5), 0 });
		for (uint32_t k = 0; k < NODES; k++)
			some[k] = random_below(&seed, 8) == 0;
		struct placing_rules rules = { NULL, allow_some, some };
		uint32_t count = placing_find(cluster, resource_requests[i], 0, &rules, spots);

		CHECK_INT(count ? (int64_t)spots[0].node->row : -1,
			  want_row(cluster, resource_requests[i], some));
		count = placing_find(cluster, resource_requests[i], failed[i], NULL, spots);
		CHECK_INT(count ? (int64_t)spots[0].node->row : -1,
			  want_row(cluster, resource_requests[i], all));
		failed[i] = count ? 0 : cluster->version;
	}
	for (int i = 0; i < 8; i++)
		resources_put(cluster, resource_requests[i]);
}

TEST(filters_and_what_is_remembered_never_change_the_answer)
{
	static const char *const names[] = { "best_fit", "fgd", "first_fit", "most_free",
					     "spread" };
	struct strata_need needs[2] = { { 3000, 0, 0, 300 }, { 6000, 0, 2, 0 } };
	double parts[2] = { 0.7, 0.3 };
	struct strata_mix mix = { needs, NULL, parts, 2 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct strata_cluster *cluster = sample_cluster(sample_placement(names[i]), &mix);

		sample_nodes(cluster, NODES / 2, 4);
		sample_nodes(cluster, NODES - NODES / 2, 8);
		churn(cluster, i + 1);
		sample_free(cluster);
	}
}
