#include "cluster_sample.h"
#include "random.h"

enum { NODES = 300 };

/* A placement whose score depends on the need and often ties. */
static uint64_t scored;

static double rest_score(const void *conf, void *state, const struct strata_candidate *node,
			 const struct strata_need *need, uint32_t *ret_gpu)
{
	(void)conf, (void)state, (void)ret_gpu;
	scored++;
	return (double)((node->room->cpu_milli - need->cpu_milli) % 7);
}

static const struct strata_placement_class rest_class = {
	.base = { .name = "rest", .summary = "what is left modulo 7" },
	.keeps_together = true,
	.score = rest_score,
};

static struct strata_cluster *rest_cluster(uint32_t node_count)
{
	struct strata_spec spec = { .cls = &rest_class.base };
	struct strata_cluster *cluster = sample_cluster(spec, NULL);

	sample_nodes(cluster, node_count, 8);
	return cluster;
}

/* The row of the best group, found by looking at all nodes. -1: none. */
static int64_t best_row(struct strata_cluster *cluster, const struct strata_need *need)
{
	int64_t best = -1;
	double best_score = 0;
	bool best_apart = false;

	for (uint32_t row = 0; row < cluster->node_count; row++) {
		struct node *node = &cluster->nodes[row];

		if (!node->group || !room_fits(&node->room, 8, need))
			continue;
		double score = (double)((node->room.cpu_milli - need->cpu_milli) % 7);
		bool apart = need->gpus > 1 &&
			     !room_together(&node->room, 8, node->node_type->numa, need->gpus);

		if (best < 0 || score < best_score || (score == best_score && apart < best_apart)) {
			best = row;
			best_score = score;
			best_apart = apart;
		}
	}
	return best;
}

TEST(the_best_is_the_best_however_nodes_change)
{
	struct strata_cluster *cluster = rest_cluster(NODES);
	struct resource_request *resource_requests[5];
	struct strata_piece pieces[NODES] = { 0 };
	uint64_t seed = 11;
	size_t found = 0;

	for (uint32_t i = 0; i < 5; i++) {
		resource_requests[i] = sample_resources(cluster, (struct strata_job_request){
									 .cpu_milli = 100 * i,
									 .gpus = i,
								 });
		CHECK(!score_cache_get(cluster, resource_requests[i])); /* the first time */
		CHECK(score_cache_get(cluster, resource_requests[i]));
	}
	for (int step = 0; step < 6000; step++) {
		uint32_t row = (uint32_t)random_below(&seed, NODES);
		struct resource_request *resources =
			resource_requests[random_below(&seed, random_below(&seed, 400) ? 4 : 5)];

		if (pieces[row].cpu_milli) {
			sample_give(cluster, &pieces[row]);
			pieces[row].cpu_milli = 0;
		} else {
			struct strata_need need = { 1 + (int64_t)random_below(&seed, 5000), 0,
						    (uint32_t)random_below(&seed, 9), 0 };

			pieces[row] = sample_take(cluster, row, need);
		}
		if (random_below(&seed, 3))
			continue;
		struct score_cache *score_cache = score_cache_get(cluster, resources);
		uint32_t best = score_cache_best(cluster, score_cache);
		int64_t want = best_row(cluster, &resources->need);

		if (best == SCORE_CACHE_NONE)
			CHECK_INT(want, -1);
		else
			CHECK_INT(cluster->group_index.entries[best].row, want);
		found += best != SCORE_CACHE_NONE;
	}
	CHECK(found > 500);
	for (int i = 0; i < 5; i++)
		resources_put(cluster, resource_requests[i]);
	CHECK_INT(cluster->score_cache_bytes, 0);
	sample_free(cluster);
}

TEST(a_group_is_scored_once_however_often_it_is_looked_at)
{
	struct strata_cluster *cluster = rest_cluster(NODES);
	struct resource_request *resources =
		sample_resources(cluster, (struct strata_job_request){ .gpus = 1 });

	for (uint32_t row = 0; row < NODES; row++)
		sample_take(cluster, row, (struct strata_need){ .cpu_milli = row });
	score_cache_get(cluster, resources);
	scored = 0;
	for (int i = 0; i < 10; i++)
		CHECK_INT(cluster->group_index
				  .entries[score_cache_best(cluster,
							    score_cache_get(cluster, resources))]
				  .row,
			  best_row(cluster, &resources->need));
	CHECK_INT(scored, NODES);
	sample_take(cluster, 5, (struct strata_need){ .cpu_milli = 1000 });
	score_cache_get(cluster, resources);
	CHECK_INT(scored, NODES + 1);
	resources_put(cluster, resources);
	sample_free(cluster);
}

TEST(a_score_cache_far_behind_starts_again)
{
	struct strata_cluster *cluster = rest_cluster(20);
	struct resource_request *resources =
		sample_resources(cluster, (struct strata_job_request){ .gpus = 1 });
	uint64_t seed = 2;

	score_cache_get(cluster, resources);
	score_cache_get(cluster, resources);
	for (int i = 0; i < 500; i++)
		sample_take(cluster, (uint32_t)random_below(&seed, 20),
			    (struct strata_need){ .cpu_milli = (int64_t)random_below(&seed, 50) });
	uint32_t best = score_cache_best(cluster, score_cache_get(cluster, resources));

	CHECK_INT(cluster->group_index.entries[best].row, best_row(cluster, &resources->need));
	resources_put(cluster, resources);
	sample_free(cluster);
}

TEST(all_score_caches_together_have_a_limit_and_the_one_longest_unused_goes)
{
	enum { MANY = 40000, ASKS = 120 };
	struct strata_cluster *cluster = rest_cluster(MANY);
	struct resource_request *resource_requests[ASKS];
	size_t one, fit;

	for (uint32_t i = 0; i < ASKS; i++)
		resource_requests[i] =
			sample_resources(cluster, (struct strata_job_request){ .cpu_milli = i });
	score_cache_get(cluster, resource_requests[0]);
	CHECK(score_cache_get(cluster, resource_requests[0]));
	one = cluster->score_cache_bytes;
	fit = CLUSTER_SCORE_CACHES_BYTES_MAX / one;
	CHECK(fit < ASKS - 2);
	for (size_t i = 1; i < fit; i++) {
		score_cache_get(cluster, resource_requests[i]);
		CHECK(score_cache_get(cluster, resource_requests[i]));
	}
	CHECK_INT(cluster->score_cache_bytes, fit * one);
	CHECK(resource_requests[0]->score_cache && resource_requests[1]->score_cache);
	score_cache_get(cluster, resource_requests[0]); /* now asks[1] is the one longest unused */
	score_cache_get(cluster, resource_requests[fit]);
	CHECK(score_cache_get(cluster, resource_requests[fit]));
	CHECK_INT(cluster->score_cache_bytes, fit * one);
	CHECK(resource_requests[0]->score_cache && !resource_requests[1]->score_cache &&
	      resource_requests[2]->score_cache);
	/* sought so long ago that every score cache was used since: not worth another's */
	for (size_t i = 2; i <= fit; i++)
		score_cache_get(cluster, resource_requests[i]);
	score_cache_get(cluster, resource_requests[0]);
	CHECK(!score_cache_get(cluster, resource_requests[1]));
	CHECK(score_cache_get(cluster, resource_requests[1]));
	for (uint32_t i = 0; i < ASKS; i++)
		resources_put(cluster, resource_requests[i]);
	sample_free(cluster);
}

TEST(without_memory_there_is_no_score_cache)
{
	struct strata_cluster *cluster = rest_cluster(10);
	struct resource_request *resources =
		sample_resources(cluster, (struct strata_job_request){ .gpus = 1 });

	score_cache_get(cluster, resources);
	sample_memory.fail_at = sample_memory.calls + 1;
	CHECK(!score_cache_get(cluster, resources));
	CHECK(score_cache_get(cluster, resources));
	sample_memory.fail_at = 0;
	resources_put(cluster, resources);
	sample_free(cluster);
}
