#include "test.h"

#include "core/map.h"
#include "random.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(numbers_are_put_replaced_and_removed)
{
	struct strata_memory memory = { 0 };
	int a, b;
	void *old = &a;
	struct map_u64 map;

	map_u64_init(&map, &memory);
	CHECK(!map_u64_get(&map, 0) && !map_u64_remove(&map, 0) && !map_u64_next(&map, NULL));
	CHECK_INT(memory.calls, 0);
	CHECK_INT(map_u64_put(&map, 0, &a, &old), 0);
	CHECK(!old);
	CHECK_INT(map_u64_put(&map, UINT64_MAX, &b, NULL), 0);
	CHECK_INT(map_u64_put(&map, 0, &b, &old), 0);
	CHECK(old == &a);
	CHECK(map_u64_get(&map, 0) == &b && map_u64_get(&map, UINT64_MAX) == &b);
	CHECK(!map_u64_get(&map, 1));
	CHECK_INT(map.count, 2);
	CHECK(map_u64_remove(&map, 0) == &b);
	CHECK(!map_u64_remove(&map, 0));
	CHECK(map_u64_remove(&map, UINT64_MAX) == &b);
	CHECK_INT(map.count, 0);
	CHECK(!map_u64_next(&map, NULL));
	map_u64_fini(&map);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(texts_are_bytes_and_the_key_is_a_copy)
{
	struct strata_memory memory = { 0 };
	char key[] = "a\0b";
	int a, b, c;
	struct map_text map;

	map_text_init(&map, &memory);
	CHECK(!map_text_get(&map, "", 0) && !map_text_remove(&map, "", 0));
	CHECK(!map_text_next(&map, NULL));
	CHECK_INT(map_text_put(&map, "a", 1, &a, NULL), 0);
	CHECK_INT(map_text_put(&map, key, 3, &b, NULL), 0);
	CHECK_INT(map_text_put(&map, "", 0, &c, NULL), 0);
	memset(key, 'x', 3);
	CHECK(map_text_get(&map, "a", 1) == &a);
	CHECK(map_text_get(&map, "a\0b", 3) == &b);
	CHECK(map_text_get(&map, NULL, 0) == &c);
	CHECK(!map_text_get(&map, "a\0", 2));
	const struct map_text_entry *entry = map_text_find(&map, "a\0b", 3);

	CHECK_INT(entry->key_bytes, 3);
	CHECK_BYTES(entry->key, "a\0b", 4);
	CHECK(map_text_next(&map, entry)->value == &c);
	CHECK(map_text_remove(&map, "a\0b", 3) == &b);
	CHECK_INT(map.count, 2);
	map_text_fini(&map);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(the_longest_key_fits_and_one_byte_more_does_not)
{
	struct strata_memory memory = { 0 };
	char *key = malloc(STRATA_TEXT_BYTES_MAX + 1);
	void *old = key;
	struct map_text map;

	memset(key, 'k', STRATA_TEXT_BYTES_MAX + 1);
	map_text_init(&map, &memory);
	CHECK_INT(map_text_put(&map, key, STRATA_TEXT_BYTES_MAX + 1, &map, &old), -E2BIG);
	CHECK(old == key);
	CHECK_INT(map_text_put(&map, key, STRATA_TEXT_BYTES_MAX, &map, NULL), 0);
	CHECK(map_text_get(&map, key, STRATA_TEXT_BYTES_MAX) == &map);
	CHECK(!map_text_get(&map, key, STRATA_TEXT_BYTES_MAX + 1));
	CHECK(!map_text_remove(&map, key, STRATA_TEXT_BYTES_MAX - 1));
	map_text_fini(&map);
	free(key);
}

enum { KEYS = 500, STEPS = 20000 };

/* The naive model: keys in the order of insertion, and a value for each. */
static struct {
	uint64_t keys[KEYS];
	void *values[KEYS];
	size_t count;
} model;

static size_t model_find(uint64_t key)
{
	size_t i = 0;

	while (i < model.count && model.keys[i] != key)
		i++;
	return i;
}

static void *model_put(uint64_t key, void *value)
{
	size_t i = model_find(key);
	void *old = i < model.count ? model.values[i] : NULL;

	model.keys[i] = key;
	model.values[i] = value;
	model.count += i == model.count;
	return old;
}

static void *model_remove(uint64_t key)
{
	size_t i = model_find(key);

	if (i == model.count)
		return NULL;
	void *old = model.values[i];
	size_t rest = --model.count - i;

	memmove(model.keys + i, model.keys + i + 1, rest * sizeof(model.keys[0]));
	memmove(model.values + i, model.values + i + 1, rest * sizeof(model.values[0]));
	return old;
}

static void check_walk_u64(const struct map_u64 *map)
{
	const struct map_u64_entry *entry = NULL;

	CHECK_INT(map->count, model.count);
	for (size_t i = 0; i < model.count; i++) {
		entry = map_u64_next(map, entry);
		CHECK(entry && entry->key == model.keys[i] && entry->value == model.values[i]);
	}
	CHECK(!map_u64_next(map, entry));
}

static void check_walk_text(const struct map_text *map)
{
	const struct map_text_entry *entry = NULL;

	CHECK_INT(map->count, model.count);
	for (size_t i = 0; i < model.count; i++) {
		entry = map_text_next(map, entry);
		CHECK(entry && entry->value == model.values[i]);
		CHECK_INT(strtoull(entry->key, NULL, 10), model.keys[i]);
		CHECK_INT(strlen(entry->key), entry->key_bytes);
	}
	CHECK(!map_text_next(map, entry));
}

/* One random step on both maps and the model. */
static void step(struct map_u64 *numbers, struct map_text *texts, uint64_t *seed)
{
	uint64_t key = random_below(seed, KEYS) << 32; /* alike in the low bits */
	void *value = (void *)(uintptr_t)(1 + random_next(seed) % 1000000), *old, *model_old;
	char text[32];
	size_t length = (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)key);

	if (random_below(seed, 5) < 3) {
		model_old = model_put(key, value);
		CHECK_INT(map_u64_put(numbers, key, value, &old), 0);
		CHECK(old == model_old);
		CHECK_INT(map_text_put(texts, text, length, value, &old), 0);
		CHECK(old == model_old);
	} else {
		model_old = model_remove(key);
		CHECK(map_u64_remove(numbers, key) == model_old);
		CHECK(map_text_remove(texts, text, length) == model_old);
	}
	size_t other = model_find(key + (1ull << 32));
	void *want = other < model.count ? model.values[other] : NULL;

	CHECK(map_u64_get(numbers, key + (1ull << 32)) == want);
}

TEST(random_use_agrees_with_an_array_and_walks_in_order_of_insertion)
{
	struct strata_memory memory = { 0 };
	uint64_t seed = 10;
	struct map_u64 numbers;
	struct map_text texts;

	model.count = 0;
	map_u64_init(&numbers, &memory);
	map_text_init(&texts, &memory);
	for (int i = 0; i < STEPS; i++) {
		step(&numbers, &texts, &seed);
		if (i % 50 == 0) {
			check_walk_u64(&numbers);
			check_walk_text(&texts);
		}
	}
	map_u64_fini(&numbers);
	map_text_fini(&texts);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_map_around_a_steady_size_allocates_nothing)
{
	struct strata_memory memory = { 0 };
	struct map_u64 map;

	map_u64_init(&map, &memory);
	for (uint64_t key = 0; key < 3000; key++)
		CHECK_INT(map_u64_put(&map, key, &map, NULL), 0);
	for (uint64_t key = 0; key < 3000; key++)
		CHECK(map_u64_remove(&map, key));
	memory.calls = 0;
	for (int round = 0; round < 100; round++) { /* from empty and back, and with other keys */
		CHECK_INT(map_u64_put(&map, 5, &map, NULL), 0);
		CHECK(map_u64_remove(&map, 5));
	}
	for (uint64_t key = 0; key < 3000; key++)
		CHECK_INT(map_u64_put(&map, key, &map, NULL), 0);
	CHECK_INT(memory.calls, 0);
	map_u64_fini(&map);
}

TEST(entries_may_be_removed_on_the_way)
{
	struct strata_memory memory = { 0 };
	struct map_u64 map;
	uint64_t left = 0;

	map_u64_init(&map, &memory);
	for (uint64_t key = 0; key < 100; key++)
		CHECK_INT(map_u64_put(&map, key, &map, NULL), 0);
	const struct map_u64_entry *entry = map_u64_next(&map, NULL), *next;

	for (; entry; entry = next) {
		next = map_u64_next(&map, entry);
		if (entry->key % 3)
			CHECK(map_u64_remove(&map, entry->key));
	}
	for (entry = NULL; (entry = map_u64_next(&map, entry)); left++)
		CHECK_INT(entry->key, left * 3);
	CHECK_INT(left, 34);
	map_u64_fini(&map);
}

/* Enough entries for the tables to grow several times. What was in stays in, in order, and no
 * more. */
static int fill_numbers(struct strata_memory *memory, void *context, struct strata_error *err)
{
	const struct map_u64_entry *entry = NULL;
	void *old = err;
	uint64_t count = 0;
	struct map_u64 map;
	int rc = 0;

	(void)context;
	map_u64_init(&map, memory);
	while (count < 2000 && (rc = map_u64_put(&map, count * 3, memory, &old)) == 0) {
		CHECK(!old);
		old = err;
		count++;
	}
	CHECK(old == err);
	CHECK_INT(map.count, count);
	CHECK(!map_u64_get(&map, count * 3));
	for (uint64_t i = 0; i < count; i++) {
		CHECK(map_u64_get(&map, i * 3) == memory);
		entry = map_u64_next(&map, entry);
		CHECK_INT(entry->key, i * 3);
	}
	CHECK(!map_u64_next(&map, entry));
	while (rc == 0 && count > 0)
		CHECK(map_u64_remove(&map, --count * 3));
	map_u64_fini(&map);
	return rc ? strata_fail_memory(err) : 0;
}

static int fill_texts(struct strata_memory *memory, void *context, struct strata_error *err)
{
	const struct map_text_entry *entry = NULL;
	struct map_text map;
	size_t count = 0;
	char key[16];
	int rc = 0;

	(void)context;
	map_text_init(&map, memory);
	for (; count < 200; count++) {
		snprintf(key, sizeof(key), "key-%zu", count);
		rc = map_text_put(&map, key, strlen(key), memory, NULL);
		if (rc < 0)
			break;
	}
	CHECK_INT(map.count, count);
	for (size_t i = 0; i < count; i++) {
		entry = map_text_next(&map, entry);
		snprintf(key, sizeof(key), "key-%zu", i);
		CHECK_TEXT(entry->key, key);
		CHECK(map_text_find(&map, key, strlen(key)) == entry);
	}
	CHECK(!map_text_next(&map, entry));
	map_text_fini(&map);
	return rc ? strata_fail_memory(err) : 0;
}

TEST(running_out_of_memory_changes_nothing)
{
	CHECK(test_every_allocation(fill_numbers, NULL) >= 8);
	CHECK(test_every_allocation(fill_texts, NULL) >= 204);
}
