/* Circles are found, chains are none, any depth. */
#include "test.h"

#include "place/cut.h"

static struct strata_memory memory;

TEST(two_circles_and_a_tail)
{
	/* 0 → 1 → 2 → 0, 2 → 3, 3 ⇄ 4, 4 → 5 */
	static const uint32_t first[] = { 0, 1, 2, 4, 5, 7, 7 }, leads[] = { 1, 2, 0, 3, 4, 3, 5 };
	struct strata_arena arena;
	uint32_t component[6];
	size_t count = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_INT(cycles_find(6, first, leads, &arena, component, &count), 0);
	CHECK_INT(count, 3);
	CHECK(component[0] == component[1] && component[1] == component[2]);
	CHECK(component[3] == component[4] && component[3] != component[0]);
	CHECK(component[5] < component[3] && component[3] < component[0]);
	strata_arena_fini(&arena);
}

TEST(a_long_chain_has_none)
{
	enum { N = 300000 };
	static uint32_t first[N + 1], leads[N], component[N];
	struct strata_arena arena;
	size_t count = 0;

	strata_arena_init(&arena, &memory, 0);
	for (uint32_t i = 0; i < N; i++) {
		first[i] = i;
		leads[i] = i + 1;
	}
	first[N - 1] = first[N] = N - 1;
	CHECK_INT(cycles_find(N, first, leads, &arena, component, &count), 0);
	CHECK_INT(count, N);
	CHECK_INT(component[0], N - 1);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
