/* Keeping no more than there are frames for: where too much would be kept, what is used last is given up first. */
#include "stage/stage_int.h"

#include "core/container.h"
#include "core/heap.h"

#include <errno.h>

struct span {
	struct heap_node by_end;
	uint32_t visit;
};

static int64_t cut(struct heap *spans, int64_t excess, uint32_t *kept)
{
	while (excess > 0) {
		struct heap_node *top = heap_top(spans);

		if (!top)
			return excess;
		struct span *span = container_of(top, struct span, by_end);
		int64_t part = kept[span->visit] < excess ? kept[span->visit] : excess;

		kept[span->visit] -= (uint32_t)part;
		excess -= part;
		if (!kept[span->visit])
			heap_pop(spans);
	}
	return 0;
}

int trim(const struct strata_stage_problem *problem, uint32_t budget, struct strata_arena *arena,
	 uint32_t *kept)
{
	size_t n = problem->visit_count;
	struct span *spans = strata_arena_array(arena, n, sizeof(*spans));
	uint32_t *ending = strata_arena_array(arena, n, sizeof(*ending)); /* 1 + the visit */
	struct heap heap;
	int64_t now = 0;

	heap_init(&heap, arena->memory, NULL, NULL);
	int rc = spans && ending ? heap_reserve(&heap, n) : -ENOMEM;

	for (size_t v = 0; rc == 0 && v < n; v++) {
		size_t end = v + problem->next[v];

		spans[v].visit = (uint32_t)v;
		ending[end % n] = (uint32_t)v + 1;
		if (end > n && kept[v]) {
			now += kept[v];
			heap_push(&heap, &spans[v].by_end, ~(uint64_t)(end - n));
		}
	}
	for (size_t v = 0; rc == 0 && v < n; v++) {
		struct span *over = &spans[ending[v] - 1];

		if (heap_node_in(&over->by_end)) {
			heap_remove(&heap, &over->by_end);
			now -= kept[over->visit];
		}
		int64_t excess = now + problem->pages[v] - budget;

		if (excess > 0) {
			now -= excess;
			rc = cut(&heap, excess, kept) ? -ENOSPC : 0;
		}
		if (kept[v] && problem->next[v] > 1 && !heap_node_in(&spans[v].by_end)) {
			now += kept[v];
			heap_push(&heap, &spans[v].by_end, ~(uint64_t)(v + problem->next[v]));
		}
	}
	heap_fini(&heap);
	return rc;
}
