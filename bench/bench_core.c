/*
 * What the containers and the fair share cost: CPU time of one operation in ns, with 10,000,
 * 100,000 and 1,000,000 elements, and how many times dearer it is at the largest size than at the
 * smallest. Each number is the median of ROUNDS runs. Elements and keys are chosen at random, so a
 * large size pays for its cache misses; choosing costs the same for every row, and the first row
 * says how much.
 *
 *	bench_core [name]	only the rows that contain the name
 */
#include "core/container.h"
#include "core/heap.h"
#include "core/map.h"
#include "core/ranked.h"
#include "core/share.h"
#include "core/slab.h"
#include "core/tree.h"
#include "random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, SIZES = 3, OPERATIONS = 100000, PAGE = 50 };
static const uint32_t sizes[SIZES] = { 10000, 100000, 1000000 };

/* An object as a queue would hold it: two cache lines, what is compared beside the links. */
struct thing {
	uint64_t rest[7];
	struct heap_node heap;
	uint64_t key;
	struct tree_node tree;
	uint64_t more[3];
};
_Static_assert(sizeof(struct thing) == 128, "two lines");

/* The elements of one size; rows that start from the same ones follow each other and share them. */
static struct state {
	uint32_t count; /* elements */
	struct strata_memory memory;
	struct slab slab;
	uint64_t *handles; /* of things, in random order, or of the share's leaves */
	struct heap heap;
	struct tree tree;
	struct ranked ranked;
	struct map_u64 numbers;
	struct map_text texts;
	struct share *share;
	int64_t now_ns;
	uint64_t seed;
	uint64_t last_key; /* of tree_first_to_last: beyond all others */
	uint64_t sink;     /* results, so that none is optimised away */
} states[SIZES], *run;

static void must(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "bench_core: %s\n", strerror(-rc));
		exit(1);
	}
}

static uint64_t any_handle(void)
{
	return run->handles[random_below(&run->seed, run->count)];
}

static struct thing *any_thing(void)
{
	return slab_at(&run->slab, any_handle());
}

static struct thing *thing_at(uint32_t i)
{
	return slab_at(&run->slab, run->handles[i]);
}

static size_t text_of(uint64_t number, char text[32])
{
	return (size_t)snprintf(text, 32, "user-%llu", (unsigned long long)number);
}

/* -- what a row starts from; not timed -- */

static void make_things(void)
{
	slab_init(&run->slab, &run->memory, sizeof(struct thing), 0);
	for (uint32_t i = 0; i < run->count; i++) {
		struct thing *thing = slab_get(&run->slab, &run->handles[i]);

		must(thing ? 0 : -ENOMEM);
		thing->key = random_next(&run->seed);
	}
	for (uint32_t i = run->count - 1; i > 0; i--) {
		uint32_t other = (uint32_t)random_below(&run->seed, i + 1);
		uint64_t handle = run->handles[i];

		run->handles[i] = run->handles[other];
		run->handles[other] = handle;
	}
}

static void make_heap(void)
{
	make_things();
	heap_init(&run->heap, &run->memory, NULL, NULL);
	for (uint32_t i = 0; i < run->count; i++)
		must(heap_push(&run->heap, &thing_at(i)->heap, thing_at(i)->key));
}

static int by_key(const struct tree_node *a, const struct tree_node *b, void *context)
{
	uint64_t x = container_of((struct tree_node *)a, struct thing, tree)->key;
	uint64_t y = container_of((struct tree_node *)b, struct thing, tree)->key;

	(void)context;
	return (x > y) - (x < y);
}

static void make_tree(void)
{
	make_things();
	tree_init(&run->tree, by_key, NULL);
	for (uint32_t i = 0; i < run->count; i++)
		tree_insert(&run->tree, &thing_at(i)->tree);
}

static struct ranked_key ranked_key_of(const struct thing *thing, uint64_t handle)
{
	return (struct ranked_key){ .key = thing->key,
				    .serial = handle,
				    .item = slab_index(handle) };
}

static void make_ranked(void)
{
	make_things();
	ranked_init(&run->ranked, &run->memory, RANKED_WEIGHTS);
	for (uint32_t i = 0; i < run->count; i++) {
		struct ranked_key key = ranked_key_of(thing_at(i), run->handles[i]);

		must(ranked_insert(&run->ranked, &key, i, 0));
	}
}

static void make_numbers(void)
{
	make_things();
	map_u64_init(&run->numbers, &run->memory);
	for (uint32_t i = 0; i < run->count; i++)
		must(map_u64_put(&run->numbers, run->handles[i], thing_at(i), NULL));
}

static void make_texts(void)
{
	char text[32];

	make_things();
	map_text_init(&run->texts, &run->memory);
	for (uint32_t i = 0; i < run->count; i++)
		must(map_text_put(&run->texts, text, text_of(i, text), thing_at(i), NULL));
}

/* Users in accounts of a thousand, all with work. */
static void make_share(void)
{
	uint64_t account = 0;
	char text[32];

	must(share_new(&run->memory, 7 * 86400ll * 1000000000, &run->share, NULL));
	for (uint32_t i = 0; i < run->count; i++) {
		text_of(i, text);
		if (i % 1000 == 0)
			must(share_add(run->share, share_root(run->share), text, 1, &account,
				       NULL));
		must(share_add(run->share, account, text, 1 + i % 5, &run->handles[i], NULL));
		must(share_activate(run->share, run->handles[i], NULL));
	}
}

static void clean_up(void)
{
	if (run->heap.memory)
		heap_fini(&run->heap);
	if (run->ranked.leaves.memory)
		ranked_fini(&run->ranked);
	if (run->numbers.slots.memory)
		map_u64_fini(&run->numbers);
	if (run->texts.memory)
		map_text_fini(&run->texts);
	if (run->slab.memory)
		slab_fini(&run->slab);
	share_free(run->share);
	free(run->handles);
	memset(run, 0, sizeof(*run));
}

/* -- the rows: one operation -- */

static void choose(void)
{
	run->sink += any_handle();
}

static void slab_look(void)
{
	run->sink += any_thing()->key;
}

static void slab_turn_over(void)
{
	uint32_t i = (uint32_t)random_below(&run->seed, run->count);

	slab_put(&run->slab, run->handles[i]);
	slab_get(&run->slab, &run->handles[i]);
}

static void heap_pop_push(void)
{
	heap_push(&run->heap, heap_pop(&run->heap), random_next(&run->seed));
}

static void heap_remove_push(void)
{
	struct thing *thing = any_thing();

	heap_remove(&run->heap, &thing->heap);
	heap_push(&run->heap, &thing->heap, random_next(&run->seed));
}

static void heap_new_key(void)
{
	heap_update(&run->heap, &any_thing()->heap, random_next(&run->seed));
}

static void tree_remove_insert(void)
{
	struct thing *thing = any_thing();

	tree_remove(&run->tree, &thing->tree);
	thing->key = random_next(&run->seed);
	tree_insert(&run->tree, &thing->tree);
}

/* As a queue by time of arrival: the first goes, a new one comes last. */
static void tree_first_to_last(void)
{
	struct tree_node *first = tree_first(&run->tree);

	tree_remove(&run->tree, first);
	container_of(first, struct thing, tree)->key = UINT64_MAX / 2 + ++run->last_key;
	tree_insert(&run->tree, first);
}

static void ranked_remove_insert(void)
{
	uint64_t handle = any_handle();
	struct thing *thing = slab_at(&run->slab, handle);
	struct ranked_key key = ranked_key_of(thing, handle);

	ranked_remove(&run->ranked, &key);
	key.key = thing->key = random_next(&run->seed);
	must(ranked_insert(&run->ranked, &key, 1, 0));
}

static void ranked_first_to_last(void)
{
	struct ranked_key key = *ranked_first(&run->ranked);
	struct thing *thing = slab_by_index(&run->slab, key.item);

	ranked_remove(&run->ranked, &key);
	key.key = thing->key = UINT64_MAX - UINT32_MAX + run->sink++;
	must(ranked_insert(&run->ranked, &key, 1, 0));
}

static void ranked_position(void)
{
	uint64_t handle = any_handle();
	struct ranked_key key = ranked_key_of(slab_at(&run->slab, handle), handle);

	run->sink += ranked_rank(&run->ranked, &key, NULL);
}

static void ranked_cost_ahead(void)
{
	uint64_t handle = any_handle(), weight;
	struct ranked_key key = ranked_key_of(slab_at(&run->slab, handle), handle);

	ranked_rank(&run->ranked, &key, &weight);
	run->sink += weight & 1;
}

static void ranked_page(void)
{
	struct ranked_place place =
		ranked_select(&run->ranked, random_below(&run->seed, run->count));

	for (int i = 0; i < PAGE && ranked_at(place); i++, place = ranked_next(place))
		run->sink += ranked_at(place)->item & 1;
}

static void numbers_get(void)
{
	run->sink += (uintptr_t)map_u64_get(&run->numbers, any_handle());
}

static void numbers_remove_put(void)
{
	uint64_t key = any_handle();

	map_u64_put(&run->numbers, key, map_u64_remove(&run->numbers, key), NULL);
}

static void texts_get(void)
{
	char text[32];
	size_t length = text_of(random_below(&run->seed, run->count), text);

	run->sink += (uintptr_t)map_text_get(&run->texts, text, length);
}

static void share_pick_charge(void)
{
	double amount = (double)(1 + random_below(&run->seed, 100));

	share_charge(run->share, share_pick(run->share), amount, run->now_ns += 1000, NULL);
}

static void share_charge_any(void)
{
	share_charge(run->share, any_handle(), 1, run->now_ns += 1000, NULL);
}

static void share_leave_return(void)
{
	uint64_t leaf = any_handle();

	share_deactivate(run->share, leaf, NULL);
	share_activate(run->share, leaf, NULL);
}

static void share_two(void)
{
	run->sink += (uint64_t)share_compare(run->share, any_handle(), any_handle());
}

static void share_factor_any(void)
{
	run->sink += (uint64_t)(100 * share_factor(run->share, any_handle(), run->now_ns));
}

static const struct row {
	const char *name;
	void (*make)(void);
	void (*operation)(void);
} rows[] = {
	{ "choose at random", make_things, choose },
	{ "slab at", make_things, slab_look },
	{ "slab put + get", make_things, slab_turn_over },
	{ "heap pop + push", make_heap, heap_pop_push },
	{ "heap remove + push", make_heap, heap_remove_push },
	{ "heap update", make_heap, heap_new_key },
	{ "tree remove + insert", make_tree, tree_remove_insert },
	{ "tree first to last", make_tree, tree_first_to_last },
	{ "ranked remove + insert", make_ranked, ranked_remove_insert },
	{ "ranked first to last", make_ranked, ranked_first_to_last },
	{ "ranked rank", make_ranked, ranked_position },
	{ "ranked rank + weight", make_ranked, ranked_cost_ahead },
	{ "ranked page of 50", make_ranked, ranked_page },
	{ "map u64 get", make_numbers, numbers_get },
	{ "map u64 remove + put", make_numbers, numbers_remove_put },
	{ "map text get", make_texts, texts_get },
	{ "share pick + charge", make_share, share_pick_charge },
	{ "share charge", make_share, share_charge_any },
	{ "share leave + return", make_share, share_leave_return },
	{ "share compare", make_share, share_two },
	{ "share factor", make_share, share_factor_any },
};

static double cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void prepare(void (*make)(void))
{
	for (int i = 0; i < SIZES; i++) {
		run = &states[i];
		clean_up();
		run->count = sizes[i];
		run->seed = 1;
		run->handles = calloc(run->count, sizeof(*run->handles));
		must(run->handles ? 0 : -ENOMEM);
		make();
	}
}

/* The median time of one operation, in ns. */
static double measure(void (*operation)(void))
{
	double times[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		double start = cpu_ns();

		for (int i = 0; i < OPERATIONS; i++)
			operation();
		times[round] = (cpu_ns() - start) / OPERATIONS;
	}
	qsort(times, ROUNDS, sizeof(times[0]), by_value);
	return times[ROUNDS / 2];
}

static void run_row(const struct row *row)
{
	double times[SIZES];

	printf("%-23s", row->name);
	for (int i = 0; i < SIZES; i++) {
		run = &states[i];
		times[i] = measure(row->operation);
		printf(" %10.1f", times[i]);
	}
	printf(" %8.1f\n", times[SIZES - 1] / times[0]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	void (*made)(void) = NULL;

	printf("%-23s", "ns per operation");
	for (int i = 0; i < SIZES; i++)
		printf(" %10u", sizes[i]);
	printf(" %8s\n", "ratio");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (argc > 1 && !strstr(rows[i].name, argv[1]))
			continue;
		if (rows[i].make != made)
			prepare(rows[i].make);
		made = rows[i].make;
		run_row(&rows[i]);
	}
	for (int i = 0; i < SIZES; i++) {
		run = &states[i];
		clean_up();
	}
	return 0;
}
