#include "cluster_sample.h"

static int quality(const struct strata_cluster *cluster, const struct strata_piece *piece)
{
	return strata_placement_quality(cluster, piece, 1);
}

TEST(one_node_is_better_than_two_and_one_domain_better_than_two)
{
	struct strata_cluster *cluster = sample_cluster((struct strata_spec){ 0 }, NULL);
	struct strata_piece pieces[4];

	sample_nodes(cluster, 4, 8);
	pieces[0] = sample_take(cluster, 0, (struct strata_need){ .gpus = 4 });
	CHECK_INT(quality(cluster, &pieces[0]), 100 + 10 + 30);
	pieces[1] = sample_take(cluster, 1, (struct strata_need){ .gpus = 6 });
	CHECK_INT(quality(cluster, &pieces[1]), 100 + 15);
	pieces[2] = sample_take(cluster, 0, (struct strata_need){ .gpus = 4 });
	CHECK_INT(quality(cluster, &pieces[2]), 150);
	pieces[3] = sample_take(cluster, 2, (struct strata_need){ .gpus = 8 });
	CHECK_INT(quality(cluster, &pieces[3]), 120);
	CHECK_INT(strata_placement_quality(cluster, pieces, 2), 50);
	CHECK_INT(strata_placement_quality(cluster, pieces, 0), 0);
	sample_free(cluster);
}

TEST(shares_and_jobs_without_gpus_are_never_apart)
{
	struct strata_cluster *cluster = sample_cluster((struct strata_spec){ 0 }, NULL);
	struct strata_piece piece;

	sample_nodes(cluster, 1, 8);
	sample_nodes(cluster, 1, 0);
	piece = sample_take(cluster, 0, (struct strata_need){ .gpu_milli = 200 });
	CHECK_INT(quality(cluster, &piece), 131); /* 0.5 of 20, rounded */
	piece = sample_take(cluster, 1, (struct strata_need){ .cpu_milli = 16000 });
	CHECK_INT(quality(cluster, &piece), 140);
	piece = sample_take(cluster, 1, (struct strata_need){ .cpu_milli = 16000 });
	CHECK_INT(quality(cluster, &piece), 150);
	sample_free(cluster);
}
