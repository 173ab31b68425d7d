#include "test.h"

#include "server/descriptors.h"

#include <strata/limits.h>

TEST(everybody_gets_some_and_nobody_all)
{
	static const uint64_t limits[] = { 1, 33, 64, 256, 1024, 4096, 65536, 1 << 20, 1 << 30 };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct descriptors share = descriptors_share(limits[i]);

		CHECK(share.connections >= 1 && share.connections <= STRATA_SERVER_CONNECTIONS_MAX);
		CHECK(share.jobs >= 1 && share.jobs <= STRATA_SERVER_PLACED_MAX);
		if (limits[i] >= 64)
			CHECK(2 * (uint64_t)share.connections + share.jobs + 32 <= limits[i]);
	}
	CHECK_INT(descriptors_share(64).jobs, 16);
	CHECK(descriptors_share(1 << 20).jobs > 1000000);
}
