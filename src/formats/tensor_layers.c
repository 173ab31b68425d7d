/* The grouping of tensor_layers.h: a length of each name, a map from what is cut off there to layers, one sort. */
#include "formats/tensor_layers.h"

#include "core/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct group {
	struct tensor_layer layer;
	uint32_t *members; /* room for all of them, filled from the front */
	size_t family;     /* the first group whose name differs in the number only */
	uint64_t number;   /* cut off at 64 bits; 0 where the name has none */
	size_t at;         /* which it was, in the order of first tensors */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The end of a part of a name: at the next dot or the end. */
static size_t part_end(const char *name, size_t from)
{
	return from + strcspn(name + from, ".");
}

static bool is_number(const char *name, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++)
		if (!is_digit(name[i]))
			return false;
	return end > from;
}

/* How much of the name the layer is called by: up to the first number, or all but the last part. */
static size_t default_length(const char *name)
{
	size_t from = 0, last = 0;

	for (;;) {
		size_t end = part_end(name, from);

		if (is_number(name, from, end))
			return end;
		if (!name[end])
			return last ? last : end;
		last = end;
		from = end + 1;
	}
}

/* How much of the name the pattern covers, part by part; 0: it does not fit. */
static size_t pattern_length(const char *pattern, size_t pattern_bytes, const char *name)
{
	size_t at = 0, from = 0;

	for (;;) {
		size_t dot = at;

		while (dot < pattern_bytes && pattern[dot] != '.')
			dot++;
		size_t end = part_end(name, from);
		bool any = dot - at == 1 && pattern[at] == '*';

		if (end == from || (!any && (end - from != dot - at ||
					     memcmp(pattern + at, name + from, dot - at))))
			return 0;
		if (dot == pattern_bytes)
			return end;
		if (!name[end])
			return 0;
		at = dot + 1;
		from = end + 1;
	}
}

static size_t layer_length(const char *name, const char *patterns)
{
	for (const char *at = patterns; at && *at;) {
		at += strspn(at, " ,");
		size_t bytes = strcspn(at, " ,");
		size_t length = bytes ? pattern_length(at, bytes, name) : 0;

		if (length)
			return length;
		at += bytes;
	}
	return default_length(name);
}

/* Where the name's last number is: the part that tells layers of a family apart. */
static bool find_number(const char *name, size_t *ret_from, size_t *ret_end)
{
	bool found = false;

	for (size_t from = 0, end;; from = end + 1) {
		end = part_end(name, from);
		if (is_number(name, from, end)) {
			*ret_from = from;
			*ret_end = end;
			found = true;
		}
		if (!name[end])
			return found;
	}
}

/* ---- groups ---- */

struct making {
	struct strata_arena *arena;
	struct map_text known, families; /* groups by name, and by the name without its number */
	struct group *groups;
	size_t group_count;
};

/* Layers of one name but for the number are of one family, which is known by its first group. */
static int find_family(struct making *making, struct group *group, struct strata_error *err)
{
	const char *name = group->layer.name;
	size_t from, end;

	group->family = group->at;
	if (!find_number(name, &from, &end))
		return 0;
	const char *rest =
		strata_arena_printf(making->arena, "%.*s*%s", (int)from, name, name + end);

	if (!rest)
		return strata_fail_memory(err);
	group->number = strtoull(name + from, NULL, 10);
	const struct group *first = map_text_get(&making->families, rest, strlen(rest));

	if (first)
		group->family = first->at;
	else if (map_text_put(&making->families, rest, strlen(rest), group, NULL))
		return strata_fail_memory(err);
	return 0;
}

static int find_group(struct making *making, const char *name, size_t length,
		      struct group **ret_group, struct strata_error *err)
{
	struct group *group = map_text_get(&making->known, name, length);

	if (!group) {
		group = &making->groups[making->group_count];
		group->at = making->group_count;
		group->layer.name = strata_arena_text(making->arena, name, length);
		if (!group->layer.name || map_text_put(&making->known, name, length, group, NULL))
			return strata_fail_memory(err);
		int rc = find_family(making, group, err);

		if (rc)
			return rc;
		making->group_count++;
	}
	*ret_group = group;
	return 0;
}

/* Two passes: how many of each, then which. */
static int gather(struct making *making, const char *const *names, size_t count,
		  const char *patterns, struct strata_error *err)
{
	uint32_t *members = strata_arena_array(making->arena, count, sizeof(*members));
	struct group **of = strata_arena_array(making->arena, count, sizeof(struct group *));

	making->groups = strata_arena_array(making->arena, count, sizeof(*making->groups));
	if (!members || !of || !making->groups)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		int rc =
			find_group(making, names[i], layer_length(names[i], patterns), &of[i], err);

		if (rc)
			return rc;
		of[i]->layer.member_count++;
	}
	for (size_t g = 0; g < making->group_count; g++) {
		struct group *group = &making->groups[g];

		group->layer.members = group->members = members;
		members += group->layer.member_count;
	}
	for (size_t i = 0; i < count; i++)
		*of[i]->members++ = (uint32_t)i;
	return 0;
}

static int in_order(const void *one, const void *two)
{
	const struct group *a = one, *b = two;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static int check_patterns(const char *patterns, struct strata_error *err)
{
	for (const char *at = patterns; at && *at;) {
		at += strspn(at, " ,");
		size_t bytes = strcspn(at, " ,");

		if (bytes && (at[0] == '.' || at[bytes - 1] == '.' || memmem(at, bytes, "..", 2)))
			return strata_fail_at(err, -EINVAL, "group",
					      "'%.*s' is no pattern; expected parts of a name with "
					      "dots between them, such as model.layers.*",
					      (int)(bytes < 64 ? bytes : 64), at);
		at += bytes;
	}
	return 0;
}

int tensor_layers_make(const char *const *names, size_t name_count, const char *patterns,
		       struct strata_arena *arena, struct tensor_layer **ret_layers,
		       size_t *ret_layer_count, struct strata_error *err)
{
	struct making making = { .arena = arena };
	int rc = check_patterns(patterns, err);

	map_text_init(&making.known, arena->memory);
	map_text_init(&making.families, arena->memory);
	if (rc == 0)
		rc = gather(&making, names, name_count, patterns, err);
	map_text_fini(&making.known);
	map_text_fini(&making.families);
	if (rc)
		return rc;
	struct tensor_layer *layers =
		strata_arena_array(arena, making.group_count, sizeof(*layers));

	if (!layers)
		return strata_fail_memory(err);
	if (making.group_count)
		qsort(making.groups, making.group_count, sizeof(*making.groups), in_order);
	for (size_t g = 0; g < making.group_count; g++)
		layers[g] = making.groups[g].layer;
	*ret_layers = layers;
	*ret_layer_count = making.group_count;
	return 0;
}
