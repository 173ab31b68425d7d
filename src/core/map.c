/*
 * The hash maps of map.h over uthash. Each map has an anchor, an entry in front of all others that
 * no key can find: uthash frees its table with the last entry, and a map that empties and fills
 * again would allocate every time.
 *
 * uthash's macros are expanded once for each map and operation, in the small functions here; its
 * allocations go to `memory`, and its failure to `failed`, both names of the function around it.
 */
#include "core/map.h"

#include <strata/limits.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) strata_memory_get(memory, size)
#define uthash_free(block, size) strata_memory_put(memory, block, size)
#define uthash_nonfatal_oom(object) (failed = true)
#include <uthash.h>

enum { ANCHOR_BYTES = -1 }; /* the anchor's length of key, which no lookup asks for */

struct map_u64_slot {
	struct map_u64_entry entry; /* first: an entry is its slot */
	uint64_t handle;            /* of this slot in the slab */
	UT_hash_handle hh;
};

struct map_text_slot {
	struct map_text_entry entry; /* first: an entry is its slot */
	UT_hash_handle hh;
	char key[];
};

/* Mixes all bits into the low ones, which choose the bucket (the finaliser of splitmix64). */
static unsigned hash_u64(uint64_t key)
{
	key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9;
	key = (key ^ key >> 27) * 0x94D049BB133111EB;
	return (unsigned)(key ^ key >> 31);
}

static unsigned hash_text(const char *key, size_t key_bytes)
{
	unsigned hash;

	HASH_VALUE(key, key_bytes, hash);
	return hash;
}

void map_u64_init(struct map_u64 *map, struct strata_memory *memory)
{
	*map = (struct map_u64){ 0 };
	slab_init(&map->slots, memory, sizeof(struct map_u64_slot), 0);
}

void map_u64_fini(struct map_u64 *map)
{
	struct strata_memory *memory = map->slots.memory;

	HASH_CLEAR(hh, map->anchor);
	slab_fini(&map->slots);
	map->count = 0;
}

static struct map_u64_slot *find_u64(const struct map_u64 *map, uint64_t key, unsigned hash)
{
	struct map_u64_slot *slot;

	HASH_FIND_BYHASHVALUE(hh, map->anchor, &key, sizeof(key), hash, slot);
	return slot;
}

/* A new slot, in the table; NULL when out of memory. */
static struct map_u64_slot *add_u64(struct map_u64 *map, uint64_t key, size_t key_bytes,
				    unsigned hash)
{
	struct strata_memory *memory = map->slots.memory;
	bool failed = false;
	uint64_t handle;
	struct map_u64_slot *slot = slab_get(&map->slots, &handle);

	if (!slot)
		return NULL;
	slot->entry.key = key;
	slot->handle = handle;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, map->anchor, &slot->entry.key, key_bytes, hash, slot);
	if (failed)
		slab_put(&map->slots, handle);
	return failed ? NULL : slot;
}

int map_u64_put(struct map_u64 *map, uint64_t key, void *value, void **ret_old)
{
	unsigned hash = hash_u64(key);
	void *old = NULL;

	assert(value);
	if (!map->anchor && !add_u64(map, 0, (size_t)ANCHOR_BYTES, 0))
		return -ENOMEM;
	struct map_u64_slot *slot = find_u64(map, key, hash);

	if (slot) {
		old = slot->entry.value;
	} else {
		slot = add_u64(map, key, sizeof(key), hash);
		if (!slot)
			return -ENOMEM;
		map->count++;
	}
	slot->entry.value = value;
	if (ret_old)
		*ret_old = old;
	return 0;
}

void *map_u64_get(const struct map_u64 *map, uint64_t key)
{
	struct map_u64_slot *slot = find_u64(map, key, hash_u64(key));

	return slot ? slot->entry.value : NULL;
}

void *map_u64_remove(struct map_u64 *map, uint64_t key)
{
	struct strata_memory *memory = map->slots.memory;
	struct map_u64_slot *slot = find_u64(map, key, hash_u64(key));

	if (!slot)
		return NULL;
	void *value = slot->entry.value;

	HASH_DELETE(hh, map->anchor, slot);
	slab_put(&map->slots, slot->handle);
	map->count--;
	return value;
}

const struct map_u64_entry *map_u64_next(const struct map_u64 *map,
					 const struct map_u64_entry *entry)
{
	const struct map_u64_slot *slot = entry ? (const void *)entry : map->anchor;

	return slot ? slot->hh.next : NULL;
}

void map_text_init(struct map_text *map, struct strata_memory *memory)
{
	*map = (struct map_text){ .memory = memory };
}

static size_t slot_bytes(const struct map_text_slot *slot)
{
	return sizeof(*slot) + slot->entry.key_bytes + 1;
}

void map_text_fini(struct map_text *map)
{
	struct strata_memory *memory = map->memory;
	struct map_text_slot *slot = map->anchor, *next;

	HASH_CLEAR(hh, map->anchor); /* frees the table; the links from slot to slot stay */
	for (; slot; slot = next) {
		next = slot->hh.next;
		strata_memory_put(memory, slot, slot_bytes(slot));
	}
	map->count = 0;
}

static struct map_text_slot *find_text(const struct map_text *map, const char *key,
				       size_t key_bytes, unsigned hash)
{
	struct map_text_slot *slot;

	if (key_bytes > STRATA_TEXT_BYTES_MAX)
		return NULL;
	if (key_bytes == 0)
		key = ""; /* memcmp must not be given NULL, however short */
	HASH_FIND_BYHASHVALUE(hh, map->anchor, key, key_bytes, hash, slot);
	return slot;
}

/* A new slot, in the table; NULL when out of memory. */
static struct map_text_slot *add_text(struct map_text *map, const char *key, size_t key_bytes,
				      size_t table_bytes, unsigned hash)
{
	struct strata_memory *memory = map->memory;
	bool failed = false;
	struct map_text_slot *slot = strata_memory_get(memory, sizeof(*slot) + key_bytes + 1);

	if (!slot)
		return NULL;
	if (key_bytes > 0)
		memcpy(slot->key, key, key_bytes);
	slot->entry.key = slot->key;
	slot->entry.key_bytes = key_bytes;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, map->anchor, slot->key, table_bytes, hash, slot);
	if (failed)
		strata_memory_put(memory, slot, slot_bytes(slot));
	return failed ? NULL : slot;
}

int map_text_put(struct map_text *map, const char *key, size_t key_bytes, void *value,
		 void **ret_old)
{
	void *old = NULL;

	assert(value);
	if (key_bytes > STRATA_TEXT_BYTES_MAX)
		return -E2BIG;
	unsigned hash = hash_text(key, key_bytes);

	if (!map->anchor && !add_text(map, NULL, 0, (size_t)ANCHOR_BYTES, 0))
		return -ENOMEM;
	struct map_text_slot *slot = find_text(map, key, key_bytes, hash);

	if (slot) {
		old = slot->entry.value;
	} else {
		slot = add_text(map, key, key_bytes, key_bytes, hash);
		if (!slot)
			return -ENOMEM;
		map->count++;
	}
	slot->entry.value = value;
	if (ret_old)
		*ret_old = old;
	return 0;
}

const struct map_text_entry *map_text_find(const struct map_text *map, const char *key,
					   size_t key_bytes)
{
	struct map_text_slot *slot = find_text(map, key, key_bytes, hash_text(key, key_bytes));

	return slot ? &slot->entry : NULL;
}

void *map_text_get(const struct map_text *map, const char *key, size_t key_bytes)
{
	const struct map_text_entry *entry = map_text_find(map, key, key_bytes);

	return entry ? entry->value : NULL;
}

void *map_text_remove(struct map_text *map, const char *key, size_t key_bytes)
{
	struct strata_memory *memory = map->memory;
	struct map_text_slot *slot = find_text(map, key, key_bytes, hash_text(key, key_bytes));

	if (!slot)
		return NULL;
	void *value = slot->entry.value;

	HASH_DELETE(hh, map->anchor, slot);
	strata_memory_put(memory, slot, slot_bytes(slot));
	map->count--;
	return value;
}

const struct map_text_entry *map_text_next(const struct map_text *map,
					   const struct map_text_entry *entry)
{
	const struct map_text_slot *slot = entry ? (const void *)entry : map->anchor;

	return slot ? slot->hh.next : NULL;
}
