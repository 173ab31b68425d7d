/*
 * Two hash maps, from numbers and from text to pointers, both walked in the order of insertion, so
 * nothing that is decided on the way depends on hashes. Memory comes from a struct
 * strata_memory; a put that runs out of memory changes nothing.
 *
 * A map that has grown keeps its table: putting and removing around a steady size allocates nothing
 * for numbers (entries come from a slab) and one block, which holds the copied key, for text.
 * Values are borrowed and never NULL, which is how a get says that there is none.
 */
#ifndef CORE_MAP_H
#define CORE_MAP_H

#include "core/slab.h"

/* An entry while walking; valid until it is removed. */
struct map_u64_entry {
	uint64_t key;
	void *value;
};

struct map_u64 {
	struct slab slots;                 /* of struct map_u64_slot, this entry and its links */
	struct map_u64_cell *cells;        /* owned; NULL before the first put */
	size_t cell_count;                 /* a power of two, at least twice the count */
	struct map_u64_slot *first, *last; /* in the order of insertion */
	size_t count;
};

/* Allocates nothing. */
void map_u64_init(struct map_u64 *map, struct strata_memory *memory);
void map_u64_fini(struct map_u64 *map);

/* Adds a key at the end of the walk, or gives a known key another value where it is. ret_old (may
 * be NULL) becomes the value it had, NULL when it is new. 0, or -ENOMEM and nothing changed. */
int map_u64_put(struct map_u64 *map, uint64_t key, void *value, void **ret_old);
/* The value, or NULL. */
void *map_u64_get(const struct map_u64 *map, uint64_t key);
/* Removes a key and returns the value it had, or NULL. */
void *map_u64_remove(struct map_u64 *map, uint64_t key);
/* The entry put in after this one (NULL: the first), or NULL at the end. Take the next before
 * removing this one. */
const struct map_u64_entry *map_u64_next(const struct map_u64 *map,
					 const struct map_u64_entry *entry);

struct map_text_entry {
	const char *key; /* a copy, NUL behind it */
	size_t key_bytes;
	void *value;
};

struct map_text {
	struct strata_memory *memory; /* borrowed until map_text_fini */
	struct map_text_slot *anchor; /* in front of all entries; NULL before the first put */
	size_t count;
};

/* The same with keys of any bytes, NULs included, up to STRATA_TEXT_BYTES_MAX (longer: -E2BIG). The
 * empty text is a key like others. */
void map_text_init(struct map_text *map, struct strata_memory *memory);
void map_text_fini(struct map_text *map);
int map_text_put(struct map_text *map, const char *key, size_t key_bytes, void *value,
		 void **ret_old);
void *map_text_get(const struct map_text *map, const char *key, size_t key_bytes);
/* The whole entry, for its copy of the key; valid until it is removed. NULL when there is none. */
const struct map_text_entry *map_text_find(const struct map_text *map, const char *key,
					   size_t key_bytes);
void *map_text_remove(struct map_text *map, const char *key, size_t key_bytes);
const struct map_text_entry *map_text_next(const struct map_text *map,
					   const struct map_text_entry *entry);

#endif
