/*
 * The hash maps of map.h. That of numbers is looked up millions of times a second: a table of cells with open addressing
 * (the next free cell when one is taken, no marks where something was removed), half of them free or more, so that a
 * number is found with one look into memory, and its slot, which holds the place in the walk, with another.
 *
 * That of texts is over uthash. It has an anchor, an entry in front of all others that no key can find: uthash frees its
 * table with the last entry, and a map that empties and fills again would allocate every time. uthash's macros are
 * expanded once for each operation, in the small functions here; its allocations go to `memory`, and its failure to
 * `failed`, both names of the function around it.
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
enum { CELLS_MIN = 16 };

struct map_u64_slot {
	struct map_u64_entry entry; /* first: an entry is its slot */
	uint64_t handle;            /* of this slot in the slab */
	struct map_u64_slot *before, *after;
};

struct map_u64_cell {
	uint64_t key;
	struct map_u64_slot *slot; /* NULL: free */
};

struct map_text_slot {
	struct map_text_entry entry; /* first: an entry is its slot */
	UT_hash_handle hh;
	char key[];
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15;
	return hash ^ hash >> 32;
}

/* Eight bytes at a time: keys are names, but also whole structs. */
static unsigned hash_text(const char *key, size_t key_bytes)
{
	uint64_t hash = key_bytes, word;

	for (; key_bytes >= sizeof(word); key_bytes -= sizeof(word), key += sizeof(word)) {
		memcpy(&word, key, sizeof(word));
		hash = mix(hash, word);
	}
	word = 0;
	if (key_bytes > 0)
		memcpy(&word, key, key_bytes);
	return (unsigned)mix(mix(hash, word), 0);
}

void map_u64_init(struct map_u64 *map, struct strata_memory *memory)
{
	*map = (struct map_u64){ 0 };
	slab_init(&map->slots, memory, sizeof(struct map_u64_slot), 0);
}

void map_u64_fini(struct map_u64 *map)
{
	strata_memory_put(map->slots.memory, map->cells, map->cell_count * sizeof(*map->cells));
	slab_fini(&map->slots);
	*map = (struct map_u64){ .slots = map->slots };
}

/* The cell where the search for a key begins (mixed by the finaliser of splitmix64). */
static size_t home_u64(const struct map_u64 *map, uint64_t key)
{
	key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9;
	key = (key ^ key >> 27) * 0x94D049BB133111EB;
	return (size_t)(key ^ key >> 31) & (map->cell_count - 1);
}

/* The cell of a key, or the free one where it belongs. There must be cells. */
static struct map_u64_cell *find_u64(const struct map_u64 *map, uint64_t key)
{
	size_t at = home_u64(map, key);

	while (map->cells[at].slot && map->cells[at].key != key)
		at = (at + 1) & (map->cell_count - 1);
	return &map->cells[at];
}

/* Twice the cells. */
static int grow_u64(struct map_u64 *map)
{
	struct strata_memory *memory = map->slots.memory;
	struct map_u64 grown = *map;

	assert(map->cells || map->cell_count == 0);

	grown.cell_count = map->cell_count ? map->cell_count * 2 : CELLS_MIN;
	grown.cells = strata_memory_get(memory, grown.cell_count * sizeof(*grown.cells));
	if (!grown.cells)
		return -ENOMEM;
	for (size_t i = 0; i < map->cell_count; i++)
		if (map->cells[i].slot)
			*find_u64(&grown, map->cells[i].key) = map->cells[i];
	strata_memory_put(memory, map->cells, map->cell_count * sizeof(*map->cells));
	*map = grown;
	return 0;
}

/* A new slot at the end of the walk, in the free cell where its key belongs; NULL when out of memory. */
static struct map_u64_slot *add_u64(struct map_u64 *map, uint64_t key, struct map_u64_cell *cell)
{
	uint64_t handle;
	struct map_u64_slot *slot = slab_get(&map->slots, &handle);

	if (!slot)
		return NULL;
	*slot = (struct map_u64_slot){ .entry.key = key, .handle = handle, .before = map->last };
	*(map->last ? &map->last->after : &map->first) = slot;
	map->last = slot;
	*cell = (struct map_u64_cell){ key, slot };
	map->count++;
	return slot;
}

int map_u64_put(struct map_u64 *map, uint64_t key, void *value, void **ret_old)
{
	struct map_u64_cell *cell = map->cells ? find_u64(map, key) : NULL;
	struct map_u64_slot *slot = cell ? cell->slot : NULL;

	assert(value);
	if (!slot && (!cell || map->count == map->cell_count / 2)) {
		if (grow_u64(map))
			return -ENOMEM;
		cell = find_u64(map, key);
	}
	if (!slot)
		slot = add_u64(map, key, cell);
	if (!slot)
		return -ENOMEM;
	if (ret_old)
		*ret_old = slot->entry.value;
	slot->entry.value = value;
	return 0;
}

void *map_u64_get(const struct map_u64 *map, uint64_t key)
{
	struct map_u64_slot *slot = map->cells ? find_u64(map, key)->slot : NULL;

	return slot ? slot->entry.value : NULL;
}

/* Frees a cell: those behind it that would not be found any more move up. */
static void close_gap(struct map_u64 *map, struct map_u64_cell *cell)
{
	size_t mask = map->cell_count - 1, gap = (size_t)(cell - map->cells);

	for (size_t at = (gap + 1) & mask; map->cells[at].slot; at = (at + 1) & mask) {
		size_t home = home_u64(map, map->cells[at].key);

		if (((at - home) & mask) < ((at - gap) & mask))
			continue; /* it is between its home and here: the gap is not on its way */
		map->cells[gap] = map->cells[at];
		gap = at;
	}
	map->cells[gap].slot = NULL;
}

void *map_u64_remove(struct map_u64 *map, uint64_t key)
{
	struct map_u64_cell *cell = map->cells ? find_u64(map, key) : NULL;
	struct map_u64_slot *slot = cell ? cell->slot : NULL;

	if (!slot)
		return NULL;
	void *value = slot->entry.value;

	*(slot->before ? &slot->before->after : &map->first) = slot->after;
	*(slot->after ? &slot->after->before : &map->last) = slot->before;
	close_gap(map, cell);
	slab_put(&map->slots, slot->handle);
	map->count--;
	return value;
}

const struct map_u64_entry *map_u64_next(const struct map_u64 *map,
					 const struct map_u64_entry *entry)
{
	const struct map_u64_slot *slot = entry ? ((const struct map_u64_slot *)entry)->after
						: map->first;

	return slot ? &slot->entry : NULL;
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
