#include "small_cluster.h"

static const uint8_t numa[STRATA_NODE_GPUS_MAX] = { 0, 0, 1, 1 };

static struct strata_room room(void)
{
	return (struct strata_room){ .cpu_milli = 4000,
				     .memory_bytes = 100,
				     .gpu_milli = { 1000, 400, 1000, 1000 } };
}

TEST(a_need_fits_in_every_dimension_or_not_at_all)
{
	struct strata_room r = room();

	CHECK(room_fits(&r, 4, &(struct strata_need){ 4000, 100, 3, 0 }));
	CHECK(!room_fits(&r, 4, &(struct strata_need){ 4001, 100, 3, 0 }));
	CHECK(!room_fits(&r, 4, &(struct strata_need){ 4000, 101, 3, 0 }));
	CHECK(!room_fits(&r, 4, &(struct strata_need){ 0, 0, 4, 0 }));
	CHECK(room_fits(&r, 4, &(struct strata_need){ 0, 0, 0, 999 }));
	CHECK(!room_fits(&r, 0, &(struct strata_need){ 0, 0, 0, 1 }));
	CHECK_INT(room_whole_gpus(&r, 4), 3);
	CHECK_INT(room_fullest(&r, 2), 1000);
}

TEST(a_share_goes_to_the_fullest_gpu_that_has_enough)
{
	struct strata_room r = room();

	CHECK_INT(room_shared_gpu(&r, 4, 400), 1);
	CHECK_INT(room_shared_gpu(&r, 4, 401), 0);
	CHECK_INT(room_shared_gpu(&r, 0, 1), 0); /* none: gpu_count */
}

TEST(whole_gpus_come_from_one_domain_when_they_can)
{
	struct strata_room r = room();

	CHECK_INT(room_pick(&r, 4, numa, &(struct strata_need){ .gpus = 1 }, 0).gpu_mask,
		  0x1); /* the smaller domain */
	CHECK_INT(room_pick(&r, 4, numa, &(struct strata_need){ .gpus = 2 }, 0).gpu_mask, 0xC);
	CHECK_INT(room_pick(&r, 4, numa, &(struct strata_need){ .gpus = 3 }, 0).gpu_mask, 0xD);
}

TEST(what_is_taken_comes_back)
{
	struct strata_room r = room(), before = r;
	struct strata_piece piece =
		room_pick(&r, 4, numa, &(struct strata_need){ 1000, 50, 2, 0 }, 0);

	room_take(&r, &piece);
	CHECK_INT(r.cpu_milli, 3000);
	CHECK_INT(r.gpu_milli[2], 0);
	CHECK_INT(room_whole_gpus(&r, 4), 1);
	room_give(&r, &piece);
	CHECK_BYTES(&r, &before, sizeof(r));
}
