/* How many tasks of a shape pay together, from one worker to the next. */
#include "test.h"

#include "server/model_caps.h"

#include <strata/limits.h>

#define HOUR_NS INT64_C(3600000000000)

TEST(what_one_has_found_outlives_it)
{
	struct model_caps caps = { 0 };

	CHECK_INT(model_caps_get(&caps, 7), 0);
	CHECK(!model_caps_tell(&caps, 7, 0, 1, 0));
	CHECK(model_caps_tell(&caps, 7, 3, 1, 0));
	CHECK(!model_caps_tell(&caps, 7, 3, 1, 10));
	CHECK(caps.changed);
	CHECK(!model_caps_tell(&caps, 7, 0, 2, 9 + HOUR_NS)); /* another knows nothing of it */
	CHECK_INT(model_caps_get(&caps, 7), 3);
	CHECK(model_caps_tell(&caps, 7, 0, 2, 10 + HOUR_NS)); /* that was long ago */
	CHECK_INT(model_caps_get(&caps, 7), 0);
	CHECK(model_caps_tell(&caps, 7, 2, 2, 0));
	CHECK(model_caps_tell(&caps, 7, 4, 3, 0)); /* the last word counts */
	CHECK(!model_caps_tell(&caps, 7, 0, 2, 0));
	CHECK(model_caps_tell(&caps, 7, 0, 3, 0)); /* who has found it has found otherwise */
	CHECK_INT(model_caps_get(&caps, 7), 0);
}

TEST(the_oldest_makes_room)
{
	struct model_caps caps = { 0 };

	for (int64_t i = 0; i < MODEL_CAPS_MAX; i++)
		CHECK(model_caps_tell(&caps, (uint64_t)i, 2, 1, i));
	CHECK(!model_caps_tell(&caps, 0, 2, 1, MODEL_CAPS_MAX));
	CHECK(model_caps_tell(&caps, 1000, 2, 1, MODEL_CAPS_MAX + 1));
	CHECK_INT(caps.count, MODEL_CAPS_MAX);
	CHECK_INT(model_caps_get(&caps, 0), 2);
	CHECK_INT(model_caps_get(&caps, 1), 0);
	CHECK_INT(model_caps_get(&caps, 1000), 2);
}

TEST(it_is_kept_and_comes_back)
{
	struct model_caps caps = { 0 }, back = { 0 };

	CHECK(model_caps_tell(&caps, UINT64_C(8192) << 40, 3, 1, 0));
	CHECK(model_caps_tell(&caps, 5, STRATA_BATCH_MAX, 1, 0));
	json_t *kept = model_caps_keep(&caps);

	model_caps_restore(&back, kept, HOUR_NS);
	CHECK_INT(back.count, 2);
	CHECK_INT(model_caps_get(&back, UINT64_C(8192) << 40), 3);
	CHECK(!model_caps_tell(&back, 5, 0, 9, HOUR_NS));
	json_decref(kept);
	kept = json_pack("[[i,i],[i,i],[i,i],[i,s],[i],[i,i],i]", 5, 0, 5, STRATA_BATCH_MAX + 1, -1, 2,
			 6, "x", 7, 8, 1, 9);
	model_caps_restore(&back, kept, 0);
	CHECK_INT(back.count, 1);
	CHECK_INT(model_caps_get(&back, 8), 1);
	json_decref(kept);
	model_caps_restore(&back, NULL, 0);
	CHECK_INT(back.count, 0);
}
