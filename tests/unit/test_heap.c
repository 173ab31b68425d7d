#include "test.h"

#include "core/container.h"
#include "core/heap.h"
#include "random.h"

#include <errno.h>
#include <string.h>

struct thing {
	uint64_t id;
	uint64_t key;
	struct heap_node node;
};

static int by_id(const struct heap_node *a, const struct heap_node *b, void *context)
{
	uint64_t x = container_of(a, struct thing, node)->id;
	uint64_t y = container_of(b, struct thing, node)->id;

	if (context)
		++*(uint64_t *)context;
	return (x > y) - (x < y);
}

static struct thing *pop(struct heap *heap)
{
	struct heap_node *node = heap_pop(heap);

	return node ? container_of(node, struct thing, node) : NULL;
}

TEST(things_come_out_in_order_of_key_then_callback)
{
	static const uint64_t keys[] = { 5, 1, UINT64_MAX, 5, 0, 5, 1, 7 };
	static const uint64_t want[] = { 4, 1, 6, 0, 3, 5, 7, 2 };
	struct thing things[8] = { 0 };
	struct strata_memory memory = { 0 };
	struct heap heap;

	heap_init(&heap, &memory, by_id, NULL);
	CHECK(!heap_top(&heap) && !heap_pop(&heap));
	for (uint64_t i = 0; i < 8; i++) {
		things[i].id = i;
		CHECK(!heap_node_in(&things[i].node));
		CHECK_INT(heap_push(&heap, &things[i].node, keys[i]), 0);
		CHECK(heap_node_in(&things[i].node));
		CHECK(heap_key(&heap, &things[i].node) == keys[i]);
	}
	for (uint64_t i = 0; i < 8; i++) {
		CHECK(heap_top(&heap) == &things[want[i]].node);
		CHECK_INT(pop(&heap)->id, want[i]);
		CHECK(!heap_node_in(&things[want[i]].node));
	}
	CHECK(!pop(&heap));
	heap_fini(&heap);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_cleared_heap_lets_go_of_everything)
{
	struct thing things[20] = { 0 };
	struct strata_memory memory = { 0 };
	struct heap heap;

	heap_init(&heap, &memory, by_id, NULL);
	heap_clear(&heap);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 20; i++)
			CHECK_INT(heap_push(&heap, &things[i].node, i % 7), 0);
		heap_clear(&heap);
		CHECK(!heap_top(&heap));
		for (uint64_t i = 0; i < 20; i++)
			CHECK(!heap_node_in(&things[i].node));
	}
	heap_fini(&heap);
}

TEST(the_callback_gets_its_context_and_only_sees_equal_keys)
{
	struct thing things[64] = { 0 };
	struct strata_memory memory = { 0 };
	uint64_t asked = 0;
	struct heap heap;

	heap_init(&heap, &memory, by_id, &asked);
	for (uint64_t i = 0; i < 64; i++)
		CHECK_INT(heap_push(&heap, &things[i].node, 100 - i), 0);
	while (pop(&heap))
		;
	CHECK_INT(asked, 0);
	for (uint64_t i = 0; i < 64; i++) {
		things[i].id = i * 37 % 64;
		CHECK_INT(heap_push(&heap, &things[i].node, 9), 0);
	}
	for (uint64_t i = 0; i < 64; i++)
		CHECK_INT(pop(&heap)->id, i);
	CHECK(asked > 64);
	heap_fini(&heap);
}

TEST(times_before_zero_come_first)
{
	CHECK(heap_key_time(INT64_MIN) == 0);
	CHECK(heap_key_time(-1) < heap_key_time(0));
	CHECK(heap_key_time(0) < heap_key_time(1));
	CHECK(heap_key_time(INT64_MAX) == UINT64_MAX);
}

TEST(without_a_callback_equal_keys_come_out_the_same_way_every_time)
{
	uint64_t order[2][100];

	for (int round = 0; round < 2; round++) {
		struct strata_memory memory = { 0 };
		struct thing things[100] = { 0 };
		struct heap heap;

		heap_init(&heap, &memory, NULL, NULL);
		for (uint64_t i = 0; i < 100; i++) {
			things[i].id = i;
			CHECK_INT(heap_push(&heap, &things[i].node, i % 3), 0);
		}
		for (uint64_t i = 0; i < 100; i++)
			order[round][i] = pop(&heap)->id;
		heap_fini(&heap);
	}
	CHECK_BYTES(order[0], order[1], sizeof(order[0]));
}

/* The smallest of those that are in, by a plain search. */
static struct thing *naive_top(struct thing *things, size_t count)
{
	struct thing *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (heap_node_in(&things[i].node) &&
		    (!best || things[i].key < best->key ||
		     (things[i].key == best->key && things[i].id < best->id)))
			best = &things[i];
	return best;
}

TEST(random_pushes_removals_and_new_keys_agree_with_a_search)
{
	enum { THINGS = 300, STEPS = 20000 };
	static struct thing things[THINGS];
	struct strata_memory memory = { 0 };
	uint64_t seed = 2, count = 0;
	struct heap heap;

	memset(things, 0, sizeof(things));
	heap_init(&heap, &memory, by_id, NULL);
	for (int step = 0; step < STEPS; step++) {
		struct thing *thing = &things[random_below(&seed, THINGS)];
		uint64_t key = random_below(&seed, 40);

		thing->id = (uint64_t)(thing - things);
		if (!heap_node_in(&thing->node)) {
			thing->key = key;
			CHECK_INT(heap_push(&heap, &thing->node, key), 0);
			count++;
		} else if (random_below(&seed, 3) == 0) {
			heap_remove(&heap, &thing->node);
			count--;
		} else {
			thing->key = key;
			heap_update(&heap, &thing->node, key);
		}
		struct thing *top = naive_top(things, THINGS);

		CHECK_INT(heap.count, count);
		CHECK(heap_top(&heap) == (top ? &top->node : NULL));
		if (top && random_below(&seed, 8) == 0) {
			CHECK(pop(&heap) == top);
			count--;
		}
	}
	for (struct thing *top; (top = naive_top(things, THINGS)); count--)
		CHECK(pop(&heap) == top);
	CHECK_INT(count, 0);
	heap_fini(&heap);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(an_update_with_the_same_key_asks_the_callback_again)
{
	struct thing things[20] = { 0 };
	struct strata_memory memory = { 0 };
	struct heap heap;

	heap_init(&heap, &memory, by_id, NULL);
	for (uint64_t i = 0; i < 20; i++) {
		things[i].id = 10 + i;
		CHECK_INT(heap_push(&heap, &things[i].node, 1), 0);
	}
	things[15].id = 1;
	heap_update(&heap, &things[15].node, 1);
	CHECK(pop(&heap) == &things[15]);
	things[0].id = 99;
	heap_update(&heap, &things[0].node, 1);
	for (int i = 1; i < 20; i++)
		if (i != 15)
			CHECK(pop(&heap) == &things[i]);
	CHECK(pop(&heap) == &things[0]);
	heap_fini(&heap);
}

TEST(with_room_nothing_is_allocated)
{
	static struct thing things[1000];
	struct strata_memory memory = { 0 };
	struct heap heap;

	memset(things, 0, sizeof(things));
	heap_init(&heap, &memory, NULL, NULL);
	CHECK_INT(memory.calls, 0);
	CHECK_INT(heap_reserve(&heap, 1000), 0);
	memory.calls = 0;
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 1000; i++)
			CHECK_INT(heap_push(&heap, &things[i].node, i * 7 % 1000), 0);
		for (uint64_t i = 0; i < 1000; i += 2)
			heap_remove(&heap, &things[i].node);
		while (heap_pop(&heap))
			;
	}
	CHECK_INT(memory.calls, 0);
	CHECK_INT(heap_reserve(&heap, UINT32_MAX), -ENOMEM);
	heap_fini(&heap);
}

static int push_many(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct thing things[100] = { 0 };
	struct heap heap;
	int rc = 0;

	(void)context;
	heap_init(&heap, memory, NULL, NULL);
	for (uint64_t i = 0; i < 100 && rc == 0; i++)
		if (heap_push(&heap, &things[i].node, 100 - i) < 0) {
			CHECK(!heap_node_in(&things[i].node));
			CHECK_INT(heap.count, i);
			rc = strata_fail_memory(err);
		}
	heap_fini(&heap);
	return rc;
}

TEST(running_out_of_memory_changes_nothing)
{
	CHECK(test_every_allocation(push_many, NULL) > 3);
}
