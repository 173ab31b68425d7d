/* The shares of descriptors.h. */
#include "server/descriptors.h"

#include <strata/limits.h>

#include <sys/resource.h>

enum {
	OWN = 32, /* sockets, store, watches, logs, and some to spare */
	OWN_MOST =
		512, /* with a reader of the store for every request that is answered at the time */
};

void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static uint32_t at_least_one(uint64_t count, uint64_t most)
{
	return count < 1 ? 1 : (uint32_t)(count < most ? count : most);
}

struct descriptors descriptors_share(uint64_t limit)
{
	uint64_t own = limit / 8 > OWN_MOST ? OWN_MOST : limit / 8 > OWN ? limit / 8 : OWN;
	uint64_t left = limit > own ? limit - own : 0;
	uint32_t connections = at_least_one(left / 4, STRATA_SERVER_CONNECTIONS_MAX);

	return (struct descriptors){
		.connections = connections,
		.jobs = at_least_one(left > 2 * connections ? left - 2 * connections : 0,
				     STRATA_SERVER_PLACED_MAX),
	};
}

struct descriptors descriptors_own(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		limit.rlim_cur = 1024;
	return descriptors_share(limit.rlim_cur);
}
