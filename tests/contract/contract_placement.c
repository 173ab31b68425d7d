/* What every placement must keep: it only ranks. Whatever it says, jobs go where they fit, and the same question has the same answer. */
#include "../unit/small_cluster.h"

#include "core/class.h"

#include <strata/rng.h>

#include <math.h>

static struct strata_candidate candidate(const struct strata_room *room, const struct shape *shape)
{
	return (struct strata_candidate){ room, &shape->whole, shape->gpu_count, "a100",
					  shape->numa };
}

TEST(scores_are_finite_and_repeatable)
{
	struct strata_rng rng;

	strata_rng_init(&rng, 1, 0);
	small_open("fifo", "easy", 1, 8);
	for (const struct strata_class *const *at = strata_placement_kind.classes; *at; at++) {
		const struct strata_placement_class *placement =
			(const struct strata_placement_class *)*at;
		struct strata_spec spec = small_spec(&strata_placement_kind, (*at)->name);

		for (int i = 0; i < 1000; i++) {
			struct strata_room room = small->nodes[0].room;
			struct strata_need need = { .cpu_milli =
							    (int64_t)strata_rng_below(&rng, 4000) };

			room.cpu_milli -= (int64_t)strata_rng_below(&rng, 4001);
			for (int k = 1; k < 8; k++)
				room.gpu_milli[k] = (uint16_t)strata_rng_below(&rng, 1001);
			if (i % 2)
				need.gpu_milli = 1 + (uint32_t)strata_rng_below(&rng, 999);
			else
				need.gpus = (uint32_t)strata_rng_below(&rng, 2);
			struct strata_candidate node = candidate(&room, small->nodes[0].shape);
			uint32_t first = room_shared_gpu(&room, 8, need.gpu_milli), second = first;
			double score = placement->score(spec.conf, NULL, &node, &need, &first);

			CHECK(isfinite(score));
			CHECK(score == placement->score(spec.conf, NULL, &node, &need, &second));
			CHECK_INT(first, second);
			if (need.gpu_milli)
				CHECK(first < 8 && room.gpu_milli[first] >= need.gpu_milli);
		}
	}
	small_close();
}

/* Fills a cluster under every placement: as many one-GPU jobs run as there are GPUs. */
TEST(no_placement_leaves_a_whole_gpu_unused_or_uses_one_twice)
{
	for (const struct strata_class *const *at = strata_placement_kind.classes; *at; at++) {
		struct strata_cluster_conf conf = { 0 };

		small_open("fifo", "easy", 0, 0);
		strata_cluster_free(small);
		conf.placement = small_spec(&strata_placement_kind, (*at)->name);
		CHECK_OK(strata_cluster_new(&conf, &small_memory, &small, &err));
		for (int i = 0; i < 5; i++)
			CHECK_OK(strata_cluster_add_node(
				small,
				&(struct strata_node_conf){ .name = "n",
							    .cpu_milli = 64000,
							    .gpu_count = 4,
							    .gpu_type = "x" },
				NULL, &err));
		for (uint64_t id = 1; id <= 25; id++) {
			struct strata_job_request request = small_request(id, 1, 60);

			request.gpus = 1;
			small_submit(request, 0);
		}
		small_pass(0);
		CHECK_INT(small->stats.jobs[STRATA_JOB_RUNNING], 20);
		CHECK_INT(small->stats.gpu_milli_free, 0);
		small_close();
	}
}
