/*
 * A copy of a conf that stands by itself: the struct, and behind it in the same block the texts, lists and maps that its fields point
 * to. So an object can keep its settings for as long as it lives, whatever arena they were read into.
 */
#include "core/option_copy.h"

#include "core/option.h"

#include <string.h>

enum { ALIGNMENT = 16 };

/* Takes room from a block; without one it only counts. */
struct room {
	char *block;
	size_t used;
};

static void *take(struct room *room, const void *from, size_t bytes)
{
	char *at = room->block ? room->block + room->used : NULL;

	if (at && bytes)
		memcpy(at, from, bytes);
	room->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return at;
}

static void copy_fields(const struct strata_schema *schema, const void *from, void *to,
			struct room *room);
static void copy_slot(const struct strata_option *option, const void *from, void *to,
		      struct room *room);

static const char *copy_text(const char *text, struct room *room)
{
	return text ? take(room, text, strlen(text) + 1) : NULL;
}

static void *copy_items(const struct strata_option *item, const void *items, size_t count,
			struct room *room)
{
	size_t size = option_size(item);
	const char *from = items;
	char *to = take(room, from, count * size);

	for (size_t i = 0; i < count; i++)
		copy_slot(item, from + i * size, to ? to + i * size : NULL, room);
	return to;
}

static const char **copy_keys(const struct strata_map *map, struct room *room)
{
	const char **keys = take(room, map->keys, map->count * sizeof(*keys));

	for (size_t i = 0; i < map->count; i++) {
		const char *key = copy_text(map->keys[i], room);

		if (keys)
			keys[i] = key;
	}
	return keys;
}

/* The slot itself is copied already, or `to` is NULL. */
static void copy_slot(const struct strata_option *option, const void *from, void *to,
		      struct room *room)
{
	if (option->type == STRATA_TEXT) {
		const char *text = copy_text(*(const char *const *)from, room);

		if (to)
			*(const char **)to = text;
	} else if (option->type == STRATA_LIST) {
		const struct strata_list *list = from;
		void *items = copy_items(option->list.item, list->items, list->count, room);

		if (to)
			((struct strata_list *)to)->items = items;
	} else if (option->type == STRATA_MAP) {
		const struct strata_map *map = from;
		const char **keys = copy_keys(map, room);
		void *items = copy_items(option->list.item, map->items, map->count, room);

		if (to)
			*(struct strata_map *)to = (struct strata_map){ keys, items, map->count };
	} else if (option->type == STRATA_TABLE) {
		copy_fields(option->table, from, to, room);
	}
}

static void copy_fields(const struct strata_schema *schema, const void *from, void *to,
			struct room *room)
{
	for (const struct strata_option *option = schema->options; option && option->name; option++)
		copy_slot(option, (const char *)from + option->offset,
			  to ? (char *)to + option->offset : NULL, room);
}

size_t option_copy_bytes(const struct strata_schema *schema, const void *conf)
{
	struct room room = { 0 };

	take(&room, conf, schema->conf_size);
	copy_fields(schema, conf, NULL, &room);
	return room.used;
}

void option_copy(const struct strata_schema *schema, const void *conf, void *ret_block)
{
	struct room room = { .block = ret_block };
	void *to = take(&room, conf, schema->conf_size);

	copy_fields(schema, conf, to, &room);
}
