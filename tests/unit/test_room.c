#include "test.h"

#include "cluster/cluster_int.h"
#include "random.h"

#include <string.h>

static const uint8_t flat[STRATA_NODE_GPUS_MAX];
static const uint8_t halves[STRATA_NODE_GPUS_MAX] = { 0, 0, 0, 0, 1, 1, 1, 1 };

static struct strata_room room_of(int64_t cpu_milli, int64_t memory_bytes, const uint16_t *gpus,
				  uint32_t count)
{
	struct strata_room room = { .cpu_milli = cpu_milli, .memory_bytes = memory_bytes };

	memcpy(room.gpu_milli, gpus, count * sizeof(*gpus));
	return room;
}

TEST(a_need_fits_when_every_part_of_it_does)
{
	const uint16_t gpus[] = { 1000, 400, 1000, 0 };
	struct strata_room room = room_of(8000, 64, gpus, 4);

	CHECK_INT(room_whole_gpus(&room, 4), 2);
	CHECK_INT(room_fullest(&room, 4), 1000);
	CHECK_INT(room_whole_gpus(&room, 1), 1);
	CHECK_INT(room_fullest(&room, 0), 0);
	CHECK(room_fits(&room, 4, &(struct strata_need){ 8000, 64, 2, 0 }));
	CHECK(!room_fits(&room, 4, &(struct strata_need){ 8001, 64, 2, 0 }));
	CHECK(!room_fits(&room, 4, &(struct strata_need){ 8000, 65, 2, 0 }));
	CHECK(!room_fits(&room, 4, &(struct strata_need){ 8000, 64, 3, 0 }));
	CHECK(room_fits(&room, 4, &(struct strata_need){ 0, 0, 0, 1000 }));
	CHECK(!room_fits(&room, 2, &(struct strata_need){ 0, 0, 2, 0 }));
	CHECK(room_fits(&room, 0, &(struct strata_need){ 8000, 64, 0, 0 }));
	CHECK(!room_fits(&room, 0, &(struct strata_need){ 0, 0, 0, 1 }));
}

TEST(a_share_goes_to_the_fullest_gpu_that_will_do)
{
	const uint16_t gpus[] = { 1000, 500, 300, 300, 0 };
	struct strata_room room = room_of(0, 0, gpus, 5);

	CHECK_INT(room_shared_gpu(&room, 5, 100), 2);
	CHECK_INT(room_shared_gpu(&room, 5, 300), 2);
	CHECK_INT(room_shared_gpu(&room, 5, 301), 1);
	CHECK_INT(room_shared_gpu(&room, 5, 501), 0);
	CHECK_INT(room_shared_gpu(&room, 3, 1001), 3);
}

TEST(whole_gpus_come_from_one_domain_the_fullest_that_has_enough)
{
	const uint16_t gpus[] = { 1000, 1000, 1000, 0, 1000, 1000, 500, 0 };
	struct strata_room room = room_of(9000, 9, gpus, 8);
	struct strata_need need = { 1000, 1, 2, 0 };

	CHECK_INT(room_pick(&room, 8, halves, &need, 0).gpu_mask, 0x30);
	need.gpus = 3;
	CHECK_INT(room_pick(&room, 8, halves, &need, 0).gpu_mask, 0x07);
	CHECK(room_together(&room, 8, halves, 3) && !room_together(&room, 8, halves, 4));
	need.gpus = 4;
	CHECK_INT(room_pick(&room, 8, halves, &need, 0).gpu_mask, 0x17);
	need.gpus = 5;
	CHECK_INT(room_pick(&room, 8, halves, &need, 0).gpu_mask, 0x37);
	CHECK_INT(room_pick(&room, 8, flat, &need, 0).gpu_milli, 1000);
	CHECK(room_together(&room, 8, flat, 5) && !room_together(&room, 8, flat, 6));
	need = (struct strata_need){ 0, 0, 0, 200 };
	CHECK_INT(room_pick(&room, 8, halves, &need, 6).gpu_mask, 0x40);
	CHECK_INT(room_pick(&room, 8, halves, &need, 6).gpu_milli, 200);
	need = (struct strata_need){ 10, 2, 0, 0 };
	CHECK_INT(room_pick(&room, 8, halves, &need, 0).gpu_mask, 0);
	CHECK_INT(room_pick(&room, 8, halves, &need, 0).cpu_milli, 10);
}

TEST(what_is_taken_can_be_given_back_in_any_order)
{
	uint64_t seed = 1;
	struct strata_room whole = { .cpu_milli = 64000, .memory_bytes = 512 }, room;
	struct strata_piece pieces[64];
	size_t count = 0;

	for (int i = 0; i < 16; i++)
		whole.gpu_milli[i] = 1000;
	room = whole;
	for (int step = 0; step < 20000; step++) {
		struct strata_need need = { (int64_t)random_below(&seed, 9000),
					    (int64_t)random_below(&seed, 64),
					    (uint32_t)random_below(&seed, 5), 0 };
		int64_t cpu = room.cpu_milli, left = 0, after = 0;

		if (need.gpus == 0)
			need.gpu_milli = (uint32_t)random_below(&seed, 1000);
		if (count < 64 && random_below(&seed, 5) < 3 && room_fits(&room, 16, &need)) {
			for (int i = 0; i < 16; i++)
				left += room.gpu_milli[i];
			uint32_t gpu = need.gpu_milli ? room_shared_gpu(&room, 16, need.gpu_milli)
						      : 0;
			pieces[count] = room_pick(&room, 16, halves, &need, gpu);
			room_take(&room, &pieces[count++]);
			for (int i = 0; i < 16; i++)
				after += room.gpu_milli[i];
			CHECK_INT(left - after, need.gpus * 1000 + need.gpu_milli);
			CHECK_INT(cpu - room.cpu_milli, need.cpu_milli);
		} else if (count) {
			size_t i = random_below(&seed, count);

			room_give(&room, &pieces[i]);
			pieces[i] = pieces[--count];
		}
	}
	while (count)
		room_give(&room, &pieces[--count]);
	CHECK_BYTES(&room, &whole, sizeof(room));
}
