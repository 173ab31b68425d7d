/* Specs of live_spec.h: one block each, with all texts behind the struct. */
#include "server/live_spec.h"

#include <strata/slurm.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the copy ---- */

/* Where texts go; without a block they are only counted. */
struct room {
	char *at;
	size_t bytes;
};

static void *take(struct room *room, const void *bytes, size_t count, size_t align)
{
	size_t pad = (align - room->bytes % align) % align;
	char *to = room->at ? room->at + room->bytes + pad : NULL;

	if (to && count)
		memcpy(to, bytes, count);
	room->bytes += pad + count;
	return to;
}

static const char *take_text(struct room *room, const char *text)
{
	return text ? take(room, text, strlen(text) + 1, 1) : NULL;
}

/* A list of texts. */
static void take_list(struct room *room, struct strata_list *list)
{
	const char **items = list->items,
		   **own = take(room, items, list->count * sizeof(*items), sizeof(*items));

	for (size_t i = 0; i < list->count; i++) {
		const char *text = take_text(room, items[i]);

		if (own)
			own[i] = text;
	}
	list->items = own;
}

/* Every text of the spec becomes one of the room's, by the table of what it has. */
static void take_texts(struct room *room, struct job_spec *spec)
{
	for (const struct strata_option *option = job_spec_schema.options; option->name; option++) {
		void *slot = (char *)spec + option->offset;

		if (option->type == STRATA_TEXT)
			*(const char **)slot = take_text(room, *(const char *const *)slot);
		else if (option->type == STRATA_LIST)
			take_list(room, slot);
	}
}

/* ---- who holds it ---- */

static const char *const hold_words[] = {
	[JOB_NOT_HELD] = "",
	[JOB_HELD] = "\"hold\":true",
	[JOB_HELD_BY_OWNER] = "\"hold\":true,\"held_by\":\"owner\"",
	[JOB_HELD_BY_OPERATOR] = "\"hold\":true,\"held_by\":\"operator\"",
};

static enum job_hold take_hold(json_t *json)
{
	bool hold = json_is_true(json_object_get(json, "hold"));
	const char *by = json_string_value(json_object_get(json, "held_by"));
	enum job_hold held = !hold                         ? JOB_NOT_HELD
			     : !by                         ? JOB_HELD
			     : strcmp(by, "operator") == 0 ? JOB_HELD_BY_OPERATOR
							   : JOB_HELD_BY_OWNER;

	json_object_del(json, "hold");
	json_object_del(json, "held_by");
	return held;
}

char *live_spec_text(const struct live_spec *spec, enum job_hold held)
{
	const char *words = hold_words[held], *comma = *words && *spec->rest != '}' ? "," : "";
	char *text;

	return asprintf(&text, "{%s%s%s", words, comma, spec->rest) < 0 ? NULL : text;
}

/* ---- specs ---- */

/* What an earlier version took in and cannot be read now has no limit. */
static struct live_array read_array(const char *text)
{
	struct strata_memory memory = { 0 };
	struct live_array about = { 0 };
	struct strata_array array;
	struct strata_arena arena;

	if (!text || !*text)
		return about;
	strata_arena_init(&arena, &memory, 0);
	if (strata_array_parse(text, STRATA_TEXT_NUL, &arena, &array, NULL) == 0)
		about = (struct live_array){
			.count = (uint32_t)array.task_count,
			.min = (uint32_t)array.ranges[0].first,
			.max = (uint32_t)array.ranges[array.range_count - 1].last,
			.step = (uint32_t)strata_array_step(&array),
			.limit = (uint32_t)array.limit,
		};
	strata_arena_fini(&arena);
	return about;
}

struct live_spec *live_spec_new(const struct job_spec *spec, json_t *json)
{
	struct live_spec like = { .refs = 1, .spec = *spec, .held = take_hold(json) };
	char *rest = json_dumps(json, JSON_COMPACT), *text = NULL;
	struct live_spec *made = NULL;
	struct room room = { .bytes = sizeof(like) };

	like.asked_tasks = json_object_get(json, "tasks") != NULL;
	like.asked_cpus = json_object_get(json, "cpus_per_task") != NULL;
	like.array = read_array(spec->array);
	like.spec.script = NULL;
	like.spec.environment = (struct strata_map){ 0 };
	if (rest) {
		like.rest = rest + 1;
		text = live_spec_text(&like, like.held);
	}
	if (text) {
		struct job_spec counted = like.spec;

		take_texts(&room, &counted);
		take_text(&room, text);
		made = malloc(room.bytes);
	}
	if (made) {
		room = (struct room){ .at = (char *)made, .bytes = sizeof(*made) };
		take_texts(&room, &like.spec);
		like.text = take_text(&room, text);
		like.rest = like.text + strlen(like.text) - strlen(like.rest);
		*made = like;
	}
	free(text);
	free(rest);
	return made;
}

int live_spec_restore(const char *text, struct live_spec **ret_spec, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct job_spec spec;
	json_t *json = NULL;

	strata_arena_init(&arena, &memory, 0);
	int rc = strata_schema_defaults(&job_spec_schema, &arena, &spec, err);

	if (rc == 0)
		rc = option_load_json(text, strlen(text), &json, err);
	if (rc == 0)
		rc = option_read_json(&job_spec_schema, json, OPTION_STORED, &arena, &spec, err);
	if (rc == 0) {
		struct live_spec *made = live_spec_new(&spec, json);

		rc = made ? 0 : strata_fail_memory(err);
		if (made)
			*ret_spec = made;
	}
	json_decref(json);
	strata_arena_fini(&arena);
	return rc;
}

struct live_spec *live_spec_ref(struct live_spec *spec)
{
	spec->refs++;
	return spec;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Everything is in the JSON, except what admission has chosen in place of the user. */
static bool alike(const struct live_spec *a, const struct live_spec *b)
{
	return same_text(a->text, b->text) && same_text(a->spec.account, b->spec.account) &&
	       same_text(a->spec.partition, b->spec.partition) &&
	       same_text(a->spec.qos, b->spec.qos) &&
	       same_text(a->spec.request_key, b->spec.request_key);
}

struct live_spec *live_spec_merge(struct live_spec *before, struct live_spec *spec)
{
	if (!before || !alike(before, spec))
		return spec;
	live_spec_unref(spec);
	return live_spec_ref(before);
}

void live_spec_unref(struct live_spec *spec)
{
	if (spec && --spec->refs == 0)
		free(spec);
}
