/* The documents of stage_schedule.h. JSON entries are read by an option table, lines by hand; both end in add_entry. */
#include "formats/stage_schedule.h"

#include "core/map.h"
#include "core/option.h"
#include "formats/model_layers.h"

#include <strata/limits.h>
#include <strata/option.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

struct entry_conf {
	int kind;
	int64_t first, count;
	const char *layer_name;
};

static const struct strata_choice kinds[] = { { "fetch", STRATA_STAGE_FETCH },
					      { "prefetch", STRATA_STAGE_PREFETCH },
					      { "compute", STRATA_STAGE_COMPUTE },
					      { "release", STRATA_STAGE_RELEASE },
					      { 0 } };
static const struct strata_option entry_options[] = {
	{ "kind", STRATA_ENUM, offsetof(struct entry_conf, kind),
	  .choice = { kinds, STRATA_STAGE_FETCH }, .flags = STRATA_REQUIRED,
	  .help = "what is done" },
	{ "layer_name", STRATA_TEXT, offsetof(struct entry_conf, layer_name),
	  .text = { NULL, STRATA_NAME_BYTES_MAX }, .flags = STRATA_OPAQUE | STRATA_REQUIRED,
	  .help = "to which" },
	{ "first", STRATA_INT, offsetof(struct entry_conf, first),
	  .integer = { 0, 0, STRATA_STAGE_PAGES_MAX }, .help = "page" },
	{ "count", STRATA_INT, offsetof(struct entry_conf, count),
	  .integer = { -1, -1, STRATA_STAGE_PAGES_MAX }, .help = "of pages; -1: the whole layer" },
	{ 0 }
};
static const struct strata_schema entry_schema = { "entry", NULL, sizeof(struct entry_conf),
						   entry_options };

struct document_conf {
	int64_t page_bytes, budget_bytes;
	struct strata_list schedule, held;
};

static const struct strata_option entry_item = { .type = STRATA_TABLE, .table = &entry_schema };
static const struct strata_option pages_item = { .type = STRATA_INT,
						 .integer = { 0, 0, STRATA_STAGE_PAGES_MAX } };
static const struct strata_option document_options[] = {
	{ "page_bytes", STRATA_BYTES, offsetof(struct document_conf, page_bytes),
	  .integer = { 0, 1, INT64_C(1) << 40 }, .help = "size of a page" },
	{ "budget_bytes", STRATA_BYTES, offsetof(struct document_conf, budget_bytes),
	  .integer = { 0, 1, INT64_MAX }, .help = "memory for parameters" },
	{ "held", STRATA_LIST, offsetof(struct document_conf, held),
	  .list = { &pages_item, STRATA_STAGE_VISITS_MAX },
	  .help = "pages of each layer that are there when a step begins" },
	{ "schedule", STRATA_LIST, offsetof(struct document_conf, schedule),
	  .list = { &entry_item, STRATA_STAGE_VISITS_MAX }, .flags = STRATA_REQUIRED,
	  .help = "its entries" },
	{ 0 }
};
static const struct strata_schema document_schema = { "schedule", NULL,
						      sizeof(struct document_conf),
						      document_options };

struct reader {
	struct strata_arena *arena;
	struct stage_schedule *schedule;
	struct map_text layers;           /* name → index, 1 more than it is */
	struct strata_stage_layer *named; /* when nobody said which there are */
	size_t entry_max;
	struct strata_error *err;
};

/* ---- entries ---- */

static int add_layer(struct reader *reader, const char *name, size_t length, size_t index)
{
	int rc = map_text_put(&reader->layers, name, length, (void *)(uintptr_t)(index + 1), NULL);

	return rc ? strata_fail_memory(reader->err) : 0;
}

static int find_layer(struct reader *reader, const char *name, size_t length, uint32_t *ret_layer)
{
	struct strata_stage_model *model = &reader->schedule->model;
	size_t index = (uintptr_t)map_text_get(&reader->layers, name, length);

	if (!index && !reader->named)
		return strata_fail_at(reader->err, -EINVAL, "layer_name",
				      "there is no layer '%.*s'", (int)(length < 64 ? length : 64),
				      name);
	if (!index) {
		char *copy = strata_arena_text(reader->arena, name, length);
		int rc = copy ? add_layer(reader, name, length, model->layer_count)
			      : strata_fail_memory(reader->err);

		if (rc)
			return rc;
		reader->named[model->layer_count++] = (struct strata_stage_layer){ copy, 1, 0 };
		index = model->layer_count;
	}
	*ret_layer = (uint32_t)(index - 1);
	return 0;
}

static int add_entry(struct reader *reader, enum strata_stage_kind kind, const char *name,
		     size_t length, int64_t first, int64_t count)
{
	struct stage_schedule *schedule = reader->schedule;
	struct strata_stage_entry entry = { .kind = kind,
					    .first = (uint32_t)first,
					    .count = count < 0 ? STRATA_STAGE_REST
							       : (uint32_t)count };
	int rc = find_layer(reader, name, length, &entry.layer);

	if (rc == 0)
		schedule->entries[schedule->entry_count++] = entry;
	return rc;
}

/* Room for so many entries, and for the names in them when there are no layers yet. */
static int make_room(struct reader *reader, size_t entry_max)
{
	struct stage_schedule *schedule = reader->schedule;

	if (entry_max > STRATA_STAGE_VISITS_MAX)
		return strata_fail(reader->err, -E2BIG, "more than %d entries",
				   STRATA_STAGE_VISITS_MAX);
	schedule->entries =
		strata_arena_array(reader->arena, entry_max + 1, sizeof(*schedule->entries));
	if (!schedule->model.layers) {
		reader->named =
			strata_arena_array(reader->arena, entry_max + 1, sizeof(*reader->named));
		schedule->model.layers = reader->named;
	}
	return schedule->entries && schedule->model.layers ? 0 : strata_fail_memory(reader->err);
}

static int set_layers(struct reader *reader, const struct strata_stage_model *model)
{
	int rc = 0;

	reader->schedule->model.layers = model->layers;
	reader->schedule->model.layer_count = model->layer_count;
	for (size_t i = 0; rc == 0 && i < model->layer_count; i++)
		rc = add_layer(reader, model->layers[i].name, strlen(model->layers[i].name), i);
	return rc;
}

/* ---- JSON ---- */

static int read_layers(struct reader *reader, json_t *layers)
{
	json_t *part = json_pack("{s:O}", "layers", layers);
	struct strata_stage_model model;
	int rc = part ? model_layers_read_json(part, reader->arena, &model, reader->err)
		      : strata_fail_memory(reader->err);

	json_decref(part);
	reader->schedule->has_layers = true;
	return rc ? rc : set_layers(reader, &model);
}

static int read_held(struct reader *reader, const struct strata_list *list)
{
	uint32_t *held = strata_arena_array(reader->arena, list->count, sizeof(*held));

	if (list->count != reader->schedule->model.layer_count)
		return strata_fail_at(reader->err, -EINVAL, "held", "%zu numbers for %zu layers",
				      list->count, reader->schedule->model.layer_count);
	if (!held)
		return strata_fail_memory(reader->err);
	for (size_t i = 0; i < list->count; i++)
		held[i] = (uint32_t)((const int64_t *)list->items)[i];
	reader->schedule->held = held;
	return 0;
}

static int read_document(struct reader *reader, json_t *json)
{
	struct document_conf conf = { 0 };
	json_t *layers = json_object_get(json, "layers"), *part = json_object();
	int rc = part ? 0 : strata_fail_memory(reader->err);

	for (const struct strata_option *row = document_options; rc == 0 && row->name; row++) {
		json_t *value = json_is_array(json) ? json : json_object_get(json, row->name);

		if (json_is_array(json) && strcmp(row->name, "schedule") != 0)
			continue;
		if (value && json_object_set(part, row->name, value))
			rc = strata_fail_memory(reader->err);
	}
	if (rc == 0)
		rc = option_read_json(&document_schema, part, 0, reader->arena, &conf, reader->err);
	json_decref(part);
	if (rc == 0 && layers)
		rc = read_layers(reader, layers);
	if (rc == 0 && conf.held.count)
		rc = read_held(reader, &conf.held);
	if (rc == 0)
		rc = make_room(reader, conf.schedule.count);
	reader->schedule->page_bytes = conf.page_bytes;
	reader->schedule->budget_bytes = conf.budget_bytes;
	for (size_t i = 0; rc == 0 && i < conf.schedule.count; i++) {
		const struct entry_conf *entry = (struct entry_conf *)conf.schedule.items + i;

		rc = add_entry(reader, (enum strata_stage_kind)entry->kind, entry->layer_name,
			       strlen(entry->layer_name), entry->first, entry->count);
	}
	return rc;
}

/* ---- text ---- */

struct word {
	const char *text;
	size_t length;
};

/* Up to three words of a line; a fourth is counted. */
static size_t split(const char *line, const char *end, struct word ret_words[4])
{
	size_t count = 0;

	for (const char *at = line; at < end && *at != '#' && count < 4; count++) {
		while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
			at++;
		const char *begin = at;

		while (at < end && *at != ' ' && *at != '\t' && *at != '\r' && *at != '#')
			at++;
		if (at == begin)
			return count;
		ret_words[count] = (struct word){ begin, (size_t)(at - begin) };
	}
	return count;
}

static int read_pages(const struct word *word, int64_t *ret_first, int64_t *ret_count,
		      struct strata_error *err)
{
	const char *dash = memchr(word->text, '-', word->length);
	size_t length = dash ? (size_t)(dash - word->text) : word->length;
	int64_t first, last;
	int rc = strata_int_parse(word->text, length, 0, STRATA_STAGE_PAGES_MAX, &first, err);

	last = first;
	if (rc == 0 && dash)
		rc = strata_int_parse(dash + 1, word->length - length - 1, first,
				      STRATA_STAGE_PAGES_MAX, &last, err);
	if (rc)
		return rc;
	*ret_first = first;
	*ret_count = last - first + 1;
	return 0;
}

static int read_line(struct reader *reader, const struct word *words, size_t count)
{
	int64_t first = 0, pages = -1;
	size_t kind = 0;
	int rc = 0;

	while (kinds[kind].name && (strlen(kinds[kind].name) != words[0].length ||
				    memcmp(kinds[kind].name, words[0].text, words[0].length) != 0))
		kind++;
	if (!kinds[kind].name)
		return strata_fail(
			reader->err, -EINVAL,
			"'%.*s' is no kind; expected fetch, prefetch, compute or release",
			(int)(words[0].length < 64 ? words[0].length : 64), words[0].text);
	if (count < 2 || count > 3)
		return strata_fail(reader->err, -EINVAL,
				   "expected a kind, a layer and perhaps pages: prefetch L2 0-31");
	if (words[1].length > STRATA_NAME_BYTES_MAX)
		return strata_fail(reader->err, -EINVAL, "a name of more than %d bytes",
				   STRATA_NAME_BYTES_MAX);
	if (count == 3)
		rc = read_pages(&words[2], &first, &pages, reader->err);
	if (rc)
		return rc;
	return add_entry(reader, (enum strata_stage_kind)kinds[kind].value, words[1].text,
			 words[1].length, first, pages);
}

static int read_lines(struct reader *reader, const char *text, size_t length)
{
	const char *end = text + length;
	struct strata_error *err = reader->err, why = { 0 };
	size_t lines = 1, line = 0;
	int rc;

	for (const char *at = text; (at = memchr(at, '\n', (size_t)(end - at))); at++)
		lines++;
	rc = make_room(reader, lines);
	reader->err = &why;
	for (const char *at = text; rc == 0 && at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct word words[4];
		size_t count = split(at, stop ? stop : end, words);

		line++;
		if (count)
			rc = read_line(reader, words, count);
		if (rc)
			return strata_fail(err, rc, "line %zu: %s", line, why.text);
		at = stop ? stop + 1 : end;
	}
	reader->err = err;
	return rc;
}

/* ---- together ---- */

/* The visits, and which of them go backward: the second half when it mirrors the first. */
static int set_visits(struct reader *reader)
{
	struct stage_schedule *schedule = reader->schedule;
	uint32_t *order =
		strata_arena_array(reader->arena, schedule->entry_count + 1, sizeof(*order));
	size_t count = 0;

	if (!order)
		return strata_fail_memory(reader->err);
	for (size_t i = 0; i < schedule->entry_count; i++)
		if (schedule->entries[i].kind == STRATA_STAGE_COMPUTE)
			order[count++] = schedule->entries[i].layer;
	if (!count)
		return strata_fail(reader->err, -EINVAL, "the schedule computes nothing");
	schedule->model.order = order;
	schedule->model.visit_count = count;
	model_layers_find_backward(&schedule->model);
	return 0;
}

int stage_schedule_read(const char *text, size_t length, const struct strata_stage_model *known,
			struct strata_arena *arena, struct stage_schedule *ret_schedule,
			struct strata_error *err)
{
	struct stage_schedule schedule = { 0 };
	struct reader reader = { .arena = arena, .schedule = &schedule, .err = err };
	size_t blank = 0;
	json_t *json = NULL;

	while (blank < length && memchr(" \t\r\n", text[blank], 4))
		blank++;
	bool is_json = blank < length && (text[blank] == '[' || text[blank] == '{');
	int rc = is_json ? option_load_json(text, length, &json, err) : 0;

	map_text_init(&reader.layers, arena->memory);
	if (rc == 0 && known)
		rc = set_layers(&reader, known);
	if (rc == 0)
		rc = json ? read_document(&reader, json) : read_lines(&reader, text, length);
	if (rc == 0)
		rc = set_visits(&reader);
	map_text_fini(&reader.layers);
	json_decref(json);
	if (rc == 0)
		*ret_schedule = schedule;
	return rc;
}

json_t *stage_schedule_json(const struct strata_stage_plan *plan,
			    const struct strata_stage_model *model)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < plan->entry_count; i++) {
		const struct strata_stage_entry *entry = &plan->entries[i];
		json_t *one = json_pack("{s:s,s:s}", "kind", strata_stage_kind_name(entry->kind),
					"layer_name", model->layers[entry->layer].name);

		if (one && entry->kind != STRATA_STAGE_COMPUTE &&
		    (json_object_set_new(one, "first", json_integer(entry->first)) ||
		     json_object_set_new(one, "count", json_integer(entry->count)))) {
			json_decref(one);
			one = NULL;
		}
		if (json_array_append_new(list, one)) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

void stage_schedule_add(struct buf *buf, const struct strata_stage_entry *entry,
			const struct strata_stage_model *model)
{
	buf_printf(buf, "%s %s", strata_stage_kind_name(entry->kind),
		   model->layers[entry->layer].name);
	if (entry->kind != STRATA_STAGE_COMPUTE && entry->count)
		buf_printf(buf, " %u-%u", entry->first, entry->first + entry->count - 1);
}

/* ---- as a plan ---- */

static int64_t first_of(int64_t a, int64_t b, int64_t c)
{
	return a ? a : b ? b : c;
}

/* All layers, in whole pages; what is too much for a sum is no limit either. */
static int64_t bytes_of_all(const struct strata_stage_model *model, int64_t page_bytes)
{
	int64_t all = 0;

	for (size_t i = 0; i < model->layer_count && all < INT64_C(1) << 60; i++)
		all += (model->layers[i].bytes / page_bytes + 1) * page_bytes;
	return all;
}

int stage_schedule_plan(const char *text, size_t length, const struct strata_stage_machine *machine,
			const struct strata_stage_model *known, struct strata_arena *arena,
			struct strata_stage_model *ret_model, struct strata_stage_plan *ret_plan,
			struct strata_error *err)
{
	struct strata_stage_machine whole = *machine;
	struct stage_schedule schedule;
	struct strata_stage_plan plan;
	int rc = stage_schedule_read(text, length, known, arena, &schedule, err);

	if (rc)
		return rc;
	bool sizes = schedule.has_layers || known;

	whole.page_bytes = first_of(machine->page_bytes, schedule.page_bytes, sizes ? 2 << 20 : 1);
	whole.budget_bytes = first_of(machine->budget_bytes, schedule.budget_bytes,
				      bytes_of_all(&schedule.model, whole.page_bytes));
	rc = strata_stage_schedule(&schedule.model, &whole, schedule.held, schedule.entries,
				   schedule.entry_count, arena, &plan, err);
	if (rc == 0)
		rc = strata_stage_verify(&plan, &schedule.model, arena, err);
	if (rc)
		return rc;
	*ret_model = schedule.model;
	*ret_plan = plan;
	return 0;
}
