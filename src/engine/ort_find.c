/* Looking for ONNX Runtime: see ort_find.h. */
#include "engine/ort_find.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "onnxruntime/capi/libonnxruntime.so*"

struct search {
	bool (*accept)(void *context, const char *path);
	void *context;
};

struct ort_places ort_places_of_process(void)
{
	return (struct ort_places){ .named = getenv("STRATA_ONNXRUNTIME"),
				    .virtual_env = getenv("VIRTUAL_ENV"),
				    .path = getenv("PATH"),
				    .home = getenv("HOME") };
}

static int newest_first(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* prefix/below, where the prefix is taken as it is and below is a pattern. */
static bool try_pattern(const struct search *search, const char *prefix, const char *below)
{
	char pattern[2 * PATH_MAX + 128];
	size_t length = 0;
	bool accepted = false;
	glob_t found;

	for (const char *at = prefix; *at && length < 2 * PATH_MAX; at++) {
		if (strchr("*?[]\\", *at))
			pattern[length++] = '\\';
		pattern[length++] = *at;
	}
	snprintf(pattern + length, sizeof(pattern) - length, "/%s", below);
	if (glob(pattern, 0, NULL, &found))
		return false; /* nothing is there, or nothing that we may see */
	qsort(found.gl_pathv, found.gl_pathc, sizeof(char *), newest_first);
	for (size_t i = 0; i < found.gl_pathc && !accepted; i++)
		accepted = search->accept(search->context, found.gl_pathv[i]);
	globfree(&found);
	return accepted;
}

/* What a Python that was installed there has. Debian's own packages are in dist-packages. */
static bool try_prefix(const struct search *search, const char *prefix)
{
	static const char *const below[] = {
		"lib/python3*/site-packages/" LIBRARY,
		"lib64/python3*/site-packages/" LIBRARY,
		"local/lib/python3*/dist-packages/" LIBRARY,
		"lib/python3*/dist-packages/" LIBRARY,
	};

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (try_pattern(search, prefix, below[i]))
			return true;
	return false;
}

/* Cuts the last two components: "/usr/bin/python3" becomes "/usr". */
static bool cut_prefix(char *path)
{
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return false;
		*slash = 0;
	}
	return true;
}

/* The prefix of the python3 that a shell would run, and of what it is a link to: a virtual
 * environment's links to the one that it was made with. */
static bool try_python(const struct search *search, const char *path)
{
	char program[PATH_MAX], real[PATH_MAX];

	while (path && *path) {
		size_t length = strcspn(path, ":");
		bool fits = path[0] == '/' && length < PATH_MAX - 16;

		if (fits)
			snprintf(program, sizeof(program), "%.*s/python3", (int)length, path);
		path += length + (path[length] == ':');
		if (!fits || access(program, X_OK))
			continue;
		bool is_link = realpath(program, real) && strcmp(real, program) != 0;

		if (cut_prefix(program) && try_prefix(search, program))
			return true;
		return is_link && cut_prefix(real) && strcmp(real, program) != 0 &&
		       try_prefix(search, real);
	}
	return false;
}

bool ort_find(const struct ort_places *places, bool (*accept)(void *context, const char *path),
	      void *context)
{
	const struct search search = { accept, context };

	if (places->named && places->named[0])
		return accept(context, places->named);
	if (accept(context, "libonnxruntime.so.1") || accept(context, "libonnxruntime.so"))
		return true;
	if (places->virtual_env && places->virtual_env[0] == '/' &&
	    try_prefix(&search, places->virtual_env))
		return true;
	if (try_python(&search, places->path))
		return true;
	return places->home && places->home[0] == '/' &&
	       try_pattern(&search, places->home, ".local/lib/python3*/site-packages/" LIBRARY);
}
