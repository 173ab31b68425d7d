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
