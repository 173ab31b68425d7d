/* Models by name, in directories made for it. */
#include "test.h"

#include "engine/model_find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;

/* A path below the test's directory, with the directories above it made; with an index where it is to be a model. */
static const char *make(const char *below, bool model)
{
	static char paths[8][4096];
	static size_t next;
	char *path = paths[next++ % 8], index[4200];

	snprintf(path, sizeof(paths[0]), "%s/%s/", test_temp_dir(), below);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	path[strlen(path) - 1] = 0;
	snprintf(index, sizeof(index), "%s/model_index.json", path);
	if (model) {
		FILE *file = fopen(index, "w");

		CHECK(file);
		fclose(file);
	}
	return path;
}

/* The folder of a name has to be `want`, as the system sees them. */
static void finds(const struct model_places *places, const char *name, const char *want)
{
	struct strata_arena arena;
	const char *folder = NULL;
	struct stat got, wanted;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(model_find(places, name, &arena, &folder, &err));
	CHECK(stat(folder, &got) == 0 && stat(want, &wanted) == 0);
	CHECK(got.st_ino == wanted.st_ino);
	strata_arena_fini(&arena);
}

static void misses(const struct model_places *places, const char *name, const char *words)
{
	struct strata_arena arena;
	const char *folder = NULL;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(model_find(places, name, &arena, &folder, &err), -ENOENT, words);
	CHECK(!folder);
	strata_arena_fini(&arena);
}

TEST(a_folder_is_taken_as_it_is)
{
	const struct model_places nowhere = { 0 };
	const char *own = make("here/own", true);

	finds(&nowhere, own, own);
	CHECK_INT(chdir(test_temp_dir()), 0);
	finds(&nowhere, "here/own", own);
	finds(&nowhere, "./here/own", own);
}

TEST(a_name_is_looked_for_in_order)
{
	char named[9000], program[4200];
	const char *second = make("b/digits", true), *tree = make("tree/models/digits", true);
	const char *faces = make("tree/models/faces", true), *icons = make("inst/icons", true);

	make("tree/build", false);
	snprintf(named, sizeof(named), ":%s::%s", make("a", false), make("b", false));
	snprintf(program, sizeof(program), "%s/tree/build/strata-full", test_temp_dir());
	const struct model_places places = { named, program, make("inst", false) };
	const struct model_places fewer = { .program = program };

	finds(&places, "digits", second);
	finds(&fewer, "digits", tree);
	finds(&places, "faces", faces);
	finds(&places, "icons", icons);
}

TEST(installed_programs_find_what_is_installed_with_them)
{
	char program[4200];
	const char *model = make("usr/share/strata/models/digits", true);

	make("usr/libexec/strata", false);
	make("usr/bin", false);
	snprintf(program, sizeof(program), "%s/usr/libexec/strata/strata-full", test_temp_dir());
	finds(&(struct model_places){ .program = program }, "digits", model);
	snprintf(program, sizeof(program), "%s/usr/bin/strata", test_temp_dir());
	finds(&(struct model_places){ .program = program }, "digits", model);
}

TEST(what_is_not_there_is_told_with_what_is)
{
	make("m/digits", true);
	make("m/empty", false);
	make("m/.hidden", true);
	make("m/digits/deeper", true);
	const struct model_places places = { .installed = make("m", false) };

	misses(&places, "numbers",
	       "there is no numbers/model_index.json, and no model of that name; known by name: "
	       "digits");
	misses(&places, "empty", "known by name: digits");
	misses(&places, "digits/deeper", "no digits/deeper/model_index.json"); /* a path */
	misses(&places, "..", "there is no ../model_index.json");
	misses(&places, "", "there is no");
	misses(&(struct model_places){ 0 }, "digits", "STRATA_MODELS says where models are");
}

TEST(a_list_of_many_names_is_cut)
{
	char below[64];

	for (int i = 0; i < 12; i++) {
		snprintf(below, sizeof(below), "m/a%02d", i);
		make(below, true);
	}
	misses(&(struct model_places){ .installed = make("m", false) }, "b", "known by name: a");
	CHECK(strlen(err.text) < 140);
}

TEST(places_are_the_environments)
{
	struct model_places places;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	setenv("STRATA_MODELS", "/a:/b", 1);
	CHECK_OK(model_places_of_process(&arena, &places, &err));
	CHECK_TEXT(places.named, "/a:/b");
	CHECK(strstr(places.program, "test_model_find"));
	CHECK(strstr(places.installed, "strata/models"));
	strata_arena_fini(&arena);
}

static int look(struct strata_memory *from, void *context, struct strata_error *why)
{
	struct model_places places;
	struct strata_arena arena;
	const char *folder = NULL;

	strata_arena_init(&arena, from, 0);
	int rc = model_places_of_process(&arena, &places, why);

	places.named = context;
	if (rc == 0)
		rc = model_find(&places, "digits", &arena, &folder, why);
	if (rc == 0) {
		rc = model_find(&places, "other", &arena, &folder, why);
		rc = rc == -ENOENT ? 0 : rc;
	}
	strata_arena_fini(&arena);
	return rc;
}

TEST(memory_may_run_out)
{
	make("m/digits", true);
	test_every_allocation(look, (void *)make("m", false));
}
