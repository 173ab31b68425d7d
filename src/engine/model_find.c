/* Looking for a pipeline by its name: see model_find.h. */
#include "engine/model_find.h"

#include "core/buf.h"
#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INDEX "model_index.json"

enum { NAMES_SHOWN = 8 };

/* Calls for each directory that may hold models, until one call returns something else than 0. */
typedef int visit_directory(void *context, const char *directory, struct strata_error *err);

static int each_directory(const struct model_places *places, struct strata_arena *arena,
			  visit_directory *visit, void *context, struct strata_error *err)
{
	/* From the directory of the program: as built in the tree, as installed in bin and in libexec/strata. */
	static const char *const beside[] = { "../models", "../share/strata/models",
					      "../../share/strata/models" };
	const char *slash = places->program ? strrchr(places->program, '/') : NULL;
	const char *directory;
	int rc = 0;

	for (const char *at = places->named; rc == 0 && at && *at;) {
		size_t length = strcspn(at, ":");

		directory = strata_arena_printf(arena, "%.*s", (int)length, at);
		if (!directory)
			return strata_fail_memory(err);
		if (length)
			rc = visit(context, directory, err);
		at += length + (at[length] == ':');
	}
	for (size_t i = 0; rc == 0 && slash && i < sizeof(beside) / sizeof(beside[0]); i++) {
		directory = strata_arena_printf(arena, "%.*s/%s", (int)(slash - places->program),
						places->program, beside[i]);
		rc = directory ? visit(context, directory, err) : strata_fail_memory(err);
	}
	if (rc == 0 && places->installed)
		rc = visit(context, places->installed, err);
	return rc;
}

int model_places_of_process(struct strata_arena *arena, struct model_places *ret_places,
			    struct strata_error *err)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *program = NULL;

	if (length > 0) {
		program = strata_arena_printf(arena, "%.*s", (int)length, self);
		if (!program)
			return strata_fail_memory(err);
	}
	*ret_places = (struct model_places){ getenv("STRATA_MODELS"), program, STRATA_MODELS_DIR };
	return 0;
}

/* ---- one by its name ---- */

struct search {
	struct strata_arena *arena;
	const char *name;
	const char *found;
};

static int try_folder(struct search *search, const char *folder, struct strata_error *err)
{
	const char *index = folder ? strata_arena_printf(search->arena, "%s/" INDEX, folder) : NULL;

	if (!index)
		return strata_fail_memory(err);
	if (access(index, F_OK))
		return 0;
	search->found = folder;
	return 1;
}

static int look_in(void *context, const char *directory, struct strata_error *err)
{
	struct search *search = context;

	return try_folder(
		search, strata_arena_printf(search->arena, "%s/%s", directory, search->name), err);
}

/* ---- which there are, for who asked for another ---- */

struct listing {
	struct strata_arena *arena;
	struct buf names;
	size_t count;
};

static int list_in(void *context, const char *directory, struct strata_error *err)
{
	struct listing *listing = context;
	struct search search = { .arena = listing->arena };
	const struct dirent *entry;
	DIR *open = opendir(directory);
	int rc = 0;

	while (rc >= 0 && open && listing->count < NAMES_SHOWN && (entry = readdir(open))) {
		if (entry->d_name[0] == '.')
			continue;
		rc = try_folder(
			&search,
			strata_arena_printf(listing->arena, "%s/%s", directory, entry->d_name),
			err);
		if (rc == 1)
			buf_printf(&listing->names, "%s%s", listing->count++ ? ", " : "",
				   entry->d_name);
	}
	if (open)
		closedir(open);
	return rc < 0 ? rc : 0;
}

static int say_missing(const struct model_places *places, const char *name,
		       struct strata_arena *arena, struct strata_error *err)
{
	struct listing listing = { .arena = arena };
	char shown[TEXT_EXCERPT_BYTES];

	buf_init(&listing.names, arena->memory, 0);
	int rc = each_directory(places, arena, list_in, &listing, err);

	if (rc == 0)
		rc = buf_check(&listing.names, err);
	if (rc == 0)
		rc = strata_fail(err, -ENOENT,
				 "there is no %s/" INDEX ", and no model of that name%s%s%s",
				 text_excerpt(name, strlen(name), shown),
				 listing.count ? "; known by name: " : "",
				 listing.count ? listing.names.text : "",
				 listing.count ? "" : "; STRATA_MODELS says where models are");
	buf_fini(&listing.names);
	return rc;
}

int model_find(const struct model_places *places, const char *name, struct strata_arena *arena,
	       const char **ret_folder, struct strata_error *err)
{
	struct search search = { .arena = arena, .name = name };
	int rc = *name ? try_folder(&search, name, err) : 0;

	/* A path is a path; a name is one component. */
	if (rc == 0 && *name && name[0] != '.' && !strchr(name, '/'))
		rc = each_directory(places, arena, look_in, &search, err);
	if (rc == 0)
		return say_missing(places, name, arena, err);
	if (rc < 0)
		return rc;
	*ret_folder = search.found;
	return 0;
}
