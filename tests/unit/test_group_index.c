#include "cluster_sample.h"
#include "random.h"

/* Every group has its entry, and nothing else has. */
static void check_group_index(const struct strata_cluster *cluster)
{
	uint32_t groups = 0, entries = 0;

	for (const struct node_group *group = cluster->newest; group; group = group->older) {
		uint32_t index = slab_index(group->handle);
		const struct group_index_entry *entry = &cluster->group_index.entries[index];
		uint32_t gpus = group->node_type->gpu_count;

		groups++;
		CHECK(index < cluster->group_index.end && index < cluster->node_count);
		CHECK_INT(entry->cpu_milli, group->room.cpu_milli);
		CHECK_INT(entry->memory_bytes, group->room.memory_bytes);
		CHECK_INT(entry->whole_gpus, room_whole_gpus(&group->room, gpus));
		CHECK_INT(entry->fullest, room_fullest(&group->room, gpus));
		CHECK_INT(entry->node_type, group->node_type->index);
		CHECK_INT(entry->row,
			  container_of(tree_first(&group->nodes), struct node, in_group)->row);
		CHECK_INT(entry->untouched,
			  memcmp(&group->room, &group->node_type->whole, sizeof(group->room)) == 0);
		CHECK(entry->score == placing_score((struct strata_cluster *)cluster, group,
						    &(struct strata_need){ 0 }, NULL));
	}
	for (uint32_t i = 0; i < cluster->group_index.end; i++)
		entries += cluster->group_index.entries[i].cpu_milli >= 0;
	CHECK_INT(entries, groups);
}

TEST(entries_follow_their_groups)
{
	struct strata_cluster *cluster = sample_cluster(sample_placement("best_fit"), NULL);
	struct strata_piece pieces[70] = { 0 };
	uint64_t seed = 5;

	sample_nodes(cluster, 40, 8);
	sample_nodes(cluster, 30, 2);
	check_group_index(cluster);
	for (int step = 0; step < 2000; step++) {
		uint32_t row = (uint32_t)random_below(&seed, 70);
		uint64_t changes = cluster->group_index.changes;
		bool in_log = false;

		if (pieces[row].cpu_milli) {
			sample_give(cluster, &pieces[row]);
			pieces[row].cpu_milli = 0;
		} else {
			struct strata_need need = { 1 + (int64_t)random_below(&seed, 3), 0, 0,
						    100 * (uint32_t)random_below(&seed, 3) };

			pieces[row] = sample_take(cluster, row, need);
		}
		for (; changes < cluster->group_index.changes; changes++)
			in_log |= group_index_changed(&cluster->group_index, changes) ==
				  slab_index(cluster->nodes[row].group->handle);
		CHECK(in_log);
		if (step % 10 == 0)
			check_group_index(cluster);
	}
	check_group_index(cluster);
	sample_free(cluster);
}

TEST(room_is_compared_in_every_part)
{
	struct group_index_entry entry = {
		.cpu_milli = 4, .memory_bytes = 3, .whole_gpus = 2, .fullest = 1000
	};

	CHECK(group_index_has(&entry, &(struct strata_need){ 4, 3, 2, 0 }));
	CHECK(group_index_has(&entry, &(struct strata_need){ 4, 3, 0, 1000 }));
	CHECK(!group_index_has(&entry, &(struct strata_need){ 5, 3, 2, 0 }));
	CHECK(!group_index_has(&entry, &(struct strata_need){ 4, 4, 2, 0 }));
	CHECK(!group_index_has(&entry, &(struct strata_need){ 4, 3, 3, 0 }));
	CHECK(!group_index_has(&entry, &(struct strata_need){ 4, 3, 0, 1001 }));
	entry = (struct group_index_entry){ .cpu_milli = -1 }; /* nobody */
	CHECK(!group_index_has(&entry, &(struct strata_need){ 0 }));
}
