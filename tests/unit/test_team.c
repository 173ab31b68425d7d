#include "test.h"

#include "engine/team.h"

#include <stdatomic.h>
#include <string.h>

struct cover {
	_Atomic int seen[1000];
	_Atomic int ranges;
	int64_t least;
};

static void mark(void *arg, int64_t first, int64_t past)
{
	struct cover *cover = arg;

	cover->ranges++;
	if (past - first < cover->least)
		cover->least = past - first;
	for (int64_t i = first; i < past; i++)
		cover->seen[i]++;
}

static void check(int threads, int64_t count, int64_t grain)
{
	struct engine_team team = { threads };
	struct cover cover = { .least = 1000000 };

	engine_team_run(&team, count, grain, mark, &cover);
	for (int64_t i = 0; i < 1000; i++)
		CHECK_INT(cover.seen[i], i < count);
	CHECK(cover.ranges <= threads);
	CHECK(count == 0 || cover.least >= (count < grain ? count : grain));
}

TEST(ranges_cover_everything_once)
{
	for (int threads = 1; threads <= 5; threads++)
		for (int64_t count = 0; count <= 1000; count += 37)
			for (int64_t grain = 1; grain <= 600; grain += 149)
				check(threads, count, grain);
}
