/* UUIDs of version 7. */
#include "store/uuid.h"

#include "fault_env.h"
#include "test.h"

#include <errno.h>
#include <string.h>

static const uint8_t ones[UUID_RANDOM_BYTES] = { 255, 255, 255, 255, 255, 255, 255, 255 };
static const uint8_t zeros[UUID_RANDOM_BYTES];

TEST(a_uuid_has_its_time_version_and_variant)
{
	char text[UUID_TEXT_BYTES];

	/* The time of RFC 9562's example, A.6: 0x017F22E279B0 ms. */
	CHECK_TEXT(uuid_print(INT64_C(0x017F22E279B0) * 1000000, zeros, text),
		   "017f22e2-79b0-7000-8000-000000000000");
	CHECK_TEXT(uuid_print(INT64_C(0x017F22E279B0) * 1000000 + 999999, ones, text),
		   "017f22e2-79b0-7fff-bfff-ffffffffffff");
	CHECK_TEXT(uuid_print(-1, zeros, text), "00000000-0000-7000-8000-000000000000");
}

TEST(later_ones_sort_behind)
{
	char before[UUID_TEXT_BYTES], after[UUID_TEXT_BYTES];

	for (int64_t ns = 0; ns < 10000000; ns += 245) {
		uuid_print(ns, ones, before);
		uuid_print(ns + 245, zeros, after);
		CHECK(strcmp(before, after) < 0);
	}
}

TEST(no_two_are_the_same)
{
	char one[UUID_TEXT_BYTES], two[UUID_TEXT_BYTES];
	struct strata_error err;
	struct fault_env fault;

	fault_env_init(&fault); /* its clock stands still */
	CHECK_OK(uuid_make(&fault.env, one, &err));
	CHECK_OK(uuid_make(&fault.env, two, &err));
	CHECK(strcmp(one, two) != 0);
	CHECK(strncmp(one, two, 18) == 0);
	fault_env_fini(&fault);
}

TEST(the_next_ones_are_known_by_their_distance)
{
	char from[UUID_TEXT_BYTES], to[UUID_TEXT_BYTES], back[UUID_TEXT_BYTES];
	struct strata_error err;
	struct fault_env fault;
	int64_t by = 0;

	CHECK_TEXT(uuid_move("017f22e2-79b0-7000-8000-0000000000ff", 1, to),
		   "017f22e2-79b0-7000-8000-000000000100");
	fault_env_init(&fault);
	for (int i = 0; i < 100; i++) {
		CHECK_OK(uuid_make(&fault.env, from, &err));
		uuid_move(from, 100000, to);
		CHECK(strncmp(from, to, 24) == 0 && strcmp(from, to) < 0);
		CHECK(uuid_distance(from, to, &by));
		CHECK_INT(by, 100000);
		CHECK_TEXT(uuid_move(to, -100000, back), from);
		CHECK(uuid_distance(to, from, &by));
		CHECK_INT(by, -100000);
	}
	fault_env_fini(&fault);
	CHECK(!uuid_distance(from, "017f22e2-79b0-7000-8000-0000000000ff", &by));
	CHECK(!uuid_distance(from, "7", &by));
	CHECK(!uuid_distance("017f22e2-79b0-7000-8000-0000000000fg",
			     "017f22e2-79b0-7000-8000-0000000000ff", &by));
}
