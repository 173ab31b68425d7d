/*
 * What every class of every kind must keep, whoever wrote it. The registries are walked, so a class is tested from the day
 * its line is added; what a kind promises beyond this is in contract_<kind>.c.
 */
#include "test.h"

#include "core/class.h"
#include "core/option.h"

#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static void each_class(void (*check)(const struct strata_kind *kind,
				     const struct strata_class *cls))
{
	const struct strata_kind *kind;

	for (size_t i = 0; (kind = strata_kind_at(i)); i++)
		for (const struct strata_class *const *at = kind->classes; *at; at++) {
			strata_arena_fini(&arena);
			strata_arena_init(&arena, &memory, 0);
			check(kind, *at);
		}
	strata_arena_fini(&arena);
}

TEST(kinds_have_names_summaries_and_classes)
{
	const struct strata_kind *kind;

	for (size_t i = 0; (kind = strata_kind_at(i)); i++) {
		CHECK(strata_kind_find(kind->name) == kind);
		CHECK(*kind->summary && kind->classes[0]);
	}
	CHECK(!strata_kind_find("no such kind"));
}

static void well_formed(const struct strata_kind *kind, const struct strata_class *cls)
{
	(void)kind;
	CHECK_OK(strata_class_check(cls, &err));
	CHECK(cls->summary[0] && cls->summary[strlen(cls->summary) - 1] != '.');
	for (const struct strata_option *option = cls->options; option && option->name; option++)
		CHECK(option->help && *option->help);
}

TEST(every_class_is_well_formed_and_documented)
{
	each_class(well_formed);
}

TEST(classes_are_sorted_and_no_name_means_two_of_them)
{
	const struct strata_kind *kind;

	for (size_t i = 0; (kind = strata_kind_at(i)); i++)
		for (const struct strata_class *const *at = kind->classes; *at; at++) {
			if (at[1])
				CHECK(strcmp(at[0]->name, at[1]->name) < 0);
			for (const struct strata_class *const *other = kind->classes; *other;
			     other++) {
				const char *aliases = (*at)->aliases, *alias;
				size_t length;

				if (other == at)
					continue;
				CHECK(!class_is_called(*other, (*at)->name, strlen((*at)->name)));
				while (class_next_alias(&aliases, &alias, &length))
					CHECK(!class_is_called(*other, alias, length));
			}
		}
}

static bool has_required(const struct strata_class *cls)
{
	for (const struct strata_option *option = cls->options; option && option->name; option++)
		if (option->flags & STRATA_REQUIRED)
			return true;
	return false;
}

static void spec_round_trip(const struct strata_kind *kind, const struct strata_class *cls)
{
	struct strata_registry *registry;
	struct strata_spec first, second;
	const char *text, *again;

	if (has_required(cls))
		return;
	CHECK_OK(strata_registry_new(kind, &memory, &registry, &err));
	CHECK_OK(strata_spec_read(registry, cls->name, strlen(cls->name), &arena, &first, &err));
	CHECK(first.cls == cls);
	CHECK_OK(strata_spec_print(&first, &arena, &text, &err));
	CHECK_OK(strata_spec_read(registry, text, strlen(text), &arena, &second, &err));
	CHECK_OK(strata_spec_print(&second, &arena, &again, &err));
	CHECK_TEXT(again, text);
	strata_registry_free(registry);
}

TEST(a_printed_spec_reads_back)
{
	each_class(spec_round_trip);
}

static void json_round_trip(const struct strata_kind *kind, const struct strata_class *cls)
{
	struct strata_schema schema = class_schema(cls);
	char *conf = strata_arena_get(&arena, schema.conf_size);
	const char *first, *second;

	(void)kind;
	CHECK_OK(strata_schema_defaults(&schema, &arena, conf, &err));
	CHECK_OK(strata_schema_write_json(&schema, conf, &arena, &first, &err));
	if (has_required(cls))
		return;
	CHECK_OK(strata_schema_read_json(&schema, first, strlen(first), &arena, conf, &err));
	CHECK_OK(strata_schema_write_json(&schema, conf, &arena, &second, &err));
	CHECK_TEXT(second, first);
}

TEST(the_options_of_every_class_survive_json)
{
	each_class(json_round_trip);
}

static void described(const struct strata_kind *kind, const struct strata_class *cls)
{
	struct strata_schema schema = class_schema(cls);
	json_t *json = option_openapi(&schema);

	(void)kind;
	CHECK(json);
	for (const struct strata_option *option = cls->options; option && option->name; option++)
		CHECK(json_object_get(json_object_get(json, "properties"), option->name));
	json_decref(json);
}

TEST(every_option_is_in_the_schema)
{
	each_class(described);
}
